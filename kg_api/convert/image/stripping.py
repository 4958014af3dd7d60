"""Pictures without what else their files say: TIFF and EXIF entry by entry, other kinds chunk by chunk."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image, ImageFile

from kg_api.convert.image.file import ORIENTATION
from kg_api.errors import UnreadableDocument

_SIZES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
    17: 8,
    18: 8,
}
"""Bytes of one value, by the type of an entry."""
SHORT, LONG, LONG8 = 3, 4, 16
_NUMBERS = {SHORT: "H", LONG: "I", 13: "I", LONG8: "Q", 18: "Q"}
_MAX_DIRECTORIES = 1000


class Entry(NamedTuple):
    """What stands under one tag."""

    kind: int
    values: int
    """How many there are."""
    value: bytes | memoryview
    """All of them, as they are written; nothing is copied before it is written."""


Entries = dict[int, Entry]
MORE = 2
"""So many times the file its parts may be, and a little: where a writer kept the same strip once."""
SPARE = 4096


@dataclass(frozen=True, slots=True)
class TiffLayout:
    """How numbers are written: their order, and whether offsets have eight bytes (BigTIFF)."""

    order: str
    big: bool

    @property
    def offset(self) -> str:
        return self.order + ("Q" if self.big else "I")

    @property
    def count(self) -> str:
        """The format of the number of entries."""
        return self.order + ("Q" if self.big else "H")

    @property
    def entry(self) -> str:
        """The format of an entry; its value, or where that stands, comes last."""
        return self.order + ("HHQ8s" if self.big else "HHI4s")

    @property
    def inline(self) -> int:
        """Bytes of a value that stands in its entry."""
        return 8 if self.big else 4

    def number(self, value: int) -> Entry:
        """A whole number, or an offset."""
        return Entry(LONG8 if self.big else LONG, 1, struct.pack(self.offset, value))

    def numbers(self, entry: Entry) -> tuple[int, ...]:
        return struct.unpack(f"{self.order}{entry.values}{_NUMBERS[entry.kind]}", entry.value)


def layout_of(data: bytes) -> TiffLayout:
    """How a file is written, by its head.

    Raises:
        struct.error: it is none.
    """
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    version = 0 if order is None else struct.unpack_from(f"{order}H", data, 2)[0]
    if order is None or version not in (42, 43):
        raise struct.error("no TIFF directory")
    return TiffLayout(order, version == 43)  # noqa: PLR2004 - the two versions that there are


def directories(data: bytes, layout: TiffLayout) -> Iterator[Entries]:
    """One for each page of the file, the same never twice."""
    (at,) = struct.unpack_from(layout.offset, data, 8 if layout.big else 4)
    seen = set[int]()
    while at and at not in seen and len(seen) < _MAX_DIRECTORIES:
        seen.add(at)
        found, at = _directory(data, at, layout)
        yield found


def directory(data: bytes, at: int, layout: TiffLayout) -> Entries:
    """One by its place; what is damaged in it is left out."""
    return _directory(data, at, layout)[0]


def _directory(data: bytes, at: int, layout: TiffLayout) -> tuple[Entries, int]:
    (count,) = struct.unpack_from(layout.count, data, at)
    first, size = at + struct.calcsize(layout.count), struct.calcsize(layout.entry)
    found, view = Entries(), memoryview(data)
    for each in range(first, min(first + size * count, len(data) - size + 1), size):
        tag, kind, values, inline = struct.unpack_from(layout.entry, data, each)
        length = _SIZES.get(kind, len(data)) * values
        start = each + size - layout.inline
        if length > layout.inline:
            (start,) = struct.unpack(layout.offset, inline)
        if start + length <= len(data):
            found.setdefault(tag, Entry(kind, values, view[start : start + length]))
    behind = first + size * count
    fits = behind + struct.calcsize(layout.offset) <= len(data)
    return found, struct.unpack_from(layout.offset, data, behind)[0] if fits else 0


class Writer:
    """Writes a file of the same layout: what is added, and nothing else."""

    def __init__(self, layout: TiffLayout, most: int) -> None:
        """Begin.

        Args:
            layout: that of the file.
            most: bytes that it may have: of a file made to harm every entry is as long as the file.
        """
        self._layout, self._most = layout, most
        mark = b"II" if layout.order == "<" else b"MM"
        head = (43, 8, 0) if layout.big else (42,)
        self._content = bytearray(mark + struct.pack(f"{layout.order}{len(head)}H", *head))
        self._next = len(self._content)
        """Where the offset of the next page belongs."""
        self._content += bytes(struct.calcsize(layout.offset))

    def add(self, content: bytes | memoryview) -> int:
        """Bytes; says where they stand."""
        self._content += bytes(len(self._content) % 2)
        at = len(self._content)
        if at + len(content) > self._most:
            raise UnreadableDocument("it is a damaged picture: its parts lie upon each other; save it again")
        self._content += content
        return at

    def directory(self, entries: Mapping[int, Entry]) -> int:
        """A directory that another one names; says where it stands."""
        layout, made = self._layout, [struct.pack(self._layout.count, len(entries))]
        for tag, (kind, count, value) in sorted(entries.items()):
            short = len(value) <= layout.inline
            inline = bytes(value) if short else struct.pack(layout.offset, self.add(value))
            made.append(struct.pack(layout.entry, tag, kind, count, inline))
        return self.add(b"".join((*made, struct.pack(layout.offset, 0))))

    def page(self, entries: Mapping[int, Entry]) -> None:
        """The directory of the next page."""
        at = self.directory(entries)
        struct.pack_into(self._layout.offset, self._content, self._next, at)
        self._next = len(self._content) - struct.calcsize(self._layout.offset)

    def content(self) -> bytes:
        return bytes(self._content)


# What stays of EXIF: how the picture is shown, and what it says in words that kg shows as well.

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


# BMP files: heads, palette and pixels, and nothing within, between or behind them.

_FILE_HEAD = 14
_LENGTH, _RESERVED = slice(2, 6), slice(6, 10)
_CORE, _INFO, _OS2 = 12, 40, 64
_BIT_FIELDS = 3
_BITS = struct.Struct("<H")
_SIZE = struct.Struct("<I")
_PALETTE_BITS = 8
_MASKS = {_BIT_FIELDS: 12, 6: 16}
"""Bytes of masks behind a head of 40 bytes, by compression."""
_NO_PIXELS = {_OS2: slice(54, 78), 108: slice(74, 122), 124: slice(74, 138)}
"""By head: how OS/2 prints it and what a program calls it; the colours of a screen, and the profile."""
_SPACES = {108: slice(70, 74), 124: slice(70, 74)}
"""By head: what the colour space is."""
_SRGB = b"BGRs"
_NO_TOP_BIT = bytes(each & 0x7F for each in range(256))
_LINE_ENDS, _RUN_ENDS, _DELTA = 0, 1, 2


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file without what no pixel is made of; a profile, which hardly a reader uses, is sRGB then."""
    if not isinstance(picture, ImageFile.ImageFile) or not picture.tile:
        return data
    codec, _, offset, arguments = picture.tile[0]
    if not isinstance(arguments, tuple):
        return data
    if not _FILE_HEAD + _SIZE.unpack_from(data, _FILE_HEAD)[0] <= offset <= len(data):
        raise struct.error("its pixels would begin within its head, or behind its end")
    if codec == "raw":
        content = bytearray(data[: offset + arguments[1] * picture.height])
        _clear_rows(content, offset, picture, raw_mode=arguments[0], stride=arguments[1])
    else:
        content = bytearray(data[: _end_of_runs(data, offset, picture.size, halves=bool(arguments[1]))])
    # No profile, no bytes of the palette that are no colour of the picture, zeros up to the pixels
    (head,) = _SIZE.unpack_from(content, _FILE_HEAD)
    content[_LENGTH] = _SIZE.pack(len(content))
    _clear(content, _RESERVED)
    if head in _NO_PIXELS and not _has_masks_of_os2(content, head):
        _clear(content, _NO_PIXELS[head])
    if head in _SPACES:
        content[_SPACES[head]] = _SRGB
    masks, colours = _tables(content, head)
    palette, width = _FILE_HEAD + head + masks, 3 if head == _CORE else 4
    end = palette + width * colours
    if end <= offset:
        _clear_palette(content, palette, width, colours, picture)
    _clear(content, slice(end, offset))
    return bytes(content)


def _has_masks_of_os2(content: bytearray, head: int) -> bool:
    """Whether Pillow reads masks where OS/2 says how it is printed."""
    return head == _OS2 and _compression(content) == _BIT_FIELDS


def _bits(content: bytearray) -> int:
    """Of a pixel."""
    core = _SIZE.unpack_from(content, _FILE_HEAD)[0] == _CORE
    return _BITS.unpack_from(content, 24 if core else 28)[0]


def _compression(content: bytearray) -> int:
    return _SIZE.unpack_from(content, 30)[0]


def _tables(content: bytearray, head: int) -> tuple[int, int]:
    """Behind the head: bytes of masks, and colours of the palette."""
    bits = _bits(content)
    if head == _CORE:
        return 0, 1 << bits if bits <= _PALETTE_BITS else 0
    masks = _MASKS.get(_compression(content), 0) if head == _INFO else 0
    if bits > _PALETTE_BITS:
        return masks, 0
    (colours,) = _SIZE.unpack_from(content, 46)
    return masks, min(colours or 1 << bits, 1 << bits)


def _clear_palette(content: bytearray, at: int, width: int, colours: int, picture: Image.Image) -> None:
    """No fourth bytes, and no colours that no pixel has: those become one that a pixel has.

    So no palette becomes one of greys in their order, or of black and white, which Pillow does without: it
    would read the pixels otherwise.
    """
    if width > 3:  # noqa: PLR2004 - blue, green and red
        _clear(content, slice(at + 3, at + width * colours, width))
    if picture.mode != "P":
        return
    places = [slice(at + width * index, at + width * (index + 1)) for index in range(colours)]
    pixels = picture.histogram()[:colours]
    shown = next((content[place] for place, count in zip(places, pixels, strict=False) if count), None)
    for place, count in zip(places, pixels, strict=False):
        if shown is not None and not count:
            content[place] = shown


def _clear_rows(content: bytearray, offset: int, picture: Image.Image, *, raw_mode: str, stride: int) -> None:
    """No bits behind the end of a row, nor within a pixel where its colours leave some over."""
    whole, left = divmod(picture.width * _bits(content), 8)
    for row in range(offset, len(content), stride):
        if left and row + whole < len(content):
            content[row + whole] &= 0xFF00 >> left & 0xFF
        _clear(content, slice(row + whole + bool(left), row + stride))
    if "X" in raw_mode:
        _clear(content, slice(offset + raw_mode.index("X"), None, 4))
    elif raw_mode == "BGR;15":
        content[offset + 1 :: 2] = content[offset + 1 :: 2].translate(_NO_TOP_BIT)


def _clear(content: bytearray, part: slice) -> None:
    content[part] = bytes(len(range(*part.indices(len(content)))))


def _end_of_runs(data: bytes, at: int, size: tuple[int, int], *, halves: bool) -> int:
    """Where run-length encoded pixels end, of half a byte or one, as Pillow reads them.

    As in Microsoft's "Bitmap Compression": pairs of a count and a value; a count of zero escapes: the end of
    a line, the end of the picture, a move, or so many values as they are, in whole words. No pixel is behind
    the last of the picture, whether its end is told or not.
    """
    width, every = size[0], size[0] * size[1]
    done = x = 0
    while done < every and at + 1 < len(data):
        count, value = data[at : at + 2]
        at += 2
        if count:
            drawn = max(0, min(count, width - x))
            done, x = done + drawn, x + drawn
        elif value == _LINE_ENDS:
            done, x = done + -done % width, 0
        elif value == _RUN_ENDS:
            break
        elif value == _DELTA:
            done = min(every, done + sum(a * b for a, b in zip(data[at : at + 2], (1, width), strict=False)))
            at, x = at + 2, done % width
        else:
            stored = min(every - done, value)
            at += (stored + 1) // 2 if halves else stored
            done, x = done + stored, x + value
            at += at % 2 if done < every else 0
    return min(at, len(data))


# GIF files block by block: frames with how they are shown, and how often an animation is repeated.

_GIF_HEAD, _IMAGE_HEAD = 13, 10
_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B
_CONTROL, _APPLICATION = 0xF9, 0xFF
_HAS_COLOURS, _COLOURS = 0x80, 0x07
_REPEATED = frozenset({b"NETSCAPE2.0", b"ANIMEXTS1.0"})
_PROFILE = b"ICCRGBG1012"


def strip_gif(data: bytes, picture: Image.Image) -> bytes:  # noqa: ARG001 - as all of these
    """The file up to its end, with frames alone: no comments, no XMP."""
    at = _GIF_HEAD + _colours(data, _GIF_HEAD - 3)
    made = [data[:at]]
    while at < len(data) and data[at] != _END:
        if data[at] == _EXTENSION:
            end = _blocks_end(data, at + 2)
            made.append(_extension(data, at, end))
        elif data[at] == _IMAGE:
            end = _blocks_end(data, at + _IMAGE_HEAD + _colours(data, at + _IMAGE_HEAD - 1) + 1)
            made.append(data[at:end])
        else:  # between blocks, where nothing is to be
            end = at + 1
        at = end
    return b"".join((*made, bytes((_END,))))


def _extension(data: bytes, start: int, end: int) -> bytes:
    whole, kind = data[start:end], data[start + 1 : start + 2]
    if kind == bytes((_CONTROL,)):
        return whole
    blocks = list(_blocks(data, start + 2))
    if kind != bytes((_APPLICATION,)) or not blocks:
        return b""
    if blocks[0] == _PROFILE:
        return whole
    repeated = next((each[:3] for each in blocks[1:] if each[:1] == b"\x01"), b"")
    stays = blocks[0] in _REPEATED and repeated
    return b"\x21\xff\x0b" + blocks[0] + bytes((len(repeated),)) + repeated + b"\0" if stays else b""


def _colours(data: bytes, flags: int) -> int:
    """Bytes of the table of colours that a byte announces."""
    said = data[flags] if flags < len(data) else 0
    return 3 << ((said & _COLOURS) + 1) if said & _HAS_COLOURS else 0


def _blocks(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data) and data[at]:
        yield data[at + 1 : at + 1 + data[at]]
        at += 1 + data[at]


def _blocks_end(data: bytes, at: int) -> int:
    """Behind the empty block that is the last."""
    while at < len(data) and data[at]:
        at += 1 + data[at]
    return at + 1


# JPEG files segment by segment: tables, the picture, its colours, and EXIF made anew.

_START, _JPEG_END, _SCAN = 0xD8, 0xD9, 0xDA
_TABLES = frozenset({*range(0xC0, 0xD0), *range(0xD9, 0xE0)})
"""Frames, tables, scans and the end: nothing else is needed for pixels."""
_ALONE = frozenset({0x01, *range(0xD0, 0xD8)})
_JFIF, _APP1, _APP2, _ADOBE = 0xE0, 0xE1, 0xE2, 0xEE
_JFIF_LENGTH, _ADOBE_LENGTH = 14, 12
"""Without the thumbnail that may follow, and without what nobody wrote down."""
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
"""Ends the bits of a scan: neither a stuffed byte nor a restart."""
_JPEG_EXIF = b"Exif\0\0"


class _Segment(NamedTuple):
    marker: int
    content: bytes
    """Behind its length."""
    scan: bytes = b""
    """The bits behind it."""


def strip_jpeg(data: bytes, picture: Image.Image) -> bytes:
    """The file up to the end of the picture: a second one, and what else is behind it, goes as well."""
    return segments_kept(data, exif_of(picture))


def segments_kept(data: bytes, exif: bytes = b"") -> bytes:
    """The segments that are needed, with EXIF behind JFIF."""
    made, begun = [b"\xff\xd8"], False
    for segment in _segments(data):
        kept = _kept(segment)
        if exif and not begun and kept and segment.marker != _JFIF:
            made.append(_written(_Segment(_APP1, _JPEG_EXIF + exif)))
            begun = True
        if kept:
            made.append(_written(kept))
    return b"".join(made)


def _segments(data: bytes) -> Iterator[_Segment]:
    at = 2
    while (at := data.find(b"\xff", at)) >= 0:
        while data[at + 1 : at + 2] == b"\xff":
            at += 1
        if at + 1 >= len(data):
            return
        marker = data[at + 1]
        at += 2
        if marker == _JPEG_END:
            yield _Segment(marker, b"")
            return
        if marker and marker not in _ALONE and marker != _START:
            segment = _long(data, at, marker)
            at += 2 + len(segment.content) + len(segment.scan)
            yield segment


def _long(data: bytes, at: int, marker: int) -> _Segment:
    (length,) = struct.unpack_from(">H", data, at)
    behind = at + max(length, 2)
    if marker != _SCAN:
        return _Segment(marker, data[at + 2 : behind])
    found = _MARKER.search(data, behind)
    return _Segment(marker, data[at + 2 : behind], data[behind : found.start() if found else len(data)])


def _kept(segment: _Segment) -> _Segment | None:
    marker, content = segment.marker, segment.content
    if marker in _TABLES or (marker == _APP2 and content.startswith(b"ICC_PROFILE\0")):
        return segment
    if marker == _JFIF and content.startswith(b"JFIF\0") and len(content) >= _JFIF_LENGTH:
        return _Segment(marker, content[: _JFIF_LENGTH - 2] + b"\0\0")
    if marker == _ADOBE and content.startswith(b"Adobe"):
        return _Segment(marker, content[:_ADOBE_LENGTH])
    return None


def _written(segment: _Segment) -> bytes:
    head = bytes((0xFF, segment.marker))
    if segment.marker == _JPEG_END:
        return head
    return b"".join((head, struct.pack(">H", len(segment.content) + 2), segment.content, segment.scan))


# PNG files chunk by chunk: pixels, colours, frames, a few words, and EXIF made anew.

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_SHOWN = frozenset(
    {
        *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"sBIT", b"bKGD", b"pHYs", b"hIST", b"sPLT"),
        *(b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP", b"mDCV", b"cLLI", b"mDCv", b"cLLi"),
        *(b"acTL", b"fcTL", b"fdAT"),
    }
)
"""Pixels, colours, and the frames of an animation."""
_TEXT = frozenset({b"tEXt", b"zTXt", b"iTXt"})
_WORDS = frozenset({b"title", b"author", b"description", b"copyright", b"creation time"})


def strip_png(data: bytes, picture: Image.Image) -> bytes:
    """The file up to its end, with pixels, colours and words alone."""
    made, exif = [_SIGNATURE], exif_of(picture)
    for kind, content, chunk in _chunks(data):
        if kind == b"IDAT" and exif:
            made.append(_chunk(b"eXIf", exif))
            exif = b""
        if kind in _PNG_SHOWN or (kind in _TEXT and content.partition(b"\0")[0].lower() in _WORDS):
            made.append(chunk)
        if kind == b"IEND":
            break
    return b"".join(made)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Kind, content, and all of it."""
    at = len(_SIGNATURE)
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8 : at + 8 + size], data[at : at + 12 + size]
        at += 12 + size


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


# TIFF files made anew: of each page the strips or tiles, what is needed to read them, and some words.

_TIFF_SHOWN = frozenset(
    {
        *(254, 255, 256, 257, 258, 259, 262, 263, 264, 265, 266, 274, 277, 278, 280, 281, 282, 283, 284),
        *(290, 291, 292, 293, 296, 297, 301, 317, 318, 319, 320, 321, 322, 323, 332, 334, 336, 338, 339),
        *(340, 341, 347, 529, 530, 531, 532, 34675),
    }
)
"""Tags of TIFF 6.0 by which pixels are read and shown, and the colour profile."""
_PIECES = ((273, 279), (324, 325))
"""Where strips and tiles are, and how long."""
_COMPRESSION, _TIFF_TABLES = 259, 347
_JPEG = 7
_COMPRESSIONS = frozenset({1, 2, 3, 4, 5, _JPEG, 8, 32771, 32773, 32946, 34676, 34677, 34925, 50000})
"""Those whose strips are pixels and nothing else, and JPEG. Not the JPEG of TIFF 6.0, whose parts lie
anywhere, and not whole files of other kinds."""


def strip_tiff(data: bytes, picture: Image.Image) -> bytes:
    """The file with pixels, colours and words alone.

    Raises:
        UnreadableDocument: its pixels are not in strips or tiles, or in files of other kinds.
    """
    layout = layout_of(data)
    writer, pieces = Writer(layout, MORE * len(data) + SPARE), _Pieces(data)
    turned = orientation_of(picture)
    for found in directories(data, layout):
        entries = kept_entries(data, found, layout, _TIFF_SHOWN | WORDS, writer)
        compression = layout.numbers(found[_COMPRESSION])[0] if _COMPRESSION in found else 1
        if _TIFF_TABLES in entries:
            entries[_TIFF_TABLES] = _bytes(
                entries[_TIFF_TABLES], segments_kept(bytes(entries[_TIFF_TABLES].value))
            )
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


# WebP files chunk by chunk: pixels, frames, the colour profile, and EXIF made anew.

_WEBP_HEAD, _FRAME_HEAD = 12, 16
_WEBP_SHOWN = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"})
_WITHIN_FRAMES = frozenset({b"VP8 ", b"VP8L", b"ALPH"})
_EXIF_FLAG, _XMP_FLAG = 0x08, 0x04


def strip_webp(data: bytes, picture: Image.Image) -> bytes:
    """The file up to its end, with pixels and colours alone."""
    exif = exif_of(picture)
    (size,) = struct.unpack_from("<I", data, 4)
    made = [b"WEBP"]
    for kind, content in _chunks_webp(data, _WEBP_HEAD, min(len(data), size + 8)):
        if kind in _WEBP_SHOWN:
            made.append(_chunk_webp(kind, _kept_webp(kind, content, exif=bool(exif))))
    if exif:
        made.append(_chunk_webp(b"EXIF", exif))
    whole = b"".join(made)
    return b"RIFF" + struct.pack("<I", len(whole)) + whole


def _kept_webp(kind: bytes, content: bytes, *, exif: bool) -> bytes:
    if kind == b"VP8X" and content:
        flags = content[0] & ~(_EXIF_FLAG | _XMP_FLAG)
        return bytes((flags | _EXIF_FLAG if exif else flags,)) + content[1:]
    if kind == b"ANMF":
        within = _chunks_webp(content, _FRAME_HEAD, len(content))
        return content[:_FRAME_HEAD] + b"".join(
            _chunk_webp(*each) for each in within if each[0] in _WITHIN_FRAMES
        )
    return content


def _chunks_webp(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while at + 8 <= end:
        kind, size = struct.unpack_from("<4sI", data, at)
        yield kind, data[at + 8 : min(at + 8 + size, end)]
        at += 8 + size + size % 2


def _chunk_webp(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


# A picture as it is stored: what shows it rightly, and no more than that.

_KINDS = {
    "BMP": strip,
    "GIF": strip_gif,
    "JPEG": strip_jpeg,
    "MPO": strip_jpeg,
    "PNG": strip_png,
    "TIFF": strip_tiff,
    "WEBP": strip_webp,
}


def stripped(data: bytes, picture: Image.Image) -> bytes:
    """The file with pixels, colour profile, orientation, title, description, author, rights and dates alone.

    Pixels are copied as they are encoded.

    Args:
        data: the file.
        picture: it, opened.

    Raises:
        UnreadableDocument: it is a TIFF of a rare kind.
        struct.error: it is damaged.
    """
    return _KINDS[picture.format or ""](data, picture)
