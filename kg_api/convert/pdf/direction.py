"""Reading order of lines with right-to-left letters, by the positions of their letters.

PDFium assumes that a file stores these letters from left to right, and reverses them. Some programs store
them in reading order, or mix both in one line, so the order of PDFium can be that of a mirror.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Literal, NamedTuple

from kg_api.convert.pdf.letters import LAST_CODE, LINE_ENDS, is_from_right


class Place(NamedTuple):
    left: float
    right: float
    baseline: float
    size: float = 0
    glyph: float | None = None  # start of the glyph, which may be a letter with its vowel signs


_SAME_LINE = 0.5  # in font sizes. PDFium ends a line before letters that are elsewhere or drawn with a mark
_Kind = Literal["right", "left", "number", "mark", "neutral"]
_KINDS: dict[str, _Kind] = {
    **dict.fromkeys(("R", "AL"), "right"),
    **dict.fromkeys(("EN", "AN"), "number"),
    "L": "left",
    "NSM": "mark",
}
_BRACKETS = tuple((ord(one), ord(other)) for one, other in ("()", "[]"))
_IN_NUMBERS, _AROUND_NUMBERS = frozenset(map(ord, ".,:/-−+%$€£₪")), frozenset(map(ord, "%$€£₪"))


def order_letters(codes: list[int], get_place: Callable[[int], Place | None]) -> Sequence[int]:
    """Return the indexes of letters in reading order.

    Args:
        codes: Letters, in which this function replaces mirrored brackets.
        get_place: Place of a letter (None: inserted by PDFium, or not upright).
    """
    if not any(map(is_from_right, codes)):
        return range(len(codes))
    ordered, line = list[int](), list[int]()
    places, ends = dict[int, Place](), list[int]()
    baseline: float | None = None
    for i, code in enumerate(codes):
        if (place := get_place(i)) is None:
            (ends if code in LINE_ENDS else line).append(i)
            continue
        if ends and (baseline is None or abs(place.baseline - baseline) > _SAME_LINE * place.size):
            ordered += [*_order_line(codes, line, places), *ends]
            line = []
        ends, baseline, places[i] = [], place.baseline, place
        line.append(i)
    return [*ordered, *_order_line(codes, line, places), *ends]


def _order_line(codes: list[int], line: list[int], places: Mapping[int, Place]) -> list[int]:
    kinds: dict[int, _Kind] = {i: _get_kind(codes[i]) for i in line}
    if "right" not in kinds.values():
        return line
    lefts = {i: places[i].left for i in line if i in places}
    if any(kind == "right" and i not in lefts for i, kind in kinds.items()):
        return line
    bases = [i for i in lefts if kinds[i] not in {"mark", "neutral"}]
    marks = {i for i in lefts if kinds[i] == "mark"}
    signs = groupby(line, lambda i: (i in marks, places[i].glyph if i in marks else None))
    for group in ([*some] for (is_sign, _), some in signs if is_sign):  # they follow the nearest letter
        left, right = min(lefts[i] for i in group), max(places[i].right for i in group)
        glyph = places[group[0]].glyph
        same = [i for i in bases if glyph is not None and places[i].glyph == glyph]
        base = min(
            same or bases, key=lambda i: (max(places[i].left - right, left - places[i].right, 0), -lefts[i])
        )
        for i in group:
            lefts[i], kinds[i] = lefts[base], kinds[base]
    ties = dict[int, int]()  # letters of a ligature share their position and have the order of their word
    for word in _split(line, lambda i: kinds[i] == "right"):
        is_mirrored = lefts[word[0]] < lefts[word[-1]]
        ties.update({i: -i if is_mirrored else i for i in word if i not in marks})
    from_right = sorted(lefts, key=lambda i: (-lefts[i], i in marks, ties.get(i, i)))
    letters = [*kinds.values()]
    if letters.count("right") >= letters.count("left"):
        ordered = _restore_left(codes, kinds, from_right)
        _turn_brackets(codes, ordered)
        return ordered
    from_left = sorted(lefts, key=lambda i: (lefts[i], i))
    at = [place for place, i in enumerate(from_left) if kinds[i] == "right"]
    parts, end = list[int](), 0
    for first, last in _find_spans(at, from_left, kinds):
        inside = {*from_left[first : last + 1]}
        parts += from_left[end:first]
        parts += _restore_left(codes, kinds, [i for i in from_right if i in inside])
        end = last + 1
    parts += from_left[end:]
    _turn_brackets(codes, parts)
    return parts


def _turn_brackets(codes: list[int], ordered: Sequence[int]) -> None:
    """Replace mirrored brackets of a line. PDFium returns brackets as they look, or as they are read."""
    for pair in _BRACKETS:
        found = [i for i in ordered if codes[i] in pair]
        steps = [1 if codes[i] == pair[0] else -1 for i in found]
        is_paired = sum(steps) == 0 and min(accumulate(steps), default=0) >= 0
        if len(found) % 2 == 0 and not is_paired:
            for at, i in enumerate(found):
                codes[i] = pair[at % 2]


def _find_spans(at: Sequence[int], line: Sequence[int], kinds: dict[int, _Kind]) -> Iterator[tuple[int, int]]:
    """Yield the first and last places of right-to-left letters without left-to-right letters between them."""
    first = last = at[0]
    for place in at[1:]:
        if any(kinds[i] == "left" for i in line[last:place]):
            yield first, last
            first = place
        last = place
    yield first, last


def _restore_left(codes: Sequence[int], kinds: dict[int, _Kind], line: list[int]) -> list[int]:
    """Reverse the numbers and the left-to-right words of a line from right to left."""
    restored, part = list[int](), list[int]()

    def close() -> None:
        after = list[int]()
        while part and kinds[part[-1]] == "neutral":
            after.insert(0, part.pop())
        restored.extend([*reversed(part), *after])
        part.clear()

    for at, i in enumerate(line):
        kind, sign = kinds[i], codes[i]
        is_number = bool(part) and all(kinds[each] != "left" for each in part)
        if kind == "right" or (kind == "neutral" and is_number and sign not in _IN_NUMBERS):
            close()
            restored.append(i)
        elif not part and kind == "neutral" and not _precedes_number(sign, line[at + 1 :], kinds):
            restored.append(i)
        else:
            part.append(i)
    close()
    return restored


def _precedes_number(sign: int, rest: Sequence[int], kinds: Mapping[int, _Kind]) -> bool:
    """Check if a sign such as `%` is to the right of a number, so that it follows the number."""
    return sign in _AROUND_NUMBERS and bool(rest) and kinds[rest[0]] == "number"


def _split(line: Sequence[int], is_part: Callable[[int], bool]) -> Iterator[list[int]]:
    """Yield the parts of a line between other letters."""
    return ([*part] for belongs, part in groupby(line, is_part) if belongs)


def is_mark(code: int) -> bool:
    """Check if a letter is a sign above or below another one, such as a vowel sign."""
    return _get_kind(code) == "mark"


def is_neutral(code: int) -> bool:
    """Check if a letter has no direction, such as a full stop."""
    return _get_kind(code) == "neutral"


@lru_cache(maxsize=8192)
def _get_kind(code: int) -> _Kind:
    return _KINDS.get(unicodedata.bidirectional(chr(min(code, LAST_CODE))), "neutral")
