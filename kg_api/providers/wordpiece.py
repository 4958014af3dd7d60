"""The tokenizer of BERT and its kin, from a tokenizer.json. Only this module imports tokenizers."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer as TokenizersTokenizer

from kg_api.errors import ConfigurationError
from kg_api.providers.tokens import TokenSpan

CHARS_PER_TOKEN = 100
"""No ordinary text has more. Without a bound, 10 MB in one call take 1.8 GB to tokenise."""


def load_tokenizer(path: Path) -> TokenizersTokenizer:
    """Load a tokenizer.json without its truncation and padding."""
    try:
        tokenizer = TokenizersTokenizer.from_buffer(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} is not a tokenizer: {error}") from error
    tokenizer.no_truncation()  # a text is never cut silently
    tokenizer.no_padding()  # padding each pair to 512 costs the packaged cross-encoder four times the time
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
    return tokenizer


class WordPiece:
    """Ready to use from any number of threads at once."""

    widest = 8

    def __init__(self, path: Path) -> None:
        self._tokenizer = load_tokenizer(path)
        self.special = self._tokenizer.num_special_tokens_to_add(is_pair=False)

    def max_characters(self, max_tokens: int) -> int:
        return CHARS_PER_TOKEN * min(max_tokens, 1000)

    def encoded(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids, special ones included, and their places in the text; (0, 0) is that of special ones."""
        found = self._tokenizer.encode(text)
        return found.ids, found.offsets

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def tokens(self, text: str) -> list[TokenSpan]:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [TokenSpan(*place, word) for place, word in zip(found.offsets, found.word_ids, strict=True)]
