"""Text of files that name their encoding, or do not: by mark, by what they say, as UTF-8, by a guess."""

from __future__ import annotations

import codecs
import re

from kg_api.errors import UnreadableDocument
from kg_api.parse.decode import MARKS, guess_encoding

_AS_BROWSERS_READ = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030"}
_SAMPLE = 200_000
_DECLARED = re.compile(
    rb"""<meta[^<>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_HEAD_BYTES = 4_096


def decode(data: bytes, declared: str = "") -> tuple[str, tuple[str, ...]]:
    """Give the text, and notes that a person should see.

    Raises:
        UnreadableDocument: the bytes are not text, or not in an encoding that can be told.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), ()
    if b"\x00" in data:
        raise UnreadableDocument("it has NUL bytes: not a text file; save it again, as UTF-8")
    for encoding in (_known(declared), "utf-8"):
        try:
            return data.decode(encoding), ()
        except UnicodeDecodeError:
            continue
    return _guess(data)


def _known(name: str) -> str:
    """The codec that a file means; a text that can be read bytewise is not UTF-16, whatever it says."""
    try:
        codec = codecs.lookup(name).name if name else "utf-8"
        "".encode(codec)
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if codec.startswith(("utf-16", "utf-32")) else _AS_BROWSERS_READ.get(codec, codec)


def _guess(data: bytes) -> tuple[str, tuple[str, ...]]:
    encoding = guess_encoding(data[:_SAMPLE])
    if encoding is None:
        raise UnreadableDocument("it is not UTF-8, and no other encoding fits; save it again, as UTF-8")
    note = f"read as {encoding}: the file is not UTF-8 and does not say what it is"
    return data.decode(encoding, "replace"), (note,)


def declared_encoding(data: bytes) -> str:
    """What a page says of its encoding, in its head."""
    said = _DECLARED.search(data[:_HEAD_BYTES])
    return (said[1] or said[2]).decode("ascii", "replace") if said else ""
