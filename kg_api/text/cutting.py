"""Word counts, and lossless splitting of a long text at its best boundaries."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise

from kg_api.text.lines import NEWLINE, is_blank
from kg_api.text.sentences import find_sentence_borders
from kg_api.wording import LETTER, MAX_LETTER

# Measured on 240 parallel paragraphs (XQuAD): an English word corresponds to 1.95 characters of Chinese and
# 5.7 of Thai, or to 0.8 to 1.4 words in languages with spaces.
_TWO_A_WORD = re.compile("[\u2e80-\ua4cf\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff]+")
_SIX_A_WORD = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
_LONG_WORD = 10  # characters per word in text without spaces, such as links and data
_SIZE_WINDOW = 1 << 16  # characters counted at once, to avoid a list of all words of a large text


def count_words(text: str, start: int = 0, end: int | None = None) -> int:
    """Count words, or characters in scripts without spaces. Joined texts never count more than the parts."""
    stop = len(text) if end is None else end
    return sum(_count(text[at : min(at + _SIZE_WINDOW, stop)]) for at in range(start, stop, _SIZE_WINDOW))


def _count(text: str) -> int:
    spaced = text.split()
    visible = sum(map(len, spaced))
    if text.isascii():
        return max(len(spaced), math.ceil(visible / _LONG_WORD))
    two, six = _count_matched(_TWO_A_WORD, text), _count_matched(_SIX_A_WORD, text)
    return max(len(spaced), math.ceil(two / 2 + six / 6 + (visible - two - six) / _LONG_WORD))


def _count_matched(pattern: re.Pattern[str], text: str) -> int:
    return sum(run.end() - run.start() for run in pattern.finditer(text))


Borders = Callable[[str, int, int], Iterator[int]]
"""Function that yields, in order, the offsets strictly inside text[start:end] where a split is possible."""
Measure = Callable[[str, int, int], int]
"""Function that returns the length of text[start:end]. Joining never increases the total length."""
Span = tuple[int, int]
_WORD = re.compile(r"\S+\s*")
_WORDS_OF_A_WRAPPED_LINE = 30  # with more words per line, each line is a paragraph
_CLUSTER_STEP = 50  # characters between possible splits of a long word


def find_blank_line_borders(text: str, start: int, end: int) -> Iterator[int]:
    blank_before = False
    for line, following in pairwise(chain((start,), find_line_borders(text, start, end), (end,))):
        blank = is_blank(text, line, following)
        if blank_before and not blank and line > start:
            yield line
        blank_before = blank


def find_line_borders(text: str, start: int, end: int) -> Iterator[int]:
    found = (newline.end() for newline in NEWLINE.finditer(text, start, end))
    return (border for border in found if border < end)


def find_cut_boundaries(text: str, start: int, end: int) -> Iterator[int]:
    found = (word.start() for word in _WORD.finditer(text, start, end))
    return (border for border in found if border > start)


def split_clusters(text: str, start: int, end: int, longest: int) -> Iterator[Span]:
    """Split between user-perceived characters, into pieces of `longest` code points or one character."""
    begin = start
    for cluster in LETTER.finditer(text, start, end):
        if cluster.end() - begin > longest and cluster.start() > begin:
            yield begin, cluster.start()
            begin = cluster.start()
        while cluster.end() - begin > max(longest, MAX_LETTER):
            yield begin, begin + MAX_LETTER
            begin += MAX_LETTER
    if begin < end:
        yield begin, end


def find_character_borders(text: str, start: int, end: int) -> Iterator[int]:
    """Yield a position after about every 50 characters."""
    return (begin for begin, _ in split_clusters(text, start, end, _CLUSTER_STEP) if begin > start)


LINES: tuple[Borders, ...] = (
    find_blank_line_borders,
    find_line_borders,
    find_cut_boundaries,
    find_character_borders,
)


def build_prose_levels(text: str, start: int, end: int, size: int) -> tuple[Borders, ...]:
    """Return boundary functions for prose of `size` words: sentences first, unless lines are paragraphs."""
    lines = 1 + sum(1 for _ in find_line_borders(text, start, end))
    if lines > 1 and size / lines > _WORDS_OF_A_WRAPPED_LINE:
        return (find_line_borders, find_sentence_borders, find_cut_boundaries, find_character_borders)
    return (find_sentence_borders, find_line_borders, find_cut_boundaries, find_character_borders)


def cut(
    text: str,
    span: Span,
    size: int,
    levels: Sequence[Borders],
    *,
    above: int,
    most: int,
    measure: Measure = count_words,
) -> list[Span]:
    """Split a span of length `size` into pieces that cover it, of similar lengths and at most `most`.

    A span of at most `above` stays whole. `levels` are boundary functions, best first: the next one splits
    pieces that are still too long. `measure` is the unit of all lengths.
    """
    if size <= above or not levels:
        return [span]
    fair = size / -(-size // most)
    pieces: list[Span] = []
    begin, filled = span[0], 0
    for start, end in pairwise(chain((span[0],), levels[0](text, *span), (span[1],))):
        part = measure(text, start, end)
        if start > begin and (filled >= fair or filled + part > most):
            pieces.append((begin, start))
            begin, filled = start, 0
        if part > most:
            pieces += cut(text, (start, end), part, levels[1:], above=above, most=most, measure=measure)
            begin = end
        else:
            filled += part
    return pieces if begin == span[1] else [*pieces, (begin, span[1])]
