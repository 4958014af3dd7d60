"""What stays of EXIF: how the picture is shown, and what it says in words that kg shows as well."""

from __future__ import annotations

import struct
from collections.abc import Set as AbstractSet

from PIL import Image

from kg_api.convert.image.preview import ORIENTATION
from kg_api.convert.image.strip.directories import (
    MORE,
    SHORT,
    SPARE,
    Entries,
    Entry,
    TiffLayout,
    Writer,
    directories,
    directory,
    layout_of,
)

_EXIF, _INTEROPERABILITY = 0x8769, 0xA005
WORDS = frozenset({0x010E, 0x0132, 0x013B, 0x8298, 0x9C9B, 0x9C9C, _EXIF})
"""Description, when it was changed, author, copyright, title and comment as Windows writes them; and what
stands in a directory of its own."""
_SHOWN = frozenset({0x011A, 0x011B, 0x0128, 0x0213})
"""Resolution, and where colours are measured."""
_WITHIN = {
    _EXIF: frozenset({0x9000, 0x9003, 0x9004, 0xA001, _INTEROPERABILITY}),
    _INTEROPERABILITY: frozenset({0x0001}),
}
"""Directories that others name: when it was taken (without the time zone), and the colour space."""
_MAX_LENGTH = 65_000
"""What a segment of a JPEG holds."""
_HEAD = b"Exif\0\0"


def exif_of(picture: Image.Image) -> bytes:
    """EXIF made anew, without a head; empty: there is nothing to say."""
    said, turned = picture.info.get("exif"), orientation_of(picture)
    made = _made(said.removeprefix(_HEAD), turned) if isinstance(said, bytes) else b""
    return made if made and len(made) <= _MAX_LENGTH else _made(b"", turned)


def orientation_of(picture: Image.Image) -> int:
    """How it is to be turned: by EXIF, or by XMP, which does not stay."""
    said = picture.getexif().get(ORIENTATION, 1)
    return said if said in range(1, 9) else 1


def with_orientation(entries: Entries, layout: TiffLayout, turned: int) -> Entries:
    """The entries, which say how to turn it."""
    said = Entry(SHORT, 1, struct.pack(f"{layout.order}H", turned))
    return {**entries, ORIENTATION: said} if turned > 1 else entries


def kept_entries(
    data: bytes, found: Entries, layout: TiffLayout, tags: AbstractSet[int], writer: Writer
) -> Entries:
    """The entries of a directory that stay; those that name directories, with what stays of these."""
    kept: Entries = {}
    for tag in sorted(tags & found.keys()):
        if tag not in _WITHIN:
            kept[tag] = found[tag]
        elif entries := kept_entries(data, _named(data, found[tag], layout), layout, _WITHIN[tag], writer):
            kept[tag] = layout.number(writer.directory(entries))
    return kept


def _named(data: bytes, entry: Entry, layout: TiffLayout) -> Entries:
    try:
        return directory(data, layout.numbers(entry)[0], layout)
    except (KeyError, IndexError, struct.error):
        return {}


def _made(said: bytes, turned: int) -> bytes:
    try:
        layout = layout_of(said)
        found = next(directories(said, layout), Entries())
    except struct.error:
        layout, found = TiffLayout("<", big=False), Entries()
    writer = Writer(layout, MORE * len(said) + SPARE)
    entries = with_orientation(kept_entries(said, found, layout, WORDS | _SHOWN, writer), layout, turned)
    if not entries:
        return b""
    writer.page(entries)
    return writer.content()
