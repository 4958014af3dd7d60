"""The tokenizer of BERT and its kin, from a tokenizer.json. Only this module imports tokenizers."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer as TokenizersTokenizer

from kg_api.errors import ConfigurationError
from kg_api.providers.tokens import TokenSpan

CHARS_PER_TOKEN = 100
"""No ordinary text has more. Without a bound, 10 MB in one call take 1.8 GB to tokenise."""


class WordPiece:
    """Ready to use from any number of threads at once."""

    widest = 8

    def __init__(self, path: Path) -> None:
        """Load a tokenizer.json.

        Raises:
            ConfigurationError: it is none.
        """
        try:
            self._tokenizer = TokenizersTokenizer.from_buffer(path.read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{path} is not a tokenizer: {error}") from error
        self._tokenizer.no_truncation()  # a text is never cut silently
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
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
