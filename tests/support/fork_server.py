"""Server that forks processes with kg already imported.

Each fork starts in milliseconds. A request has its own connection and passes the standard files. The
server returns the pid at once and the exit code at the end. A fork ends like any program.
"""

import atexit
import gc
import json
import os
import pkgutil
import resource
import selectors
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import typer.main

import kg_cli
import kg_cli.main as main_of_kg
from kg_api import settings

PRELOADED = (
    "kg_api.container", "kg_api.client", "kg_api.mcp.library", "kg_api.web.serve", "kg_api.worker",
    "kg_api.evaluation.comparing", "kg_api.evaluation.sets", "tests.support.worker_main", "ir_measures",
    "scipy.stats", "textblob.en.parsers",
)  # fmt: skip
"""Modules to import first, except onnxruntime: its thread would be missing in a fork, which would wait for
the thread's end.
"""

HASTY = ("kg_cli.jobs.report", "kg_api.web.shared.streams")
"""Modules with a shorter POLL_SECONDS, because tests wait for hundreds of jobs."""

NUMBER = struct.Struct("!i")
LIFELINE = 0
"""Standard input. At its end, the server stops."""

Connections = dict[int, socket.socket]
"""Connection for the exit status of each process."""


def main(listener: socket.socket) -> None:
    _preload()
    if request := _serve(listener):
        _become(**request)


def _preload() -> None:
    gc.disable()  # to look for garbage takes a sixth of the time of imports
    for module in pkgutil.walk_packages(kg_cli.__path__, "kg_cli."):
        import_module(module.name)
    for name in PRELOADED:
        import_module(name)
    for name in HASTY:
        vars(import_module(name))["POLL_SECONDS"] = 0.1
    # the tree of all commands, which would take each process 50 ms
    typer.main.get_command = cache(typer.main.get_command)  # pyright: ignore[reportAttributeAccessIssue]
    typer.main.get_command(main_of_kg.app)
    if "onnxruntime" in sys.modules:
        raise RuntimeError("onnxruntime is imported too early, see PRELOADED")
    gc.freeze()  # a collection would copy every page that is shared
    gc.enable()


def _serve(listener: socket.socket) -> dict[str, Any] | None:
    """Give the request in a forked process, None in the server when the tests are over."""
    told, telling = socket.socketpair()
    for end in (told, telling):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the tests' to handle
    signal.set_wakeup_fd(telling.fileno())
    running: Connections = {}
    with listener, selectors.DefaultSelector() as selector, told, telling:
        for source in (LIFELINE, told, listener):
            selector.register(source, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if LIFELINE in ready:
                return None
            if told in ready:
                told.recv(4096)
                _reap(running)
            if listener in ready and (request := _fork(listener, running)):
                return request


def _fork(listener: socket.socket, running: Connections) -> dict[str, Any] | None:
    connection, _ = listener.accept()
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as reader:
        request = json.loads(reader.readline())
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        for each in (connection, *running.values()):
            each.close()
        return {**request, "files": files}
    for file in files:
        os.close(file)
    running[pid] = connection
    _tell(connection, pid)
    return None


def _reap(running: Connections) -> None:
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with running.pop(pid) as connection:
                _tell(connection, os.waitstatus_to_exitcode(status))


def _tell(connection: socket.socket, number: int) -> None:
    with suppress(OSError):  # nobody listens any more
        connection.sendall(NUMBER.pack(number))


def _become(
    *,
    entry: str,
    arguments: list[str],
    env: dict[str, str],
    cwd: str,
    open_files: tuple[int, int],
    files: list[int],
) -> None:
    """Be `python -m MODULE ARGUMENTS`, of which `entry` names module and function."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for standard, file in enumerate(files):
        os.dup2(file, standard)
        os.close(file)
    resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    settings.is_constant = lambda _: False  # constants such as the lease of a job are faster in tests
    module, _, function = entry.partition(":")
    sys.argv = [module, *arguments]
    _end(_exit_code(getattr(import_module(module), function)))


def _exit_code(function: Callable[[], None]) -> int:
    try:
        function()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        raise
    return 0


def _end(code: int) -> None:
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)  # Python tells of it
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
