"""Words of the question marked in passages, at the places that the service tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from kg_api.models.queries.places import SourcePlace, WordMatch

SHOWN_CHARACTERS = 500
LEAD_CHARACTERS = 120
"""How much is shown before the first word that matches."""
STYLE = "bold yellow"

_DROPPED = {ord(character): " " for character in "\a\b\v\f\r"}
"""Characters that `Text` takes away, which would move the marks behind them."""

Marks = Sequence[tuple[int, int]]
"""Start and end of each place that is marked."""


def marks_in(source: SourcePlace, matches: Iterable[WordMatch], start: int, text: str) -> Marks:
    """The matches of a source as places of a text, which begins at `start` of the same document."""
    return [*_shift(((each.start, each.end) for each in matches), source.start - start, len(text))]


def mark(text: str, marks: Marks = ()) -> Text:
    marked = Text(text.translate(_DROPPED))
    for start, end in marks:
        marked.stylize(STYLE, start, end)
    return marked


def excerpt(text: str, marks: Marks = ()) -> Text:
    """The part of a passage around its first mark; `…` stands where text is left out."""
    begin = len(text) - len(text.lstrip())
    first = marks[0][0] - begin if marks else 0
    whole = text.strip()
    start = max(0, min(first - LEAD_CHARACTERS, len(whole) - SHOWN_CHARACTERS))
    shown = whole[start : start + SHOWN_CHARACTERS]
    within = [*_shift(marks, -begin - start, len(shown))]
    more = start + len(shown) < len(whole)
    return Text("…" if start else "") + mark(shown, within) + Text("…" if more else "")


def _shift(marks: Iterable[tuple[int, int]], by: int, length: int) -> Iterator[tuple[int, int]]:
    """The marks so much further, as far as they are within a text of that length."""
    for start, end in marks:
        first, last = max(start + by, 0), min(end + by, length)
        if first < last:
            yield first, last
