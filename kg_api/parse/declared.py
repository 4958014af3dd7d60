"""Text of files that name their encoding, or do not: by mark, by what they say, as UTF-8, by a guess."""

from __future__ import annotations

import codecs
import re

import webencodings

from kg_api.errors import UnreadableDocument
from kg_api.parse.decode import MARKS, guess_encoding

_WIDE = ("utf-16", "utf-32")
_ONE_BYTE = frozenset({"koi8-r", "koi8-u", *(f"cp125{digit}" for digit in range(9))}) | {
    *(f"iso8859-{number}" for number in range(1, 17)),
}
"""Codecs that take almost any byte: UTF-8 that is labelled so is not found out by an error."""
_JAPANESE = "iso2022_jp+nec"
_SUPERSETS = {"iso2022_jp": ("iso2022_jp_ext", _JAPANESE), "euc_jp": ("euc_jis_2004",)}
_SAMPLE = 200_000
_DECLARED = re.compile(
    rb"""<meta[^<>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_HEAD_BYTES = 4_096


def decode(data: bytes, declared: str = "") -> tuple[str, tuple[str, ...]]:
    """Return the text, and notes that a person should see.

    Args:
        data: bytes of a file or of a part.
        declared: label of the encoding that the file names, read as browsers read it (WHATWG).

    Raises:
        UnreadableDocument: the bytes are not text, or not in an encoding that can be detected.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), ()
    codec = _find_codec(declared)
    if b"\x00" in data:
        if not codec.startswith(_WIDE):
            raise UnreadableDocument("it has NUL bytes: not a text file; save it again, as UTF-8")
        return data.decode(codec, "replace"), ()
    if codec.startswith(_WIDE):  # the label itself was readable byte by byte
        codec = "utf-8"
    if codec in _ONE_BYTE and not data.isascii() and (text := _try(data, "utf-8")) is not None:
        return text, (f"read as UTF-8: the file says that it is {declared}, which does not fit",)
    for encoding in (codec, *_SUPERSETS.get(codec, ()), "utf-8"):
        if (text := _try(data, encoding)) is not None:
            return text, ()
    return _guess(data)


def _try(data: bytes, codec: str) -> str | None:
    if codec == _JAPANESE:  # signs such as ① of NEC's row, which Python knows in another set only
        data, codec = data.replace(b"\x1b$B", b"\x1b$(Q").replace(b"\x1b$@", b"\x1b$(Q"), "iso2022_jp_2004"
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError):
        return None


def _find_codec(label: str) -> str:
    """Return the codec that a label means in browsers, or else in Python; UTF-8 for an unknown label."""
    known = webencodings.lookup(label)
    if known and known.name not in {"replacement", "x-user-defined"}:
        name = known.codec_info.name
    else:
        try:
            name = codecs.lookup(label).name if label else "utf-8"
            "".encode(name)
        except (LookupError, ValueError):
            return "utf-8"
    return {"gbk": "gb18030"}.get(name, name)


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
