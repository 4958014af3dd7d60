"""Citation ids: `source_id#start-end`, offsets in code points of the document's text, the end excluded."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import BaseModel, Field

from kg_api.errors import Conflict, InvalidInput
from kg_api.schemas.base import Answer, Body, CursorForm, Page, digest_cursors
from kg_api.schemas.search import Degradation, SourcePlace
from kg_api.schemas.vocabulary import SourceKind

_FORM = re.compile(r"(?P<source>[^#\s]{1,100})(?:#(?P<start>\d{1,10})-(?P<end>\d{1,10}))?")

_BROKEN = re.compile(r"#\d*-[\d-]*\s*$|#\s*$")
"""The end of a citation, but for its numbers."""


@dataclass(frozen=True, slots=True)
class CitationPlace:
    """A place in a document, found by one of its sources."""

    source_id: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.source_id}#{self.start}-{self.end}"

    def part(self, start: int, end: int) -> CitationPlace:
        """A part of it; `start` and `end` are counted from its own start."""
        return CitationPlace(self.source_id, self.start + start, self.start + end)


def read_citation(text: str) -> tuple[str, CitationPlace | None]:
    """The source's id, and the place where one is given.

    Raises:
        InvalidInput: it is neither a source id nor a citation id.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(
            f"{text[:200]!r} is not a citation id; give one as search_sources gives it, id#start-end"
        )
    if found["start"] is None:
        return found["source"], None
    start, end = int(found["start"]), int(found["end"])
    if start >= end:
        raise InvalidInput(f"{text[:200]!r} cites nothing: its end is not behind its start")
    return found["source"], CitationPlace(found["source"], start, end)


def called(text: str) -> tuple[str, CitationPlace | None]:
    """The source that a citation is of, and its place; else what a source or a document is called by.

    Raises:
        InvalidInput: it ends as a citation does, and is none.
    """
    try:
        return read_citation(text)
    except InvalidInput:
        if _BROKEN.search(text):
            raise
        return text.strip(), None


# Cursors of tools: a place in a list, and what was given before it.

_CURSOR_FORM = CursorForm(1, "more.cursor", ", where only token_budget may differ")
_HELD = struct.Struct(">II8s")


@dataclass(frozen=True, slots=True)
class Position:
    """What has been given so far: so many items, and so many code points of the next one's text."""

    index: int = 0
    offset: int = 0


def write_cursor(call: bytes, position: Position, given: Iterable[str]) -> str:
    """A cursor.

    Args:
        call: the digest of the tool's name and arguments.
        position: where to go on.
        given: the keys of items that were given before; they must be the same when the cursor is used.
    """
    return _CURSOR_FORM.seal(call, _HELD.pack(position.index, position.offset, digest_cursors(*given)))


@dataclass(frozen=True, slots=True)
class Cursor:
    """A cursor that was read."""

    position: Position
    given: bytes

    def check(self, given: Iterable[str]) -> None:
        """See that what was given before is still there.

        Raises:
            Conflict: it is not.
        """
        if digest_cursors(*given) != self.given:
            raise Conflict(
                "what this call finds has changed since the cursor was given; call again without it"
            )


def read_cursor(text: str, call: bytes) -> Cursor:
    """Read a cursor.

    Raises:
        InvalidInput: it is damaged, or belongs to another call.
    """
    index, offset, given = _HELD.unpack(_CURSOR_FORM.unseal(text, call))
    return Cursor(Position(index, offset), given)


# Characters that a reader does not see and a model reads all the same. Pure.

_RANGES = {
    "zero_width": "\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0",
    "joiner": "\u200c\u200d",  # emoji and some scripts need them
    "bidirectional": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "tag": "\U000e0000-\U000e007f\U000e0100-\U000e01ef",  # whole sentences can be written in them
    "control": "\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f",
}
_ANY = re.compile("|".join(f"(?P<{kind}>[{characters}])" for kind, characters in _RANGES.items()))


def invisible_in(text: str) -> list[str]:
    """The kinds of them that a text holds."""
    if text.isascii() and text.isprintable():
        return []
    found = {match.lastgroup for match in _ANY.finditer(text)}
    return [kind for kind in _RANGES if kind in found]


# What all tools' answers share.


class More(Answer):
    """What is left, and how to get it."""

    left: int
    """How many items are not in this answer, or not wholly."""
    cursor: str
    how: str


@dataclass(frozen=True, slots=True)
class InlineImage:
    """A picture that stands behind the text of an answer."""

    content: bytes
    content_type: str


class ToolAnswer(Answer):
    """An answer that may go on."""

    degraded: list[Degradation] = Field(default_factory=list[Degradation])
    """What could not be done, and what was done instead."""
    more: More | None = None
    """Unset: this is all."""
    shown: list[InlineImage] = Field(default_factory=list[InlineImage], exclude=True)
    """Sent as blocks of their own, and then without structured content: clients that know that show nothing
    else."""


class Passage(Answer):
    """Text of a document, unchanged, and where it stands."""

    citation: str
    """Cite the passage by this; get_source_context takes it."""
    text: str
    continues: bool | None = None
    """The text goes on in the next answer."""
    invisible: list[str] | None = None
    """Invisible characters."""

    def model_post_init(self, context: Any, /) -> None:
        """Mark the text; it stays as it is."""
        del context
        self.invisible = invisible_in(self.text) or None

    def between(self, start: int, end: int) -> Self:
        """A part of it with its own citation; `start` and `end` are code points of the text."""
        if (start, end) == (0, len(self.text)):
            return self
        cited = read_citation(self.citation)[1]
        text = self.text[start:end]
        part: dict[str, Any] = {"text": text, "continues": end < len(self.text) or None}
        part["invisible"] = invisible_in(text) or None
        if cited is not None:
            part["citation"] = str(cited.part(start, end))
        return self.model_copy(update=part)


def cite(source_id: str, start: int, end: int) -> str:
    """The citation id of a place."""
    return str(CitationPlace(source_id, start, end))


def kind_of(place: SourcePlace) -> SourceKind | None:
    """What a source is, where that is to be told: no passage."""
    return None if place.kind == "passage" else place.kind


# Keeping an answer within a number of tokens, and telling what is left. Pure.

ASCII_A_TOKEN = 2.75
OTHER_BYTES_A_TOKEN = 2
FOR_MORE = 100
"""Tokens of what tells that there is more."""
MIN_ROOM = 64
"""Tokens of items that an answer has room for in any case, so that a walk always gets on."""

ItemT = TypeVar("ItemT", bound=BaseModel)


def tokens_of(text: str) -> int:
    """An estimate on the careful side, for an agent's tokenizer is not known."""
    other = len(text.encode("utf-8", "replace")) - (plain := sum(map(str.isascii, text)))
    return math.ceil(plain / ASCII_A_TOKEN + other / OTHER_BYTES_A_TOKEN)


def tokens_of_json(value: BaseModel) -> int:
    """The estimate for a value as it is sent."""
    return tokens_of(value.model_dump_json(exclude_none=True))


def room_in(frame: BaseModel, token_budget: int) -> int:
    """How many tokens are left for items, beside an answer that has none yet."""
    return max(token_budget - tokens_of_json(frame) - FOR_MORE, MIN_ROOM)


def fill(items: Sequence[ItemT], position: Position, room: int) -> tuple[list[ItemT], Position]:
    """The items that have room from a position on, and the position behind them.

    An item that has no room goes to the next answer; the first one is divided when it is a passage, and given
    as it is when it is not.
    """
    taken: list[ItemT] = []
    at, offset = position.index, position.offset
    while at < len(items):
        item = _rest(items[at], offset)
        cost = tokens_of_json(item) + 1
        if cost > room:
            break
        taken.append(item)
        at, offset, room = at + 1, 0, room - cost
    if taken or at == len(items):
        return taken, Position(at)
    part, length = _first_part(_rest(items[at], offset), room)
    return [part], Position(at, offset + length) if length else Position(at + 1)


def _rest(item: ItemT, offset: int) -> ItemT:
    return item.between(offset, len(item.text)) if offset and isinstance(item, Passage) else item


def _first_part(item: ItemT, room: int) -> tuple[ItemT, int]:
    """The part that has room and its length; the item and 0 when it is not divided."""
    if not isinstance(item, Passage):
        return item, 0
    frame = tokens_of_json(item.model_copy(update={"text": "", "continues": True}))
    length = _fitting(item.text, max(room - frame, MIN_ROOM))
    return (item, 0) if length >= len(item.text) else (item.between(0, length), length)


def _fitting(text: str, room: int) -> int:
    """How many code points have room, up to the end of a word."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = tokens_of(json.dumps(text[:middle], ensure_ascii=False)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    if low == len(text):
        return low
    blank = max(text.rfind(" ", low // 2, low), text.rfind("\n", low // 2, low))
    return low if blank < 0 else blank + 1


# Giving a list bit by bit: within the budget of tokens, and on from a cursor.

MIN_BUDGET = 300
MAX_BUDGET = 100_000
USUAL_BUDGET = 6000

PagingItemT = TypeVar("PagingItemT", bound=BaseModel)


class Paged(Body):
    """Arguments that every tool takes."""

    token_budget: Annotated[int, Field(strict=True, ge=MIN_BUDGET, le=MAX_BUDGET)] = USUAL_BUDGET
    """About so many tokens."""
    cursor: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """`more.cursor`; all else as in that call."""


@dataclass(frozen=True)
class Listing(Generic[PagingItemT]):
    """Items in order, or a stretch of them."""

    items: Sequence[PagingItemT]
    keys: Sequence[str]
    """What each item is known by."""
    noun: str
    """What they are called, in the plural."""
    first: int = 0
    """The place of the first of them in the whole list."""
    start: int = 0
    """Where in the whole list a walk begins."""
    total: int | None = None
    """All there are; None: these."""
    remembered: int | None = None
    """How many of those given before are compared when a cursor comes; None: all."""

    def given(self, position: Position) -> Sequence[str]:
        """The keys of what was given before a position, as far as they are compared."""
        end = position.index - self.first + (position.offset > 0)
        return self.keys[0 if self.remembered is None else max(end - self.remembered, 0) : max(end, 0)]


def list_page(
    page: Page, items: Sequence[PagingItemT], keys: Sequence[str], noun: str
) -> Listing[PagingItemT]:
    """A page of a whole list, which begins at `Pager.page_start`."""
    return Listing(items, keys, noun, first=page.offset, total=page.total, remembered=1)


class Pager:
    """One step of a walk through a list.

    Args:
        tool: the tool's name.
        arguments: those of this call.

    Raises:
        InvalidInput: the cursor is damaged, or belongs to another call.
    """

    def __init__(self, tool: str, arguments: Paged) -> None:
        asked = arguments.model_dump_json(exclude={"cursor", "token_budget"})
        self._tool = tool
        self._budget = arguments.token_budget
        self._call = digest_cursors(tool, asked)
        self._cursor: Cursor | None = None
        if arguments.cursor is not None:
            self._cursor = read_cursor(arguments.cursor, self._call)

    @property
    def position(self) -> Position:
        """Where this step begins."""
        return self._cursor.position if self._cursor else Position()

    @property
    def page_start(self) -> int:
        """Where a page begins that has this step: the last item given tells whether the list has changed."""
        return max(self.position.index - 1, 0)

    def step(self, frame: ToolAnswer, listing: Listing[PagingItemT]) -> tuple[list[PagingItemT], More | None]:
        """The items that have room, and how to get the rest.

        Args:
            frame: the answer without items.
            listing: all items, or those from just before this step's position.

        Raises:
            Conflict: what was given before is no longer what it was.
        """
        if self._cursor is not None:
            self._cursor.check(listing.given(self.position))
        position = self.position if self._cursor is not None else Position(listing.start)
        begin = Position(position.index - listing.first, position.offset)
        items, end = fill(listing.items, begin, room_in(frame, self._budget))
        return items, self._more(listing, Position(end.index + listing.first, end.offset))

    def _more(self, listing: Listing[PagingItemT], end: Position) -> More | None:
        total = len(listing.items) + listing.first if listing.total is None else listing.total
        left = total - end.index
        if left <= 0:
            return None
        return More(
            left=left,
            cursor=write_cursor(self._call, end, listing.given(end)),
            how=f"{left} of {total} {listing.noun} left, whole or in part: "
            f"call {self._tool} again with the same arguments and this cursor",
        )
