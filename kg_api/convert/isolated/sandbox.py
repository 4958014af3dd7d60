"""What a process gives up before it reads a file that nobody vouches for."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from functools import partial

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
OPEN_FILES = 64
_FORBIDDEN = frozenset(
    {
        *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"),
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"),
        *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink"),
        *("pty.spawn", "webbrowser.open", "urllib.Request"),
    }
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def enter(max_bytes: int, program: str | None = None) -> None:
    """Give up the network, other programs, writing of files, and memory beyond a limit, for good.

    The kernel holds memory and file sizes everywhere that is Unix, and the network where Linux lets a process
    leave it. The rest is held by Python's audit hooks, which stop a parser's Python, not its machine code.

    Args:
        max_bytes: of address space.
        program: the one that may be run: its processes have the same limits, and no network either.
    """
    _leave_network()
    _limit(max_bytes)
    sys.addaudithook(partial(_refuse, program))


def end_with(parent: int) -> None:
    """End this process when the one that started it has gone, even in the middle of a file."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        end_group()

    threading.Thread(target=watch, daemon=True).start()


def end_group() -> None:
    """End this process, and the program that it runs, at once."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _leave_network() -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.unshare(CLONE_NEWNET):
                libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)


def _limit(max_bytes: int) -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - Unix only

    limits = {
        resource.RLIMIT_AS: max_bytes,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES,
    }
    for which, most in limits.items():
        with contextlib.suppress(OSError, ValueError):  # macOS knows no limit of address space
            resource.setrlimit(which, (most, most))


def _refuse(program: str | None, event: str, given: tuple[object, ...]) -> None:
    if event == "subprocess.Popen" and program is not None and given[0] == program:
        return
    if event in _FORBIDDEN:
        raise PermissionError(f"a converter may not do {event}")
    of_path = event == "open" and not isinstance(given[0], int)  # not what is open already, such as a pipe
    if of_path and isinstance(flags := given[2], int) and flags & _WRITES:
        raise PermissionError("a converter may not write files")
