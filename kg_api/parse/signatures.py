"""What files plainly are by how they begin, of the kinds that are neither text nor read as pictures."""

from __future__ import annotations

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
    (b"8BPS", "a Photoshop picture"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
)
_BRANDS = (
    (frozenset({b"avif", b"avis"}), "an AVIF picture"),
    (frozenset({b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"}), "a HEIC picture"),
)
_MAX_BRANDS = 256
"""Bytes of the list of brands of a media file that are looked at."""

EXPORT = "export it as JPEG or PNG in the program that shows it, and take that"
"""What is to be done with a picture of a kind that is not read."""


def binary_kind(data: bytes) -> str | None:
    """What kind of file bytes are that are no text, as far as that is plain."""
    return next((what for magic, what in _BINARY if data.startswith(magic)), None)


def unread_picture(data: bytes) -> str | None:
    """What kind of picture bytes are, of those that are not read."""
    if data[4:8] == b"ftyp":
        brands = data[8 : min(int.from_bytes(data[:4]), _MAX_BRANDS)]
        named = {brands[at : at + 4] for at in range(0, len(brands), 4)}
        return next((what for some, what in _BRANDS if some & named), None)
    return next((what for magic, what in _UNREAD_PICTURES if data.startswith(magic)), None)
