"""Giving a list bit by bit: within the budget of tokens, and on from a cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, Field

from kg_api.mcp.answers import More, ToolAnswer
from kg_api.mcp.budget import fill, room_in
from kg_api.mcp.cursor import Cursor, Position, read_cursor, write_cursor
from kg_api.models.base import Body, Page
from kg_api.models.cursors import digest

MIN_BUDGET = 300
MAX_BUDGET = 100_000
USUAL_BUDGET = 6000

ItemT = TypeVar("ItemT", bound=BaseModel)


class Paged(Body):
    """Arguments that every tool takes."""

    token_budget: Annotated[int, Field(strict=True, ge=MIN_BUDGET, le=MAX_BUDGET)] = USUAL_BUDGET
    """About so many tokens."""
    cursor: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """`more.cursor`; all else as in that call."""


@dataclass(frozen=True)
class Listing(Generic[ItemT]):
    """Items in order, or a stretch of them."""

    items: Sequence[ItemT]
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


def list_page(page: Page, items: Sequence[ItemT], keys: Sequence[str], noun: str) -> Listing[ItemT]:
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
        self._call = digest(tool, asked)
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

    def step(self, frame: ToolAnswer, listing: Listing[ItemT]) -> tuple[list[ItemT], More | None]:
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

    def _more(self, listing: Listing[ItemT], end: Position) -> More | None:
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
