import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from kg_api.convert.isolated import child
from kg_api.convert.kinds import load
from kg_api.schemas.documents import Converted
from kg_api.schemas.images import RenderedImage
from kg_api.settings import ConversionSettings


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _crash_if_used(before: str) -> None:
    _FILES[0] += 1
    if _FILES[0] > int(before):
        _crash()


def _crash_late(seconds: str) -> None:
    time.sleep(float(seconds))
    _crash()


def _loop() -> None:
    while True:
        time.sleep(0.01)


def _bug() -> None:
    raise RecursionError


def _print() -> None:
    os.write(1, b"what a library prints is no answer")


def _run() -> None:
    subprocess.run([sys.executable, "-V"], check=True)


_DEEDS: dict[str, Callable[..., object]] = {
    "crash": _crash,
    "crash if used": _crash_if_used,
    "memory": lambda: "x" * (1 << 40),
    "crash late": _crash_late,
    "loop": _loop,
    "flood": lambda: "x" * (20 << 20),
    "bug": _bug,
    "print": _print,
    "connect": lambda port: socket.create_connection(("127.0.0.1", int(port))),
    "run": _run,
    "write": lambda path: Path(path).write_text("taken over", encoding="utf-8"),
    "environment": lambda: ",".join(sorted(os.environ)),
    "fine": lambda: None,
    "scan": lambda _: None,
    "pictures": lambda: None,
}
_FILES = [0]


def _convert(data: bytes, form: str, settings: ConversionSettings) -> object:
    if data.startswith(b"pixels"):
        return _pixels(data)
    deed, _, given = data.decode().partition(":")
    if deed == "pictures" and settings.images_within:
        _crash()
    done = _DEEDS[deed](*([given] if given else []))
    text = done if isinstance(done, str) else f"{form}:{os.getpid()}"
    pictures = (1,) if deed == "scan" else ()
    return Converted(text, pages=(0,), metadata={"tags": ["a", "b"]}, pictures=pictures)


def _read_pictures(data: bytes, settings: ConversionSettings, *, every: bool = False) -> Converted:
    del settings
    time.sleep(float(data.decode().partition(":")[2]))
    return Converted("OCR, every page" if every else "OCR")


def _pixels(data: bytes, _rendering: object = None, _settings: object = None) -> object:
    size, _, count = data.decode().partition(":")[2].partition(":")
    if not count:
        return Converted(size)
    width, height = map(int, size.split("x"))
    return RenderedImage(width, height, bytes(int(count)))


if __name__ == "__main__":
    modules = {
        "pdf.scans": SimpleNamespace(convert=_read_pictures),
        "image.file": SimpleNamespace(render=_pixels),
    }
    with mock.patch.multiple(child, convert=_convert, load=lambda name: modules.get(name) or load(name)):
        child.main()
