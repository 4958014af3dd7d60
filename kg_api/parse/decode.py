"""From the bytes of a file to its text. Newlines stay as they are: offsets mean the file's own text."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import CharsetMatch, from_bytes

from kg_api.errors import InvalidInput, UnreadableDocument
from kg_api.parse.signatures import EXPORT, binary_kind, unread_picture

MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_CHARSETS = (  # of equally good guesses the first is taken: the most used one
    *("cp1252", "cp1250", "cp1251", "cp1254", "cp1253", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "koi8_u", "cp874", "gb18030", "big5", "cp932", "euc_jp", "cp949"),
)
_AS_CLEAN = 0.001
_AS_COHERENT = 0.02

_SURROGATE = re.compile("[\ud800-\udfff]")

READS = (
    "kg reads Markdown, reStructuredText, Org, plain text, source code, HTML, PDF, DOCX, PPTX, XLSX, CSV, "
    "EPUB, e-mail (.eml), notebooks (.ipynb) and pictures (PNG, JPEG, WebP, GIF, TIFF, "
    "BMP); save it as one of these, with the ending that belongs to it, and ingest that."
)
"""The end of every message about a file that cannot be read."""


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Turn a file's bytes into text: by its byte-order mark, as UTF-8, or by a guess that is noted.

    Returns:
        The text without byte-order mark, its newlines untouched, and notes that a person should see.

    Raises:
        UnreadableDocument: the bytes are not text, or not in an encoding that can be told.
    """
    _refuse_known_binary(data)
    text, notes = _decode_marked(data) or _decode_unmarked(data)
    return check_text(text), notes


def check_text(text: str) -> str:
    r"""Give the text back if it can be stored.

    Raises:
        InvalidInput: half of a surrogate pair is in it, which no encoding can hold.
        UnreadableDocument: it contains U+0000, which only binary files do.
    """
    half = None if text.isascii() else _SURROGATE.search(text)
    if half:
        raise InvalidInput(
            f"the text has half of a surrogate pair (U+{ord(half[0]):04X}) at offset {half.start()}; "
            "it is no valid Unicode. Decode it with the right encoding and send it again."
        )
    if (null := text.find("\x00")) >= 0:
        raise UnreadableDocument(f"the character U+0000 is at offset {null}: not a text file. {READS}")
    return text


def _refuse_known_binary(data: bytes) -> None:
    if picture := unread_picture(data):
        raise UnreadableDocument(f"this is {picture}, a kind that is not read: {EXPORT}")
    if what := binary_kind(data):
        raise UnreadableDocument(f"this is {what}. {READS}")


def _decode_marked(data: bytes) -> tuple[str, tuple[str, ...]] | None:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), ()
            except UnicodeDecodeError as error:
                raise UnreadableDocument(
                    f"its byte-order mark says {encoding}, but byte {error.start + len(mark)} does not fit. "
                    f"{READS}"
                ) from error
    return None


def _decode_unmarked(data: bytes) -> tuple[str, tuple[str, ...]]:
    if (zero := data.find(0)) >= 0:
        raise UnreadableDocument(
            f"not a text file (NUL byte at {zero}), or UTF-16 without a byte-order mark. {READS}"
        )
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        return _decode_guessed(data)


def _decode_guessed(data: bytes) -> tuple[str, tuple[str, ...]]:
    encoding = guess_encoding(data)
    if encoding is None:
        raise UnreadableDocument(f"it is not UTF-8, and no other encoding fits. {READS}")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:  # the guess was made from samples
        raise UnreadableDocument(
            f"it is not UTF-8; {encoding} fits best, but not byte {error.start}. {READS}"
        ) from error
    return text, (f"read as {encoding}: the file is not UTF-8 and does not say what it is",)


def guess_encoding(data: bytes) -> str | None:
    """The encoding that bytes look most like, of those in use; None: they look like none."""
    matches = list(from_bytes(data, cp_isolation=list(_CHARSETS)))
    return _most_used(matches) if matches else None


def _most_used(matches: list[CharsetMatch]) -> str:
    """Prefer the common one where several read nearly alike; cp1250 would take all Spanish otherwise."""
    best = matches[0]
    alike = {
        encoding
        for match in matches
        if match.chaos <= best.chaos + _AS_CLEAN and match.coherence >= best.coherence - _AS_COHERENT
        for encoding in match.could_be_from_charset
    }
    return next((encoding for encoding in _CHARSETS if encoding in alike), best.encoding)
