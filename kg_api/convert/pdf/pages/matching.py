"""Where the words of a passage stand in the letters of a page. Pure.

kg reads a page in another order than PDFium gives its letters (columns, tables), leaves out running headers
and joins what a line's end divides. So a passage is found in runs: each begins with a few letters that are
the same, and goes on as far as they are. Runs may come in any order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kg_api.convert.pdf.pages.streams import LetterStream

SEED = 12
"""Letters that begin a run."""
_ALONE = 24
"""Letters of a run that stands by itself: a shorter one may be there by chance."""
_NEAR = 24
"""Letters between two runs that belong together, and how far a single word is looked for."""
_MISSED = 4
"""Words that may be missing between two that are near."""
_NO_BLANKS = "\u2e80"
"""From here on most scripts have no blanks between words."""
_CANDIDATES = 32
"""Places that are tried for one seed: a page may say the same many times."""


@dataclass(frozen=True, slots=True)
class EqualLetters:
    passage: int
    page: int
    """Where it begins in each."""
    length: int


def find_passage(passage: LetterStream, page: LetterStream) -> list[Sequence[int]]:
    """The words of a passage that stand on a page: of each, the places of its letters there."""
    places = _places(_without_strays(list(_runs(passage, page))), len(passage.text))
    _fill(passage, page, places)
    return [*_words(passage, places)]


def find_words(words: Sequence[str], page: LetterStream) -> list[Sequence[int]]:
    """Where some words stand on a page, whole ones: of each, the places of its letters.

    Words that stand beside each other may be given as one; each of them is given back.
    """
    wanted = {stream.text: len(each.split()) for each in words if (stream := LetterStream.of(each)).text}
    found: list[Sequence[int]] = []
    most = max(map(len, wanted), default=0)
    for number, begin in enumerate(page.begins):
        end = _end_of_words(page, number, wanted.keys(), most)
        if end and (not found or begin > found[-1][-1]):
            several = wanted[page.text[begin:end]] > 1
            found += _apart(page, begin, end) if several else [range(begin, end)]
    return found + [place for each in sorted(wanted) for place in _within(each, page.text)]


def _apart(page: LetterStream, begin: int, end: int) -> Iterator[Sequence[int]]:
    """The words of the page from one place to another."""
    while begin < end:
        behind = page.end(page.words[begin])
        yield range(begin, behind)
        begin = behind


def _within(word: str, text: str) -> Iterator[Sequence[int]]:
    """What is written without blanks between words, wherever it stands."""
    at = text.find(word) if max(word) >= _NO_BLANKS else -1
    while at >= 0:
        yield range(at, at + len(word))
        at = text.find(word, at + len(word))


def _end_of_words(page: LetterStream, number: int, wanted: Collection[str], most: int) -> int | None:
    """Where the longest of the wanted ends that begins with a word; several words may be one, torn apart."""
    begin, found = page.begins[number], None
    while number < len(page.begins) and page.end(number) - begin <= most:
        if page.text[begin : page.end(number)] in wanted:
            found = page.end(number)
        number += 1
    return found


def _runs(passage: LetterStream, page: LetterStream) -> Iterator[EqualLetters]:
    """The longest that begins at each place, from the first on; of equals the nearest behind the last."""
    if len(passage.text) < SEED:
        yield from _short(passage.text, page)
        return
    seeds, at, behind = _seeds(page.text), 0, 0
    while at + SEED <= len(passage.text):
        places = sorted(seeds.get(passage.text[at : at + SEED], ()), key=lambda place: abs(place - behind))
        runs = [EqualLetters(at, place, _same(passage.text, at, page.text, place)) for place in places]
        if runs:
            best = max(runs, key=lambda run: run.length)
            yield best
            at, behind = at + best.length, best.page + best.length
        else:
            at = passage.end(passage.words[at])


def _short(text: str, page: LetterStream) -> Iterator[EqualLetters]:
    """A few letters, such as a heading: where they are whole words for the first time."""
    for number, begin in enumerate(page.begins):
        if text and page.text.startswith(text, begin):
            ends = begin + len(text)
            if ends == len(page.text) or page.words[ends] != page.words[ends - 1]:
                yield EqualLetters(0, page.begins[number], len(text))
                return


def _seeds(text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place in range(len(text) - SEED + 1):
        places = found.setdefault(text[place : place + SEED], [])
        if len(places) < _CANDIDATES:
            places.append(place)
    return found


def _same(one: str, at: int, other: str, place: int) -> int:
    """How many letters are the same from there on; compared by ever longer parts, which is quick."""
    most, same, step = min(len(one) - at, len(other) - place), 0, 64
    while same < most:
        step = min(step, most - same)
        if one[at + same : at + same + step] == other[place + same : place + same + step]:
            same += step
        elif step == 1:
            break
        else:
            step //= 2
    return same


def _without_strays(runs: list[EqualLetters]) -> list[EqualLetters]:
    """Runs without short ones that no other is near: words of another place, which happen to be the same.

    Where all are short, the longest is what the page has of a passage that goes on elsewhere.
    """
    beside = zip(runs, [None, *runs], [*runs[1:], None], strict=False)
    kept = [
        each for each, *others in beside if each.length >= _ALONE or any(_near(each, one) for one in others)
    ]
    return kept or ([max(runs, key=lambda run: run.length)] if runs else [])


def _near(one: EqualLetters, other: EqualLetters | None) -> bool:
    if other is None:
        return False
    first, second = sorted((one, other), key=lambda each: each.passage)
    between = second.page - first.page - first.length
    return second.passage - first.passage - first.length <= _NEAR and -_NEAR <= between <= _NEAR


def _places(runs: Sequence[EqualLetters], length: int) -> list[int]:
    """By letter of the passage: its place on the page, or -1."""
    places = [-1] * length
    for run in runs:
        places[run.passage : run.passage + run.length] = range(run.page, run.page + run.length)
    return places


def _fill(passage: LetterStream, page: LetterStream, places: list[int]) -> None:
    """Words between those that were found: each close behind the last one, else close before the next."""
    numbers = range(len(passage.begins))
    for order, backwards in ((numbers, False), (reversed(numbers), True)):
        near, missed = -1, 0
        for number in order:
            found = _look(passage, page, places, number, near, backwards=backwards)
            near, missed = (near, missed + 1) if found is None else (found, 0)
            if missed > _MISSED:
                near = -1


def _look(
    passage: LetterStream,
    page: LetterStream,
    places: list[int],
    number: int,
    near: int,
    *,
    backwards: bool,
) -> int | None:
    """Look for a word if it is not found yet; gives where the next one may be near."""
    begin, end = passage.begins[number], passage.end(number)
    if places[begin] < 0 or places[end - 1] < 0:
        span = range(max(0, near - _NEAR), near) if backwards else range(near + 1, near + _NEAR)
        place = None if near < 0 else _whole_word(passage.word(number), page, span, backwards=backwards)
        if place is None:
            return None
        places[begin:end] = range(place, place + end - begin)
    return places[begin] if backwards else places[end - 1]


def _whole_word(word: str, page: LetterStream, span: range, *, backwards: bool) -> int | None:
    """Where it begins, as a word of the page: the first place within a span, or the last."""
    found = None
    place = page.text.find(word, span.start, span.stop)
    while place >= 0:
        if page.begins[page.words[place]] == place:
            found = place
            if not backwards:
                break
        place = page.text.find(word, place + 1, span.stop)
    return found


def _words(passage: LetterStream, places: Sequence[int]) -> Iterator[Sequence[int]]:
    """Each word most of whose letters were found."""
    for number, begin in enumerate(passage.begins):
        found = [each for each in places[begin : passage.end(number)] if each >= 0]
        if 2 * len(found) > passage.end(number) - begin:
            yield found
