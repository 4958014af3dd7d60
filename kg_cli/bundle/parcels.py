"""What of a bundle is sent together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kg_api.bundle.folder import keys_of, open_plain, raw_lines
from kg_api.bundle.lines import read_line
from kg_api.models.bundle.lines import BundledConcepts, BundledDocument, BundledLine, BundledSource
from kg_api.web.limits.json_bounds import check_bounds

SENT_BYTES = 2 * 1024 * 1024
"""Of one request, unless a document alone has more."""
SENT_LINES = 600


@dataclass(slots=True)
class Parcel:
    """Lines that are sent together."""

    documents: list[str] = field(default_factory=list[str])
    lines: list[bytes] = field(default_factory=list[bytes])
    keys: list[str] = field(default_factory=list[str])
    size: int = 0
    last: BundledLine | None = None

    def add(self, raw: bytes, line: BundledLine) -> None:
        self.lines.append(raw)
        self.size += len(raw)
        self.keys += keys_of(line)
        self.last = line
        if isinstance(line, BundledDocument):
            self.documents.append(line.document)

    @property
    def name(self) -> str:
        """What it is, where it is one document or a part of one."""
        last = self.last
        if self.documents or last is None or isinstance(last, BundledDocument | BundledSource):
            return ", ".join(self.documents)
        return f"{last.kind} of {last.document}"

    @property
    def is_full(self) -> bool:
        """Whether no further document is to be in it."""
        return self.size >= SENT_BYTES or len(self.lines) >= SENT_LINES

    def may_end_before(self, line: BundledLine) -> bool:
        """Whether it may be parted there: what was found in one source is sent together."""
        if isinstance(line, BundledConcepts) and isinstance(self.last, BundledConcepts):
            return (line.document, line.paragraph) != (self.last.document, self.last.paragraph)
        return not isinstance(line, BundledSource)


def parcels(path: Path) -> Iterator[Parcel]:
    """The lines of a file: whole documents together; of a large one vectors and concepts come after it."""
    parcel = Parcel()
    with open_plain(path) as file:
        for raw in raw_lines(file):
            line = read_line(raw, check_bounds)
            is_large = parcel.size >= SENT_BYTES
            ends = is_large and parcel.may_end_before(line)
            if ends or (parcel.is_full and isinstance(line, BundledDocument)):
                yield parcel
                parcel = Parcel()
            parcel.add(raw, line)
    if parcel.lines:
        yield parcel


def divided(parcel: Parcel) -> list[Parcel]:
    """Smaller parts: its documents; of a single one itself, and then each line of vectors and of concepts."""
    several, parts = len(parcel.documents) > 1, list[Parcel]()
    for raw in parcel.lines:
        line = read_line(raw, check_bounds)
        ends = isinstance(line, BundledDocument) or (not several and parts and parts[-1].may_end_before(line))
        if not parts or ends:
            parts.append(Parcel())
        parts[-1].add(raw, line)
    return parts
