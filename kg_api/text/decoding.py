"""Decoding of files to text. Newlines stay unchanged, because offsets refer to the text of the file."""

from __future__ import annotations

import codecs
import html
import json
import re
import struct
from collections import Counter

import webencodings
from charset_normalizer import CharsetMatch, from_bytes

from kg_api.errors import InvalidInput, KgError, UnreadableDocument

_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
_BMP_HEAD = struct.Struct("<2sI4xII")


def is_image(data: bytes) -> bool:
    """Check if the first bytes are those of a supported image format."""
    if data.startswith(_BEGINNINGS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        return True
    if not data.startswith(b"BM") or len(data) < _BMP_HEAD.size:
        return False
    _, _, _, header = _BMP_HEAD.unpack_from(data)
    return header in _BMP_HEADERS


_BINARY = (
    (b"%PDF-", "a PDF file"),
    (b"PK\x03\x04", "a ZIP archive (DOCX, EPUB, XLSX and ODT are such archives)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "an old Microsoft Office file"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"RIFF", "a RIFF file (WebP, WAV or AVI)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an XZ archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"{\\rtf", "an RTF file"),
)
_UNREAD_PICTURES = (
    (b"8BPS", "a Photoshop image"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL image"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
)
_BRANDS = (
    (frozenset({b"avif", b"avis"}), "an AVIF image"),
    (frozenset({b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"}), "a HEIC image"),
)
_MAX_BRANDS = 256  # bytes of the brand list to read
EXPORT = "Export the image as JPEG or PNG and ingest the result"  # advice for images in unsupported formats


def find_binary_kind(data: bytes) -> str | None:
    """Return the kind of a known binary file, or None."""
    return next((what for magic, what in _BINARY if data.startswith(magic)), None)


def detect_unsupported_image(data: bytes) -> str | None:
    if data[4:8] == b"ftyp":
        brands = data[8 : min(int.from_bytes(data[:4]), _MAX_BRANDS)]
        named = {brands[at : at + 4] for at in range(0, len(brands), 4)}
        return next((what for some, what in _BRANDS if some & named), None)
    return next((what for magic, what in _UNREAD_PICTURES if data.startswith(magic)), None)


MARKS = (  # UTF-32 first, because its little-endian mark begins with the mark of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSETS = (  # most used first, to decide between equally good guesses
    *("cp1252", "cp1250", "cp1251", "cp1254", "cp1253", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "koi8_u", "cp874", "gb18030", "big5", "cp932", "euc_jp", "cp949"),
)
_MIN_UTF8 = 2  # letters in UTF-8 for each byte that is not
_AS_CLEAN = 0.001
_AS_COHERENT = 0.02
_SURROGATE = re.compile("[\ud800-\udfff]")
READS = (
    "kg reads Markdown, reStructuredText, Org, plain text, source code, HTML, PDF, DOCX, PPTX, XLSX, "
    "CSV, EPUB, e-mail (.eml), notebooks (.ipynb), and images (PNG, JPEG, WebP, GIF, TIFF, BMP). "
    "Save the file in one of these formats, with the matching extension, and ingest the result."
)
"""Final sentence of every message about an unreadable file."""


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Decode a file by its byte-order mark (removed), as UTF-8, or by a guess, with notes for the user."""
    if picture := detect_unsupported_image(data):
        raise UnreadableDocument(f"the file is {picture}, an unsupported format. {EXPORT}")
    if what := find_binary_kind(data):
        raise UnreadableDocument(f"the file is {what}. {READS}")
    text, notes = _decode_marked(data) or _decode_unmarked(data)
    return check_text(text), notes


def is_text(head: bytes) -> bool:
    """Check if a file that begins with these bytes is text. The last line may be cut inside a character."""
    try:
        decode(head[: head.rfind(b"\n") + 1] or head)
    except KgError:
        return False
    return True


def check_text(text: str) -> str:
    """Return the text if it can be stored."""
    half = None if text.isascii() else _SURROGATE.search(text)
    if half:
        raise InvalidInput(
            f"the text contains half of a surrogate pair (U+{ord(half[0]):04X}) at offset "
            f"{half.start()}, which is not valid Unicode. Decode the text with the correct encoding "
            "and send it again."
        )
    if (null := text.find("\x00")) >= 0:
        raise UnreadableDocument(f"the file is not text: U+0000 at offset {null}. {READS}")
    return text


_HEX = "[0-9a-fA-F]"
_JSON_ESCAPE = re.compile(
    rf"\\(?P<letter>u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}|u{_HEX}{{4}})|\\.", re.DOTALL
)


def decode_json_escapes(text: str) -> str:
    r"""Replace escapes such as `\u00e9` with their letters, so that a search finds the words.

    Many programs write JSON in ASCII. The data stays the same, because JSON may contain all letters.
    """

    def decode_escape(escape: re.Match[str]) -> str:
        letter = json.loads(f'"{escape[0]}"') if escape["letter"] else ""
        return letter if letter.isprintable() and not letter.isascii() else escape[0]

    return _JSON_ESCAPE.sub(decode_escape, text) if "\\u" in text else text


_XML_REFERENCE = re.compile(
    r"<!\[CDATA\[.*?\]\]>|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|\w{2,31});", re.DOTALL | re.IGNORECASE
)


def decode_xml_references(text: str) -> str:
    """Replace references such as `&#233;`, `&eacute;`, and `&amp;` with their letters, as for JSON.

    `&lt;`, `&gt;`, and CDATA sections stay, so that no text becomes a tag.
    """

    def decode_reference(reference: re.Match[str]) -> str:
        letters = html.unescape(reference[0]) if reference[0][0] == "&" else ""
        return letters if letters.isprintable() and letters not in {"", "<", ">"} else reference[0]

    return _XML_REFERENCE.sub(decode_reference, text) if "&" in text else text


_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)")


def remove_terminal_codes(text: str) -> str:
    """Remove colors and titles for terminals, which would be part of the next word."""
    return _TERMINAL.sub("", text) if "\x1b" in text else text


def _decode_marked(data: bytes) -> tuple[str, tuple[str, ...]] | None:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), ()
            except UnicodeDecodeError as error:
                raise UnreadableDocument(
                    f"the byte-order mark declares {encoding}, but byte {error.start + len(mark)} "
                    f"does not match. {READS}"
                ) from error
    return None


def _decode_unmarked(data: bytes) -> tuple[str, tuple[str, ...]]:
    if (zero := data.find(0)) >= 0:
        raise UnreadableDocument(
            f"the file is not text (NUL byte at {zero}), or UTF-16 without a byte-order mark. {READS}"
        )
    if (shift := _SHIFT.search(data)) and data.isascii():
        codec = "iso2022_kr" if shift[1] else "iso2022_jp"
        if (text := _try_with_supersets(data, codec)) is not None:
            return text, (f"read as {codec}: the file uses its escape sequences",)
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        pass
    if declaration := _TEXT_DECLARES.match(data[:_HEAD_BYTES]):
        codec = _find_codec((declaration[1] or declaration[2]).decode("ascii", "replace"))
        if (text := _try_with_supersets(data, codec)) is not None:
            return text, ()
    return _guess(data, READS)


def _decode_mixed(data: bytes) -> tuple[str, tuple[str, ...]] | None:
    """Decode UTF-8 with a few bytes in another encoding, such as a log of several programs."""
    text = data.decode("utf-8", "surrogateescape")
    wrong = len(_SURROGATE.findall(text))
    letters = sum(
        count for letter, count in Counter(text).items() if letter.isalpha() and not letter.isascii()
    )
    if wrong * _MIN_UTF8 > letters:
        return None
    text = _SURROGATE.sub(lambda byte: bytes([ord(byte[0]) - 0xDC00]).decode("cp1252", "replace"), text)
    return text, (f"read as UTF-8, with {wrong:,} invalid bytes read as cp1252",)


def guess_encoding(data: bytes) -> str | None:
    """Return the most likely common encoding, or None if none fits."""
    matches = list(from_bytes(data, cp_isolation=list(_CHARSETS)))
    return _choose_most_used(matches) if matches else None


def _choose_most_used(matches: list[CharsetMatch]) -> str:
    """Return the most common of several similar matches. Without this, cp1250 wins for all Spanish text."""
    best = matches[0]
    alike = {
        encoding
        for match in matches
        if match.chaos <= best.chaos + _AS_CLEAN and match.coherence >= best.coherence - _AS_COHERENT
        for encoding in match.could_be_from_charset
    }
    return next((encoding for encoding in _CHARSETS if encoding in alike), best.encoding)


_WIDE = ("utf-16", "utf-32")
_ONE_BYTE = frozenset({"koi8-r", "koi8-u", *(f"cp125{digit}" for digit in range(9))}) | {
    *(f"iso8859-{number}" for number in range(1, 17))
}
"""Codecs that decode almost any byte, so a wrong label on UTF-8 causes no error."""
_NO_FILES = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape"})
"""Codecs of names and literals. Some take quadratic time."""
_JAPANESE = "iso2022_jp+nec"
_SHIFT = re.compile(rb"\x1b\$(?:[@B]|\([CDOPQ]|(\)C))")
"""Escape sequence of ISO-2022-JP or ISO-2022-KR, which write other letters in ASCII."""
_SUPERSETS = {"iso2022_jp": ("iso2022_jp_ext", _JAPANESE), "euc_jp": ("euc_jis_2004",)}
_DECLARED = re.compile(
    rb"""<meta[^<>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_TEXT_DECLARES = re.compile(
    rb"""\s*<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})"""
    rb"""|(?:[^\n]*\n)?[ \t\f]*[#%;/][^\n]*?coding[:=][ \t]*([\w.:-]{1,40})""",
    re.IGNORECASE,
)
"""Declaration of an XML file, or a comment on one of the first two lines of a program (PEP 263, Emacs)."""
_HEAD_BYTES = 4_096


def decode_declared(data: bytes, declared: str = "") -> tuple[str, tuple[str, ...]]:
    """Decode a file, with notes for the user. `declared` is an encoding label, read as in browsers."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), ()
    codec = _find_codec(declared)
    if b"\x00" in data:
        if not codec.startswith(_WIDE):
            raise UnreadableDocument(
                "the file contains NUL bytes, which a text file does not have. Save the file as UTF-8"
            )
        return data.decode(codec, "replace"), ()
    if codec.startswith(_WIDE):  # a wrong label: the ASCII label itself was readable
        codec = "utf-8"
    if codec in _ONE_BYTE and not data.isascii() and (text := _try(data, "utf-8")) is not None:
        return text, (f"read as UTF-8: the file declares {declared}, which does not match its bytes",)
    for encoding in (codec, "utf-8"):
        if (text := _try_with_supersets(data, encoding)) is not None:
            return text, ()
    return _guess(data, "Save the file again, as UTF-8.")


def _try_with_supersets(data: bytes, codec: str) -> str | None:
    found = (_try(data, each) for each in (codec, *_SUPERSETS.get(codec, ())))
    return next((text for text in found if text is not None), None)


def _try(data: bytes, codec: str) -> str | None:
    if codec == _JAPANESE:  # NEC special characters such as ①, which Python only decodes in another set
        data, codec = data.replace(b"\x1b$B", b"\x1b$(Q").replace(b"\x1b$@", b"\x1b$(Q"), "iso2022_jp_2004"
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError):
        return None


def _find_codec(label: str) -> str:
    """Find the codec of a label in browsers or in Python (default: UTF-8)."""
    known = webencodings.lookup(label)
    if known and known.name not in {"replacement", "x-user-defined"}:
        name = known.codec_info.name
    else:
        try:
            name = codecs.lookup(label).name if label else "utf-8"
            "".encode(name)
        except (LookupError, ValueError):
            return "utf-8"
    if name in _NO_FILES:
        return "utf-8"
    return {"gbk": "gb18030"}.get(name, name)


def _guess(data: bytes, remedy: str) -> tuple[str, tuple[str, ...]]:
    if mixed := _decode_mixed(data):
        return mixed
    encoding = guess_encoding(data[:200_000])
    if encoding is None:
        raise UnreadableDocument(f"the file is not UTF-8, and no other encoding matches. {remedy}")
    note = f"read as {encoding}: the file is not UTF-8 and does not declare an encoding"
    if "\ufffd" in (text := data.decode(encoding, "replace")):  # the guess comes from samples
        note += ", and unknown signs are �"
    return text, (note,)


def find_declared_encoding(data: bytes) -> str:
    """Return the encoding that the start of an HTML or XML file declares."""
    declaration = _DECLARED.search(data[:_HEAD_BYTES])
    return (declaration[1] or declaration[2]).decode("ascii", "replace") if declaration else ""
