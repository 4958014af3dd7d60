"""TIFF files made anew: of each page the strips or tiles, what is needed to read them, and some words."""

from __future__ import annotations

import struct

from PIL import Image

from kg_api.convert.image.strip.directories import (
    MORE,
    SPARE,
    Entries,
    Entry,
    TiffLayout,
    Writer,
    directories,
    layout_of,
)
from kg_api.convert.image.strip.exif import WORDS, kept_entries, orientation_of, with_orientation
from kg_api.convert.image.strip.jpeg import segments_kept
from kg_api.errors import UnreadableDocument

_SHOWN = frozenset(
    {
        *(254, 255, 256, 257, 258, 259, 262, 263, 264, 265, 266, 274, 277, 278, 280, 281, 282, 283, 284),
        *(290, 291, 292, 293, 296, 297, 301, 317, 318, 319, 320, 321, 322, 323, 332, 334, 336, 338, 339),
        *(340, 341, 347, 529, 530, 531, 532, 34675),
    }
)
"""Tags of TIFF 6.0 by which pixels are read and shown, and the colour profile."""
_PIECES = ((273, 279), (324, 325))
"""Where strips and tiles are, and how long."""
_COMPRESSION, _TABLES = 259, 347
_JPEG = 7
_COMPRESSIONS = frozenset({1, 2, 3, 4, 5, _JPEG, 8, 32771, 32773, 32946, 34676, 34677, 34925, 50000})
"""Those whose strips are pixels and nothing else, and JPEG. Not the JPEG of TIFF 6.0, whose parts lie
anywhere, and not whole files of other kinds."""


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file with pixels, colours and words alone.

    Raises:
        UnreadableDocument: its pixels are not in strips or tiles, or in files of other kinds.
    """
    layout = layout_of(data)
    writer, pieces = Writer(layout, MORE * len(data) + SPARE), _Pieces(data)
    turned = orientation_of(picture)
    for found in directories(data, layout):
        entries = kept_entries(data, found, layout, _SHOWN | WORDS, writer)
        compression = layout.numbers(found[_COMPRESSION])[0] if _COMPRESSION in found else 1
        if _TABLES in entries:
            entries[_TABLES] = _bytes(entries[_TABLES], segments_kept(bytes(entries[_TABLES].value)))
        entries |= pieces.copied(found, layout, compression, writer)
        writer.page(with_orientation(entries, layout, turned))
        turned = 1
    return writer.content()


class _Pieces:
    """Copies strips and tiles, each once."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known: dict[tuple[int, int], tuple[int, int]] = {}

    def copied(self, found: Entries, layout: TiffLayout, compression: int, writer: Writer) -> Entries:
        made: Entries = {}
        for starts, lengths in _PIECES:
            if starts in found and lengths in found and compression in _COMPRESSIONS:
                pairs = zip(layout.numbers(found[starts]), layout.numbers(found[lengths]), strict=False)
                copies = [self._copy(pair, compression, writer) for pair in pairs]
                made[starts] = _list(layout, [start for start, _ in copies])
                made[lengths] = _list(layout, [length for _, length in copies])
        if not made:
            raise UnreadableDocument(
                "it is a TIFF of a rare kind, of which kg cannot remove where it was taken; save it anew "
                "in another program, or keep the place (KG_CONVERSION__IMAGE_KEEP_PLACE)"
            )
        return made

    def _copy(self, piece: tuple[int, int], compression: int, writer: Writer) -> tuple[int, int]:
        if piece not in self._known:
            content = self._data[piece[0] : piece[0] + piece[1]]
            if compression == _JPEG:
                content = segments_kept(content)
            self._known[piece] = (writer.add(content) if content else 0, len(content))
        return self._known[piece]


def _list(layout: TiffLayout, values: list[int]) -> Entry:
    kind, _, _ = layout.number(0)
    packed = struct.pack(f"{layout.order}{len(values)}{layout.offset[-1]}", *values)
    return Entry(kind, len(values), packed)


def _bytes(entry: Entry, content: bytes) -> Entry:
    return Entry(entry.kind, len(content), content)
