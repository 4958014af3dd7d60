"""Text of files that name their encoding, or do not: by mark, by what they say, as UTF-8, by a guess."""

from __future__ import annotations

import codecs

from charset_normalizer import CharsetMatch, from_bytes

from kg_api.errors import UnreadableDocument

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_AS_BROWSERS_READ = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030"}
_CHARSETS = [
    *("cp1252", "cp1250", "cp1251", "cp1254", "cp1253", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "koi8_u", "cp874", "gb18030", "big5", "cp932", "euc_jp", "cp949"),
]
_SAMPLE = 200_000
_AS_CLEAN = 0.001
_AS_COHERENT = 0.02


def decode(data: bytes, declared: str = "") -> tuple[str, tuple[str, ...]]:
    """Give the text, and notes that a person should see.

    Raises:
        UnreadableDocument: the bytes are not text, or not in an encoding that can be told.
    """
    for mark, encoding in _MARKS:
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
    matches = list(from_bytes(data[:_SAMPLE], cp_isolation=_CHARSETS))
    if not matches:
        raise UnreadableDocument("it is not UTF-8, and no other encoding fits; save it again, as UTF-8")
    encoding = _most_used(matches)
    note = f"read as {encoding}: the file is not UTF-8 and does not say what it is"
    return data.decode(encoding, "replace"), (note,)


def _most_used(matches: list[CharsetMatch]) -> str:
    """Of guesses that fit nearly alike, the common one, as `kg_api/parse/decode.py` has it."""
    best = matches[0]
    alike = {
        encoding
        for match in matches
        if match.chaos <= best.chaos + _AS_CLEAN and match.coherence >= best.coherence - _AS_COHERENT
        for encoding in match.could_be_from_charset
    }
    return next((encoding for encoding in _CHARSETS if encoding in alike), best.encoding)
