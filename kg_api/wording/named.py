"""Where a text names two things, each of them by itself."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final

from kg_api.wording.folding import FoldedText, fold

Place = tuple[int, int]
"""From where to where in the text."""


@dataclass(frozen=True, slots=True)
class NamedPair:
    """The places of two names in their order, without those of one that lie within those of the other."""

    ones: Sequence[Place]
    others: Sequence[Place]

    def is_within(self, start: int, end: int) -> bool:
        """Whether both stand within a span of the text, beside each other."""
        ones, others = _ends_within(self.ones, start, end), _ends_within(self.others, start, end)
        if ones is None or others is None:
            return False
        return ones[0][1] <= others[1][0] or others[0][1] <= ones[1][0]


UNNAMED: Final = NamedPair((), ())
"""The text names neither."""


class NamePlaces:
    """Where names stand in a text, but for their form; each is looked up once."""

    def __init__(self, folded: Callable[[], FoldedText]) -> None:
        """`folded`: gives the text, but for its form; asked once, when it is needed."""
        self._folded = folded
        self._known: dict[str, tuple[str, list[Place]]] = {}

    def pair(self, one: str, other: str) -> NamedPair:
        """Those of two names: no "Python" stands in "Python Software Foundation" where that is the other."""
        (first, ones), (second, others) = self._of(one), self._of(other)
        if first != second and first in second:
            ones = [*_outside(ones, others)]
        elif first != second and second in first:
            others = [*_outside(others, ones)]
        return NamedPair(ones, others)

    def _of(self, name: str) -> tuple[str, list[Place]]:
        """As it is looked for, and where it stands."""
        if name not in self._known:
            sought = fold(name).text.strip() if any(map(str.isalnum, name)) else ""
            self._known[name] = sought, [*self._text.every(sought)]
        return self._known[name]

    @cached_property
    def _text(self) -> FoldedText:
        return self._folded()


def _outside(places: Sequence[Place], others: Sequence[Place]) -> Iterator[Place]:
    """The places that are in none of some others, which are in order."""
    for start, end in places:
        at = bisect_right(others, start, key=itemgetter(0)) - 1
        if at < 0 or others[at][1] < end:
            yield start, end


def _ends_within(places: Sequence[Place], start: int, end: int) -> tuple[Place, Place] | None:
    """The first and the last of some places that are within a span."""
    first, behind = bisect_left(places, (start, 0)), bisect_right(places, end, key=itemgetter(1))
    return (places[first], places[behind - 1]) if first < behind else None
