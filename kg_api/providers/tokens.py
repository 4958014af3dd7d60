"""Token counts, and division of a text into pieces that fit a model."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, Protocol

from kg_api.errors import InvalidInput
from kg_api.providers.extras import describe_missing
from kg_api.text.borders import divide

Span = tuple[int, int]  # (start, end) in code points, end excluded

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


def fits(tokenizer: Tokenizer, text: str, max_tokens: int) -> bool:
    """Check if a model accepts the whole text."""
    if len(text) > tokenizer.max_characters(max_tokens):
        return False
    return tokenizer.count(text) + tokenizer.special <= max_tokens


def cut(tokenizer: Tokenizer, max_tokens: int, before: str, text: str) -> list[Span]:
    """Cut text into pieces of similar size that a model accepts after `before`. The spans join to the text.

    Boundaries are those of chunks: sentences or lines, then clauses, words, and characters.
    """
    most = tokenizer.max_characters(max_tokens) - len(before)
    budget = max_tokens - tokenizer.special - (tokenizer.count(before) if most > 0 else max_tokens)
    if budget < tokenizer.widest:
        raise InvalidInput(f"the chunk context leaves no room in {max_tokens} tokens. Shorten it")
    if not text or fits(tokenizer, before + text, max_tokens):
        return [(0, len(text))] if text else []

    def measure(text: str, start: int, end: int) -> int:
        return sum(tokenizer.count(text[at : min(at + most, end)]) for at in range(start, end, most))

    done, todo = list[Span](), [*reversed(divide(text, (0, len(text)), measure, budget))]
    while todo:
        start, end = todo.pop()
        # A piece may have too many characters, or more tokens alone than within the text.
        if end - start == 1 or fits(tokenizer, before + text[start:end], max_tokens):
            done.append((start, end))
        else:
            middle = (start + end) // 2
            todo += [(middle, end), (start, middle)]
    return done


def count_tokens(tokenizer: Tokenizer, max_tokens: int, prefix: str, texts: Iterable[str]) -> int:
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
        self._encoding = _load_cl100k()

    def max_characters(self, max_tokens: int) -> int:
        """Limit the length: bpe-openai accepts 200,000 tokens per call, and a character has up to four."""
        return min(6 * max_tokens, 50_000)

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


@cache
def _load_cl100k() -> Any:
    """Return the shared encoding of the process, which takes 96 MB."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from its own files
            import bpe_openai  # noqa: PLC0415 - an extra, and 75 MB

            return bpe_openai.get_encoding("cl100k_base")
    except ImportError:
        raise describe_missing("openai") from None


def query_pieces(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """Choose the pieces of a query that are not blank, or `QUERY_PIECES` evenly spaced pieces."""
    pieces = [piece for start, end in spans if not (piece := text[start:end]).isspace()]
    if len(pieces) <= QUERY_PIECES:
        return pieces
    step = (len(pieces) - 1) / (QUERY_PIECES - 1)
    return [pieces[round(at * step)] for at in range(QUERY_PIECES)]
