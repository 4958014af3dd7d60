"""What goes between kg and a process that converts files: a length of four bytes, then so many bytes.

Answers are JSON, never pickled: who has taken over such a process can say nothing but what a file says.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import BinaryIO, cast, get_args

import numpy as np
from pydantic import TypeAdapter

from kg_api.errors import UnreadableDocument
from kg_api.providers.embedding_port import Fit, Pixels, Rendering, Resample
from kg_api.providers.pixels import CHANNELS, fits
from kg_api.schemas.documents import CodeScope, Converted
from kg_api.schemas.images import DrawnPage, PageToDraw, RenderedImage

_LENGTH = struct.Struct("!I")
Answer = Converted | RenderedImage | DrawnPage | list[CodeScope] | str
"""What a file became, the pixels of a picture, a page of it, where a program's functions and classes begin,
or why none of it is told."""
Content = bytes | tuple[bytes, ...]
"""A file, or the parts of a message that has more than a file."""
ANSWERS = TypeAdapter[Answer](Answer)
READY = b"ready"
"""The first message of a process, once it has imported what it needs."""
PROGRAM = "program."
"""What stands before the suffix of a program, where else the kind of a file stands."""
RENDER = "render."
"""What stands before how a picture is to be unpacked."""
OCR = "ocr."
"""What stands before the engine that is to read a PDF's pictures."""
OCR_ALL = "ocr-all."
"""What stands before the engine that is to read every page of a PDF."""
OCR_IMAGE = "ocr-image."
"""What stands before the engine that is to read a picture which is a document of its own."""
PAGE = "page."
"""Stands where else the kind of a file stands: before the PDF comes what is to be drawn of it."""
_PAGES = TypeAdapter[PageToDraw](PageToDraw)


def with_page(wanted: PageToDraw, content: bytes) -> tuple[bytes, ...]:
    """A PDF, and what is to be drawn of it; it may be large, and is not copied."""
    told = _PAGES.dump_json(wanted)
    return _LENGTH.pack(len(told)), told, content


def split_page(sent: bytes) -> tuple[PageToDraw, bytes]:
    """What is to be drawn, and the PDF."""
    (length,) = _LENGTH.unpack_from(sent)
    behind = _LENGTH.size + length
    return _PAGES.validate_json(sent[_LENGTH.size : behind]), sent[behind:]


BESIDE = "beside."
"""What stands before the kind of a document that is sent with pictures: it and they are packed."""
WORDS_ALONE = "words."
"""What stands before the kind of a file whose pictures are to be left alone."""


def pack(data: bytes, beside: Mapping[str, bytes]) -> bytes:
    """A document and the pictures beside it, by their names."""
    named = ((name.encode(), content) for name, content in beside.items())
    parts = (data, *(part for both in named for part in both))
    return b"".join(each for part in parts for each in (_LENGTH.pack(len(part)), part))


def unpack(packed: bytes) -> tuple[bytes, dict[str, bytes]]:
    parts, at = list[bytes](), 0
    while at < len(packed):
        (length,) = _LENGTH.unpack_from(packed, at)
        at += _LENGTH.size + length
        parts.append(packed[at - length : at])
    names = (name.decode() for name in parts[1::2])
    return parts[0], dict(zip(names, parts[2::2], strict=True))


def send(pipe: BinaryIO, *parts: bytes) -> None:
    """Write one message, which may be in parts.

    Raises:
        OSError: nobody reads.
    """
    pipe.write(_LENGTH.pack(sum(map(len, parts))))
    pipe.writelines(parts)
    pipe.flush()


def receive(pipe: BinaryIO, most: int) -> bytes | None:
    """Read one message; None at the end.

    Args:
        pipe: from where.
        most: bytes that it may have.

    Raises:
        ValueError: it is longer.
    """
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > most:
        raise ValueError(f"a message of {length} bytes is longer than {most}")
    content = pipe.read(length)
    return content if len(content) == length else None


# How a rendering is asked of a process that converts files, and how what it answers is looked at.

MAX_SIDE = 1536
"""Pixels: so large a picture fits into an answer."""


def write_rendering(rendering: Rendering) -> str:
    """A rendering in a few characters.

    Raises:
        ValueError: it asks for nothing, or for more than an answer holds.
    """
    sides = (rendering.width, rendering.height)
    if min(sides) < 1 or max(sides) > MAX_SIDE:
        raise ValueError(f"pictures are rendered with sides of 1 to {MAX_SIDE} pixels, not {sides}")
    return f"{rendering.width}.{rendering.height}.{rendering.fit}.{rendering.resample}"


def read_rendering(form: str) -> Rendering:
    """The rendering that `write_rendering` wrote.

    Raises:
        ValueError: it did not.
    """
    width, height, fit, resample = form.split(".")
    if fit not in get_args(Fit) or resample not in get_args(Resample):
        raise ValueError(f"{form} is not a rendering")
    return Rendering(int(width), int(height), cast("Fit", fit), cast("Resample", resample))


def checked_pixels(answer: RenderedImage, rendering: Rendering) -> Pixels:
    """The pixels of an answer; whoever has taken over that process can give no others than were asked for.

    Raises:
        UnreadableDocument: their size is another one, or their number does not fit it.
    """
    shape = (answer.height, answer.width, CHANNELS)
    if not fits(shape, rendering) or len(answer.pixels) != answer.height * answer.width * CHANNELS:
        raise UnreadableDocument("its parser gave other pixels than were asked for; save it again")
    return np.frombuffer(answer.pixels, dtype=np.uint8).reshape(shape)
