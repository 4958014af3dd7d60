"""Token counts, and division of a text into pieces that fit a model."""

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

Span = tuple[int, int]  # (start, end) in code points, end excluded

SLACK = 0.25  # maximum distance of a boundary from an even division, as a share of a piece
_SENTENCE_END = re.compile(r"""([.!?…]["'”’»)\]]*\s+|[。！？।؟۔]["”’」』)]*\s*)\Z""")


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """Offsets of a token. Tokens of the same word have the same `word`."""

    start: int
    end: int
    word: int | None


@dataclass(frozen=True, slots=True)
class TokenMeasure:
    tokens: Callable[[str], list[TokenSpan]]  # tokens of the text without prefix and special tokens
    fits: Callable[[str], bool]  # whether the model accepts a text, with prefix and special tokens
    budget: int  # tokens for the text without prefix and special tokens
    max_chars: int  # longer texts are first cut by length, to limit the tokeniser's memory


def cut(text: str, measure: TokenMeasure) -> list[Span]:
    """Cut text into pieces of similar size that fit. The spans join to the whole text.

    Preferred boundaries are paragraphs, sentences, whitespace, words and tokens, in this order. Whitespace
    belongs to the piece before it.
    """
    todo, done = [(0, len(text))] if text else [], list[Span]()
    while todo:
        start, end = todo.pop()
        piece = text[start:end]
        if end - start == 1 or measure.fits(piece):
            done.append((start, end))
        else:  # measure again: a cut word can have more tokens
            todo += [(start + a, start + b) for a, b in reversed(_divide(piece, measure))]
    return done


def _divide(text: str, measure: TokenMeasure) -> list[Span]:
    """Return two or more parts, each shorter than the text."""
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
        # Tokens near an even division at which a piece can begin. Some tokens share a character.
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


# Interface of tokenizers

QUERY_PIECES = 8
"""Embedded pieces of a very long query, evenly spaced. 8 pieces of 512 tokens contain about 3,000 words."""


class Tokenizer(Protocol):
    """Tokenizer of a model. Counts exclude special tokens."""

    @property
    def special(self) -> int:  # tokens added to each text
        ...

    @property
    def widest(self) -> int:
        """Maximum of tokens per character, which is the minimum useful budget."""
        ...

    def max_characters(self, max_tokens: int) -> int:
        """Return the maximum length of a text to tokenise in one call."""
        ...

    def count(self, text: str) -> int:
        """Count the tokens of a text up to `max_characters`."""
        ...

    def tokens(self, text: str) -> list[TokenSpan]: ...


def fits(tokenizer: Tokenizer, text: str, max_tokens: int) -> bool:
    """Check if a model accepts the whole text."""
    if len(text) > tokenizer.max_characters(max_tokens):
        return False
    return tokenizer.count(text) + tokenizer.special <= max_tokens


def measure(tokenizer: Tokenizer, max_tokens: int, before: str) -> TokenMeasure:
    """Return the measure of texts that follow `before`."""
    most = tokenizer.max_characters(max_tokens) - len(before)
    used = tokenizer.special + (tokenizer.count(before) if most > 0 else max_tokens)
    if max_tokens - used < tokenizer.widest:
        raise InvalidInput(f"the chunk context leaves no room in {max_tokens} tokens. Shorten it")
    return TokenMeasure(
        tokens=tokenizer.tokens,
        fits=lambda text: fits(tokenizer, before + text, max_tokens),
        budget=max_tokens - used,
        max_chars=most,
    )


def total(tokenizer: Tokenizer, max_tokens: int, prefix: str, texts: Iterable[str]) -> int:
    """Count the tokens of texts with a prefix. Long texts are counted in pieces, which adds a few tokens."""
    most = tokenizer.max_characters(max_tokens)
    each = (prefix + text for text in texts)
    pieces = (text[at : at + most] for text in each for at in range(0, max(len(text), 1), most))
    return sum(tokenizer.count(piece) + tokenizer.special for piece in pieces)


class Bytes:
    """Tokenizer for unknown models: each byte counts as a token, the maximum of all tokenizers.

    The count is three to five times too high for English. It includes the normalised form of characters.
    """

    special = 4
    widest = 33  # for U+FDFA, which is normalised to four words

    def max_characters(self, max_tokens: int) -> int:
        return max_tokens

    def count(self, text: str) -> int:
        return len(text) if text.isascii() else sum(map(_count_bytes, text))

    def tokens(self, text: str) -> list[TokenSpan]:
        """Return the tokens with their offsets. All tokens of a character have its offsets."""
        words = (
            (at, word)
            for word, found in enumerate(re.finditer(r"\w+|\W", text))
            for at in range(*found.span())
        )
        return [TokenSpan(at, at + 1, word) for at, word in words for _ in range(_count_bytes(text[at]))]


@lru_cache(maxsize=4096)
def _count_bytes(character: str) -> int:
    plain = len(character.encode(errors="replace"))
    return max(plain, len(unicodedata.normalize("NFKC", character).encode(errors="replace")))


class Cl100k:
    """Tokenizer cl100k_base of OpenAI, by bpe-openai: linear time, and the ranks are in the package."""

    special = 0
    widest = 4

    def __init__(self) -> None:
        """Load the tokenizer: 0.6 s for the first instance of a process."""
        self._encoding = _cl100k()

    def max_characters(self, max_tokens: int) -> int:
        """Limit the length: bpe-openai accepts 200,000 tokens per call, and a character has up to four."""
        return min(6 * max_tokens, 50_000)

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))

    def tokens(self, text: str) -> list[TokenSpan]:
        """Return the tokens with their offsets. Tokens of one character have the same offsets."""
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
    """Return the shared encoding of the process, which takes 96 MB."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from its own files
            import bpe_openai  # noqa: PLC0415 - an extra, and 75 MB

            return bpe_openai.get_encoding("cl100k_base")
    except ImportError:
        raise missing("openai") from None


def query_pieces(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """Choose the pieces of a query that are not blank, or `QUERY_PIECES` evenly spaced pieces."""
    pieces = [piece for start, end in spans if not (piece := text[start:end]).isspace()]
    if len(pieces) <= QUERY_PIECES:
        return pieces
    step = (len(pieces) - 1) / (QUERY_PIECES - 1)
    return [pieces[round(at * step)] for at in range(QUERY_PIECES)]
