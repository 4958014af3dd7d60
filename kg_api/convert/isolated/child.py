"""Sandboxed process that converts one file after another.

python -m kg_api.convert.isolated.child MAX_BYTES IDLE_SECONDS PARENT SETTINGS

A message between kg and the process is a length of 4 bytes, then the content. Responses are JSON and never
pickled, so a compromised process can only return the content of a file.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import select
import struct
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

from pydantic import TypeAdapter

from kg_api.convert.kinds import convert, load
from kg_api.errors import UnreadableDocument
from kg_api.providers.embedding_port import Rendering
from kg_api.schemas.documents import Converted
from kg_api.schemas.images import DrawnPage, PageToDraw, RenderedImage
from kg_api.settings import ConversionSettings

MAX_INPUT = 1 << 30
OUT_OF_MEMORY = 3  # exit code, because the state of the process is undefined afterwards
READY = b"ready"  # first message of a process, after its imports
_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Request:
    """Task for a file, which is the next message."""

    do: Literal["convert", "words", "render", "page", "ocr", "ocr-all", "ocr-image"]
    """`words`: convert without images. `ocr`: read pages without text. `ocr-all`: read every page."""
    form: Any = ""
    rendering: Rendering | None = None
    page: PageToDraw | None = None


Answer = Converted | RenderedImage | DrawnPage | str  # result of a file, or the reason for its failure
REQUESTS, ANSWERS = TypeAdapter[Request](Request), TypeAdapter[Answer](Answer)


def send(pipe: BinaryIO, *parts: bytes) -> None:
    pipe.write(_LENGTH.pack(sum(map(len, parts))))
    pipe.writelines(parts)
    pipe.flush()


def receive(pipe: BinaryIO, most: int) -> bytes | None:
    """Read one message of at most `most` bytes, or return None at the end."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > most:
        raise ValueError(f"a message of {length} bytes is longer than {most}")
    content = pipe.read(length)
    return content if len(content) == length else None


def main() -> None:
    """Process requests until the pipe closes or the process is idle for too long."""
    max_bytes, idle_seconds, parent = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    settings = ConversionSettings.model_validate_json(sys.argv[4])
    requests, answers = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with responses
    faulthandler.disable()
    end_with_parent(parent)
    enter(max_bytes)
    send(answers, READY)
    while select.select([requests], [], [], idle_seconds)[0]:
        request, content = receive(requests, MAX_INPUT), receive(requests, MAX_INPUT)
        if request is None or content is None:
            return
        try:
            answer = _answer(REQUESTS.validate_json(request), content, settings)
        except UnreadableDocument as error:
            answer = str(error)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except Exception as error:  # noqa: BLE001 - a parser bug must only affect this file
            answer = (
                f"the parser failed on the file ({type(error).__name__}). Save the file again, or in "
                "another format"
            )
        send(answers, ANSWERS.dump_json(answer))


def _answer(request: Request, content: bytes, settings: ConversionSettings) -> Answer:
    form = request.form
    match request.do:
        case "convert":
            return convert(content, form, settings)
        case "words":
            return convert(content, form, settings.model_copy(update={"images_within": False}))
        case "render":
            return load("image.file").render(content, request.rendering, settings)
        case "page":
            return load("pdf.pages").draw_page(request.page, content)
        case "ocr-image":
            return load("image.embedded").convert_words(content, settings)
        case _:
            return load("pdf.scans").convert(content, settings, every=request.do == "ocr-all")


# Restrictions before reading an untrusted file

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


def enter(max_bytes: int) -> None:
    """Permanently give up the network, other programs, writing files, and memory beyond a limit.

    The kernel limits memory and file sizes on Unix, and the network where Linux allows unprivileged
    namespaces. Audit hooks of Python enforce the rest. They stop Python code, not machine code.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.unshare(CLONE_NEWNET):  # without privileges, only with a user namespace
                libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)
    _limit(max_bytes)
    sys.addaudithook(_deny_event)


def end_with_parent(parent: int) -> None:
    """End this process when its parent ends, even during a conversion."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)  # sys.exit would only end this thread

    threading.Thread(target=watch, daemon=True).start()


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
        with contextlib.suppress(OSError, ValueError):  # macOS has no address space limit
            resource.setrlimit(which, (most, most))


def _deny_event(event: str, arguments: tuple[object, ...]) -> None:
    if event in _FORBIDDEN:
        raise PermissionError(f"a converter may not do {event}")
    of_path = event == "open" and not isinstance(arguments[0], int)  # not an open descriptor such as a pipe
    if of_path and isinstance(flags := arguments[2], int) and flags & _WRITES:
        raise PermissionError("a converter may not write files")


if __name__ == "__main__":
    main()
