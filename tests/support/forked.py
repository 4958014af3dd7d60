import atexit
import functools
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from tests.support.fork_server import NUMBER

ROOT = Path(__file__).parents[2]
KG = "kg_cli.main:run"
SHARED = "FORK_SERVER_OF_TESTS"
"""Variable with the address of a shared server. Its start takes three seconds of CPU time."""


class ForkedProcess:
    """Process that runs a function from a module. You can use it like a `subprocess.Popen`."""

    def __init__(
        self,
        entry: str,
        arguments: Sequence[str],
        *,
        env: dict[str, str],
        files: tuple[IO[Any], IO[Any], IO[Any]],
        cwd: Path | str = ".",
    ) -> None:
        self.args = [entry, *arguments]
        self.returncode: int | None = None
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(_server())
        request = {
            "entry": entry,
            "arguments": [*arguments],
            "env": env,
            "cwd": str(Path(cwd).absolute()),
            "open_files": resource.getrlimit(resource.RLIMIT_NOFILE),
        }
        socket.send_fds(self._connection, [b"\0"], [file.fileno() for file in files])
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        self.pid = self._next()

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Exit without deleting modules, as `multiprocessing` forks do.

        The modules are shared with the server. Deleting them would copy the memory, a quarter of a
        second of CPU time.
        """
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _end(self) -> None:
        self.returncode = self._next()
        self._connection.close()

    def _next(self) -> int:
        told = self._connection.recv(NUMBER.size, socket.MSG_WAITALL)
        if len(told) < NUMBER.size:
            raise RuntimeError("the fork server has ended")
        return int(NUMBER.unpack(told)[0])


def run(
    arguments: Sequence[str], env: dict[str, str], *, stdin: str = "", timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        process = ForkedProcess(KG, arguments, env=env, files=(given, out, err), cwd=ROOT)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, code, _text(out), _text(err))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")


def share() -> None:
    """Let the test processes that this process starts use one server. It starts with the first request."""
    listener, address = _listen()
    os.environ[SHARED] = address

    def start_when_used() -> None:
        select.select([listener], [], [])
        _start(listener)

    threading.Thread(target=start_when_used, daemon=True).start()


@functools.cache
def _server() -> str:
    if address := os.environ.get(SHARED):
        return address
    listener, address = _listen()
    _start(listener)
    return address


def _listen() -> tuple[socket.socket, str]:
    folder = tempfile.TemporaryDirectory(prefix="kg-fork-")
    atexit.register(folder.cleanup)
    address = f"{folder.name}/server"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    return listener, address


def _start(listener: socket.socket) -> None:
    with listener:
        number = listener.fileno()
        process = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-m", "tests.support.fork_server", str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[number],
        )
    atexit.register(process.communicate)
