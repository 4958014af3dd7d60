"""Directories of TIFF files, which are those of EXIF, too: read and written entry by entry."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

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
