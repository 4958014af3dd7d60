"""The length of a text in words, and cutting a long text at its best borders without losing a character."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise

from kg_api.text.lines import NEWLINE, is_blank
from kg_api.text.sentences import sentence_borders

# Measured on the same 240 paragraphs in English and in another language (XQuAD): an English word is 1.95
# characters of Chinese and 5.7 of Thai. In the languages with spaces it is 0.8 to 1.4 words.
_TWO_A_WORD = re.compile("[\u2e80-\ua4cf\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff]+")
_SIX_A_WORD = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
_LONG_WORD = 10  # characters that count as one more word where no space comes: links, identifiers, data
_SIZE_WINDOW = 1 << 16
"""Characters looked at together, so that a text of many megabytes does not become a list of its words."""


def words(text: str, start: int = 0, end: int | None = None) -> int:
    """Count the words of text[start:end]; without spaces between words, characters are counted instead.

    What is joined never has more words than its parts together.
    """
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
"""Gives the offsets strictly inside text[start:end] where it may be cut, in order."""
Measure = Callable[[str, int, int], int]
"""How long text[start:end] is. What is joined is never longer than its parts together."""
Span = tuple[int, int]
_WORD = re.compile(r"\S+\s*")
_WORDS_OF_A_WRAPPED_LINE = 30  # above this the lines of a text are not lines of a paragraph
_CLUSTER_STEP = 50  # characters between two places where a word without end may be cut
_MAX_CLUSTER_LENGTH = 32
_JOINERS = "\u200d\ufe0e\ufe0f"
_SKIN_TONES = range(0x1F3FB, 0x1F400)


def blank_line_borders(text: str, start: int, end: int) -> Iterator[int]:
    blank_before = False
    for line, following in pairwise(chain((start,), line_borders(text, start, end), (end,))):
        blank = is_blank(text, line, following)
        if blank_before and not blank and line > start:
            yield line
        blank_before = blank


def line_borders(text: str, start: int, end: int) -> Iterator[int]:
    """At the beginning of each line."""
    found = (newline.end() for newline in NEWLINE.finditer(text, start, end))
    return (border for border in found if border < end)


def word_borders(text: str, start: int, end: int) -> Iterator[int]:
    """At the beginning of each word."""
    found = (word.start() for word in _WORD.finditer(text, start, end))
    return (border for border in found if border > start)


def character_borders(text: str, start: int, end: int) -> Iterator[int]:
    """Every few characters, not before one that belongs to the character on its left."""
    for border in range(start + _CLUSTER_STEP, end, _CLUSTER_STEP):
        shift = 0
        while shift < _MAX_CLUSTER_LENGTH and border + shift < end and _joins_left(text, border + shift):
            shift += 1
        if shift < _MAX_CLUSTER_LENGTH and border + shift < end:
            yield border + shift


def _joins_left(text: str, at: int) -> bool:
    character = text[at]
    return (
        character in _JOINERS
        or text[at - 1] == "\u200d"
        or ord(character) in _SKIN_TONES
        or unicodedata.category(character)[0] == "M"
    )


LINES: tuple[Borders, ...] = (blank_line_borders, line_borders, word_borders, character_borders)


def prose_levels(text: str, start: int, end: int, size: int) -> tuple[Borders, ...]:
    """Kinds of borders for prose of `size` words: sentences, unless each line is a paragraph by itself."""
    lines = 1 + sum(1 for _ in line_borders(text, start, end))
    if lines > 1 and size / lines > _WORDS_OF_A_WRAPPED_LINE:
        return (line_borders, sentence_borders, word_borders, character_borders)
    return (sentence_borders, line_borders, word_borders, character_borders)


def cut(
    text: str,
    span: Span,
    size: int,
    levels: Sequence[Borders],
    *,
    above: int,
    most: int,
    measure: Measure = words,
) -> list[Span]:
    """Cut text[start:end] of `size` words, or what else is measured, into pieces that join to it.

    Args:
        text: the whole text.
        span: start and end of the part to be cut.
        size: its words.
        levels: kinds of borders, the best first; the next is used for what the former leaves too long.
        above: what has at most this many words stays whole.
        most: the pieces have at most this many words, and are about equally long.
        measure: by what else than words.
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
