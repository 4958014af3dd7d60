"""A process that converts one file after the other, and can do little else.

python -m kg_api.convert.isolated.child MAX_BYTES IDLE_SECONDS PARENT SETTINGS
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

from kg_api.convert.isolated import messages
from kg_api.convert.isolated.messages import ANSWERS, READY, Answer, read_rendering, receive, send
from kg_api.convert.kinds import convert, convert_with, load
from kg_api.errors import UnreadableDocument
from kg_api.settings import ConversionSettings

MAX_INPUT = 1 << 30
OUT_OF_MEMORY = 3
"""Exit code: nothing in this process can be trusted after that."""

_WITHOUT_IMAGES = {"images_within": False}


def main() -> None:
    """Answer until nobody asks, or for too long."""
    max_bytes, idle_seconds, parent = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    settings = ConversionSettings.model_validate_json(sys.argv[4])
    requests, answers = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    faulthandler.disable()
    end_with(parent)
    enter(max_bytes, shutil.which("tesseract"))
    send(answers, READY)
    while select.select([requests], [], [], idle_seconds)[0]:
        form, content = receive(requests, 100), receive(requests, MAX_INPUT)
        if form is None or content is None:
            return
        send(answers, ANSWERS.dump_json(_answer(content, form.decode(), settings)))


def _answer(content: bytes, form: str, settings: ConversionSettings) -> Answer:
    try:
        kind, _, rest = form.partition(".")
        answer = _ANSWERS.get(f"{kind}.")
        if answer is None:
            return convert(content, form, settings)  # pyright: ignore[reportArgumentType] - as the pool sent it
        return answer(content, rest, settings)
    except UnreadableDocument as error:
        return str(error)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - the border of a file: its parser's bug is that file's alone
        return f"its parser failed on it ({type(error).__name__}): save it again, or in another format"


def _convert_with(content: bytes, rest: str, settings: ConversionSettings) -> Answer:
    document, beside = messages.unpack(content)
    return convert_with(document, rest, settings, beside)


def _convert_words(content: bytes, rest: str, settings: ConversionSettings) -> Answer:
    return convert(content, rest, settings.model_copy(update=_WITHOUT_IMAGES))  # pyright: ignore[reportArgumentType]


_ANSWERS: dict[str, Callable[[bytes, str, ConversionSettings], Answer]] = {
    messages.PROGRAM: lambda content, suffix, _: load("program").find_scopes(content, suffix),
    messages.RENDER: lambda content, rest, settings: load("image.file").render(
        content, read_rendering(rest), settings
    ),
    messages.PAGE: lambda content, _, __: load("pdf.pages").draw_page(*messages.split_page(content)),
    messages.OCR: lambda content, engine, settings: load("pdf.scans").convert(
        content, engine, settings, every=False
    ),
    messages.OCR_ALL: lambda content, engine, settings: load("pdf.scans").convert(
        content, engine, settings, every=True
    ),
    messages.OCR_IMAGE: lambda content, engine, settings: load("image.embedded").convert_words(
        content, engine, settings
    ),
    messages.BESIDE: _convert_with,
    messages.WORDS_ALONE: _convert_words,
}
"""By what stands before a dot in what is asked for; a kind of file has none."""


# What a process gives up before it reads a file that nobody vouches for.

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
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.unshare(CLONE_NEWNET):
                libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)
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


if __name__ == "__main__":
    main()
