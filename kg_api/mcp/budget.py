"""Keeping an answer within a number of tokens, and telling what is left. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from kg_api.mcp.answers import Passage
from kg_api.mcp.cursor import Position

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
