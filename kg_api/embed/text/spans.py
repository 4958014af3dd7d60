"""Cut a text into pieces that fit a model: at the best border near an even division, nothing lost."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

Span = tuple[int, int]
"""(start, end) in code points, end excluded."""

SLACK = 0.25
"""How far from an even division a better border may be, as a share of a piece."""
_SENTENCE_END = re.compile(r"""([.!?…]["'”’»)\]]*\s+|[。！？।؟۔]["”’」』)]*\s*)\Z""")


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """A token's place in the text. Tokens of one word have the same `word`."""

    start: int
    end: int
    word: int | None


@dataclass(frozen=True, slots=True)
class TokenMeasure:
    """How a model sees text."""

    tokens: Callable[[str], list[TokenSpan]]
    """The text's own tokens, without prefix and special ones."""
    fits: Callable[[str], bool]
    """Whether the model takes a text as it is, prefix and special tokens counted."""
    budget: int
    """Tokens that prefix and special ones leave for the text."""
    max_chars: int
    """A text longer than this is cut by length first, so that tokenising stays small."""


def cut(text: str, measure: TokenMeasure) -> list[Span]:
    """Cut text into pieces that fit, as even as good borders allow; the spans join to the whole text.

    A paragraph's end is the best border, then a sentence's, then white space, then a word's, then a token's.
    White space stays with the piece before it.
    """
    todo, done = [(0, len(text))] if text else [], list[Span]()
    while todo:
        start, end = todo.pop()
        piece = text[start:end]
        if end - start == 1 or measure.fits(piece):
            done.append((start, end))
        else:  # the parts are measured again: a word that was cut can have more tokens than before
            todo += [(start + a, start + b) for a, b in reversed(_divide(piece, measure))]
    return done


def _divide(text: str, measure: TokenMeasure) -> list[Span]:
    """Two or more parts, each shorter than the text."""
    if len(text) > measure.max_chars:
        cuts = _cuts_by_length(text, measure.max_chars)
    else:
        cuts = _cuts_by_tokens(text, measure.tokens(text), measure.budget)
    return list(pairwise([0, *(cuts or [len(text) // 2]), len(text)]))


def _cuts_by_length(text: str, longest: int) -> list[int]:
    cuts, done = list[int](), 0
    while (rest := len(text) - done) > longest:
        until = done + math.ceil(rest / math.ceil(rest / longest))
        low = until - longest // 4
        found = text.rfind("\n", low, until)
        found = text.rfind(" ", low, until) if found < 0 else found
        done = until if found < 0 else found + 1
        cuts.append(done)
    return cuts


def _cuts_by_tokens(text: str, tokens: list[TokenSpan], budget: int) -> list[int]:
    budget = max(1, min(budget, len(tokens) - 1))
    cuts, done = list[int](), 0
    while (rest := len(tokens) - done) > budget:
        ideal = rest / math.ceil(rest / budget)
        borders = _borders(tokens, done, ideal, budget)
        if not borders:
            break
        ranked = [(_quality(text, tokens[at - 1], tokens[at]), -abs(at - done - ideal), at) for at in borders]
        done = max(ranked)[-1]
        cuts.append(tokens[done].start)
    return cuts


def _borders(tokens: list[TokenSpan], done: int, ideal: float, budget: int) -> list[int]:
    """The tokens near an even division that a next piece can begin with; some tokens share a character."""
    first = done + max(1, math.ceil(ideal * (1 - SLACK)))
    last = max(first, done + min(budget, math.floor(ideal * (1 + SLACK))))
    begin = tokens[done].start
    return [at for at in range(first, last + 1) if begin < tokens[at].start < tokens[at].end]


def _quality(text: str, before: TokenSpan, after: TokenSpan) -> int:
    gap = text[before.end : after.start]
    if gap.count("\n") > 1:
        return 4
    if _SENTENCE_END.search(text, max(0, before.end - 4), after.start):
        return 3
    if gap:
        return 2
    return 1 if before.word != after.word else 0
