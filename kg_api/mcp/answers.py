"""Answers of tools: passages with citation ids, paged within a token budget.

A citation id is `source_id#start-end`: offsets in code points of the document's text, with an exclusive end.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from kg_api.errors import Conflict, InvalidInput
from kg_api.schemas.base import Body, CursorForm, digest_cursors
from kg_api.schemas.search import SourcePlace
from kg_api.wording import find_letter_start

_FORM = re.compile(r"(?P<source>[^#\s]{1,100})(?:#(?P<start>\d{1,10})-(?P<end>\d{1,10}))?")

_BROKEN = re.compile(r"#\d*-[\d-]*\s*$|#\s*$")  # malformed end of a citation


@dataclass(frozen=True, slots=True)
class CitationPlace:
    """Character range in a document, addressed by one of its sources."""

    source_id: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.source_id}#{self.start}-{self.end}"

    def get_part(self, start: int, end: int) -> CitationPlace:
        """Return a part of the place. `start` and `end` are relative to the start of the place."""
        return CitationPlace(self.source_id, self.start + start, self.start + end)


def read_citation(text: str) -> tuple[str, CitationPlace | None]:
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(
            f"{text[:200]!r} is not a citation id. Copy one from search_sources, in the form id#start-end"
        )
    if found["start"] is None:
        return found["source"], None
    start, end = int(found["start"]), int(found["end"])
    if start >= end:
        raise InvalidInput(f"{text[:200]!r} is an empty citation: its end is not after its start")
    return found["source"], CitationPlace(found["source"], start, end)


def parse_citation(text: str) -> tuple[str, CitationPlace | None]:
    """Return the source id and the place of a citation, or other text as the name of a source or document."""
    try:
        return read_citation(text)
    except InvalidInput:
        if _BROKEN.search(text):
            raise
        return text.strip(), None


# Cursors: a position in a list, with a digest of the items already returned

_CURSOR_FORM = CursorForm(1, "more.cursor", ", where only token_budget may differ")
_HELD = struct.Struct(">II8s")


@dataclass(frozen=True, slots=True)
class Position:
    """Number of returned items, and of returned code points of the next item's text."""

    index: int = 0
    offset: int = 0


# Characters that are invisible to people but not to models

_RANGES = {
    "zero_width": "\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0",
    "joiner": "\u200c\u200d",  # emoji and some scripts need them
    "bidirectional": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "tag": "\U000e0000-\U000e007f\U000e0100-\U000e01ef",  # can encode whole sentences
    "control": "\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f",
}
_ANY = re.compile("|".join(f"(?P<{kind}>[{characters}])" for kind, characters in _RANGES.items()))


def find_invisible_characters(text: str) -> list[str]:
    if text.isascii() and text.isprintable():
        return []
    found = {match.lastgroup for match in _ANY.finditer(text)}
    return [kind for kind in _RANGES if kind in found]


# Answers are JSON objects without nulls

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class InlineImage:
    """An image after the text of an answer."""

    content: bytes
    content_type: str


def build_item(**fields: Any) -> Item:
    """Return an object of the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def build_passage(citation: str, text: str, **fields: Any) -> Item:
    """Return an object with the unchanged text of a document and its citation."""
    return build_item(
        citation=citation, text=text, invisible=find_invisible_characters(text) or None, **fields
    )


def parse_citation_place(source: SourcePlace) -> str:
    return str(CitationPlace(source.source_id, source.start, source.end))


def get_source_kind(place: SourcePlace) -> str | None:
    return None if place.kind == "passage" else place.kind


def cut(found: Item, start: int, end: int) -> Item:
    """Cut a part of a passage with its own citation. `start` and `end` are code points of the text."""
    text: str = found["text"]
    cited = read_citation(found["citation"])[1]
    text, goes_on = text[start:end], end < len(text)
    part: Item = {
        **found,
        "text": text,
        "continues": goes_on or None,
        "invisible": find_invisible_characters(text) or None,
    }
    if cited is not None:
        part["citation"] = str(cited.get_part(start, end))
    return build_item(**part)


# Token budget of an answer

ASCII_A_TOKEN = 2.75
OTHER_BYTES_A_TOKEN = 2
FOR_MORE = 100  # tokens of the `more` field
MIN_ROOM = 64  # tokens of items that fit in any case, so that each answer makes progress


def estimate_tokens(text: str) -> int:
    """Return a conservative estimate, because the agent's tokenizer is unknown."""
    other = len(text.encode("utf-8", "replace")) - (plain := sum(map(str.isascii, text)))
    return math.ceil(plain / ASCII_A_TOKEN + other / OTHER_BYTES_A_TOKEN)


def to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def count_json_tokens(value: object) -> int:
    return estimate_tokens(to_json(value))


def fill(items: Sequence[Item], position: Position, room: int) -> tuple[list[Item], Position]:
    """Return the items that fit, from a position, and the next position.

    If the first item does not fit, a passage is split and any other item is returned whole.
    """
    taken: list[Item] = []
    at, offset = position.index, position.offset
    while at < len(items):
        found = items[at]
        if offset and "text" in found:
            found = cut(found, offset, len(found["text"]))
        cost = count_json_tokens(found) + 1
        if cost <= room:
            taken.append(found)
            at, offset, room = at + 1, 0, room - cost
            continue
        if taken:
            break
        length = _count_fitting(found, room)
        if length is None:
            return [found], Position(at + 1)
        return [cut(found, 0, length)], Position(at, offset + length)
    return taken, Position(at)


def _count_fitting(found: Item, room: int) -> int | None:
    """Count the code points of a passage that fit, up to a word or letter boundary. None means no split."""
    if "text" not in found:
        return None
    text: str = found["text"]
    room = max(room - count_json_tokens({**found, "text": "", "continues": True}), MIN_ROOM)
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = estimate_tokens(json.dumps(text[:middle], ensure_ascii=False)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    if low == len(text):
        return None
    blank = max(text.rfind(" ", low // 2, low), text.rfind("\n", low // 2, low))
    return find_letter_start(text, low) if blank < 0 else blank + 1


# Paging of lists within the token budget

MIN_BUDGET = 300
MAX_BUDGET = 100_000
USUAL_BUDGET = 6000


class Paged(Body):
    """Arguments of every tool."""

    token_budget: Annotated[int, Field(strict=True, ge=MIN_BUDGET, le=MAX_BUDGET)] = USUAL_BUDGET
    """Approximate tokens of the answer."""
    cursor: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """`more.cursor`, with all other arguments unchanged."""


class Pager:
    """Returns one page of an answer's items."""

    def __init__(self, tool: str, arguments: Paged) -> None:
        self._tool = tool
        self._budget = arguments.token_budget
        self._call = digest_cursors(tool, arguments.model_dump_json(exclude={"cursor", "token_budget"}))
        self.position = Position()
        self._given: bytes | None = None  # digest of the items already returned, None without a cursor
        if arguments.cursor is not None:
            held = _CURSOR_FORM.unseal(arguments.cursor, self._call)
            index, offset, self._given = _HELD.unpack(held)
            self.position = Position(index, offset)
        # start of the fetched page: the last returned item shows whether the list has changed
        self.page_start = max(self.position.index - 1, 0)
        self.shown: list[InlineImage] = []  # images after the text of the answer

    def step(
        self,
        frame: Item,
        items: Sequence[Item],
        keys: Sequence[str],
        noun: str,
        *,
        first: int = 0,
        start: int = 0,
        total: int | None = None,
        remembered: int | None = None,
    ) -> list[Item]:
        """Return the items that fit and set `more` of the frame if items are left.

        Args:
            frame: Answer without items.
            items: All items, or the items from just before this position.
            keys: Identity of each item.
            noun: Plural noun for the items.
            first: Index of the first item in the whole list.
            start: Index in the whole list of the first page.
            total: Number of all items (default: the number of `items`).
            remembered: Number of returned items to compare with a cursor (default: all).
        """

        def given(at: Position) -> Sequence[str]:
            end = at.index - first + (at.offset > 0)
            return keys[0 if remembered is None else max(end - remembered, 0) : max(end, 0)]

        position = Position(start) if self._given is None else self.position
        if self._given not in {None, digest_cursors(*given(position))}:
            raise Conflict(
                "the results of this call have changed since the cursor was created. Call again "
                "without the cursor"
            )
        room = max(self._budget - count_json_tokens(frame) - FOR_MORE, MIN_ROOM)
        taken, end = fill(items, Position(position.index - first, position.offset), room)
        total = len(items) + first if total is None else total
        left = total - end.index - first
        if left > 0:
            after = Position(end.index + first, end.offset)
            how = f"{left} of {total} {noun} left, whole or in part: "
            how += f"call {self._tool} again with the same arguments and this cursor"
            held = _HELD.pack(after.index, after.offset, digest_cursors(*given(after)))
            frame["more"] = {"left": left, "cursor": _CURSOR_FORM.seal(self._call, held), "how": how}
        return taken
