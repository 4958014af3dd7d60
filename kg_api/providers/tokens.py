"""Counting tokens, and cutting a text into pieces that fit a model."""

from __future__ import annotations

import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Any, Protocol

from kg_api.errors import InvalidInput
from kg_api.providers.extras import missing

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
        cuts, done = list[int](), 0
        while (rest := len(text) - done) > measure.max_chars:
            until = done + math.ceil(rest / math.ceil(rest / measure.max_chars))
            low = until - measure.max_chars // 4
            found = text.rfind("\n", low, until)
            found = text.rfind(" ", low, until) if found < 0 else found
            done = until if found < 0 else found + 1
            cuts.append(done)
    else:
        cuts = _cuts_by_tokens(text, measure.tokens(text), measure.budget)
    return list(pairwise([0, *(cuts or [len(text) // 2]), len(text)]))


def _cuts_by_tokens(text: str, tokens: list[TokenSpan], budget: int) -> list[int]:
    budget = max(1, min(budget, len(tokens) - 1))
    cuts, done = list[int](), 0
    while (rest := len(tokens) - done) > budget:
        ideal = rest / math.ceil(rest / budget)
        # The tokens near an even division that a next piece can begin with; some tokens share a character
        first = done + max(1, math.ceil(ideal * (1 - SLACK)))
        last = max(first, done + min(budget, math.floor(ideal * (1 + SLACK))))
        begin = tokens[done].start
        borders = [at for at in range(first, last + 1) if begin < tokens[at].start < tokens[at].end]
        if not borders:
            break
        ranked = [(_quality(text, tokens[at - 1], tokens[at]), -abs(at - done - ideal), at) for at in borders]
        done = max(ranked)[-1]
        cuts.append(tokens[done].start)
    return cuts


def _quality(text: str, before: TokenSpan, after: TokenSpan) -> int:
    gap = text[before.end : after.start]
    if gap.count("\n") > 1:
        return 4
    if _SENTENCE_END.search(text, max(0, before.end - 4), after.start):
        return 3
    if gap:
        return 2
    return 1 if before.word != after.word else 0


# How models see text: their tokenizers behind one small port.

QUERY_PIECES = 8
"""Pieces of a very long question that are embedded, spread evenly; 8 of 512 tokens hold some 3000 words."""


class Tokenizer(Protocol):
    """Counts as the model does, special tokens apart."""

    @property
    def special(self) -> int:
        """Tokens that are put around each text."""
        ...

    @property
    def widest(self) -> int:
        """As many tokens as any one character has: the least room that is of use."""
        ...

    def max_characters(self, max_tokens: int) -> int:
        """How long a text of so many tokens can be; a longer one is not tokenised in one go."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text of at most so many characters."""
        ...

    def tokens(self, text: str) -> list[TokenSpan]:
        """The tokens of such a text with their places."""
        ...


def fits(tokenizer: Tokenizer, text: str, max_tokens: int) -> bool:
    """Whether a model of `max_tokens` takes the whole text."""
    if len(text) > tokenizer.max_characters(max_tokens):
        return False
    return tokenizer.count(text) + tokenizer.special <= max_tokens


def measure(tokenizer: Tokenizer, max_tokens: int, before: str) -> TokenMeasure:
    """How long texts are when they stand behind `before`."""
    most = tokenizer.max_characters(max_tokens) - len(before)
    used = tokenizer.special + (tokenizer.count(before) if most > 0 else max_tokens)
    if max_tokens - used < tokenizer.widest:
        raise InvalidInput(f"what stands before the text leaves no room in {max_tokens} tokens; shorten it")
    return TokenMeasure(
        tokens=tokenizer.tokens,
        fits=lambda text: fits(tokenizer, before + text, max_tokens),
        budget=max_tokens - used,
        max_chars=most,
    )


def total(tokenizer: Tokenizer, max_tokens: int, prefix: str, texts: Iterable[str]) -> int:
    """Count the tokens of texts behind a prefix; very long ones in pieces, a few tokens too many."""
    most = tokenizer.max_characters(max_tokens)
    each = (prefix + text for text in texts)
    pieces = (text[at : at + most] for text in each for at in range(0, max(len(text), 1), most))
    return sum(tokenizer.count(piece) + tokenizer.special for piece in pieces)


class Bytes:
    """For models whose tokenizer is not known: a byte is a token, and no tokenizer makes more of a text.

    Three to five times too careful for English; what a character may be normalised to counts too.
    """

    special = 4
    widest = 33
    """Of U+FDFA, which is normalised to four words."""

    def max_characters(self, max_tokens: int) -> int:
        return max_tokens

    def count(self, text: str) -> int:
        return len(text) if text.isascii() else sum(map(_bytes_of, text))

    def tokens(self, text: str) -> list[TokenSpan]:
        """See `Tokenizer`. A character's tokens share its place."""
        words = (
            (at, word)
            for word, found in enumerate(re.finditer(r"\w+|\W", text))
            for at in range(*found.span())
        )
        return [TokenSpan(at, at + 1, word) for at, word in words for _ in range(_bytes_of(text[at]))]


@lru_cache(maxsize=4096)
def _bytes_of(character: str) -> int:
    plain = len(character.encode(errors="replace"))
    return max(plain, len(unicodedata.normalize("NFKC", character).encode(errors="replace")))


class Cl100k:
    """OpenAI's cl100k_base, by bpe-openai: linear on any text, and the ranks are in the package."""

    special = 0
    widest = 4

    def __init__(self) -> None:
        """Load the tokenizer: 0.6 s for the first time in a process."""
        self._encoding = _cl100k()

    def max_characters(self, max_tokens: int) -> int:
        """See `Tokenizer`; bpe-openai takes 200,000 tokens at once, and a character has up to four."""
        return min(6 * max_tokens, 50_000)

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))

    def tokens(self, text: str) -> list[TokenSpan]:
        """See `Tokenizer`. Tokens that share a character have its place in common."""
        pieces = self._encoding.decode_tokens_bytes(self._encoding.encode_ordinary(text))
        ends = list(accumulate(map(len, pieces)))
        places = [
            at
            for at, character in enumerate(text)
            for _ in range(len(character.encode(errors="surrogatepass")))
        ]
        return [
            TokenSpan(places[end - len(piece)], places[end - 1] + 1, word)
            for word, (end, piece) in enumerate(zip(ends, pieces, strict=True))
        ]


@cache
def _cl100k() -> Any:
    """One for all embedders of a process: it takes 96 MB."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of how it opens its own files
            import bpe_openai  # noqa: PLC0415 - an extra, and 75 MB

            return bpe_openai.get_encoding("cl100k_base")
    except ImportError:
        raise missing("openai") from None


def query_pieces(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """The pieces of a question to be embedded: all that say something, or an even sample of very many."""
    pieces = [piece for start, end in spans if not (piece := text[start:end]).isspace()]
    if len(pieces) <= QUERY_PIECES:
        return pieces
    step = (len(pieces) - 1) / (QUERY_PIECES - 1)
    return [pieces[round(at * step)] for at in range(QUERY_PIECES)]
