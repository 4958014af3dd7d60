"""WordPiece tokenizer from a tokenizer.json. Only this module imports tokenizers."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer as TokenizersTokenizer

from kg_api.errors import ConfigurationError

CHARS_PER_TOKEN = 100
"""Above any ordinary text. Without a limit, 10 MB in one call take 1.8 GB of memory."""


def load_tokenizer(path: Path) -> TokenizersTokenizer:
    """Load a tokenizer.json without its truncation and padding."""
    try:
        tokenizer = TokenizersTokenizer.from_buffer(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} is not a tokenizer: {error}") from error
    tokenizer.no_truncation()  # truncation would be silent
    tokenizer.no_padding()  # padding to 512 tokens makes the packaged cross-encoder four times slower
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
    return tokenizer


class WordPiece:
    """WordPiece tokenizer. Thread-safe."""

    widest = 8

    def __init__(self, path: Path) -> None:
        self._tokenizer = load_tokenizer(path)
        self.special = self._tokenizer.num_special_tokens_to_add(is_pair=False)

    def max_characters(self, max_tokens: int) -> int:
        return CHARS_PER_TOKEN * min(max_tokens, 1000)

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return token ids with special tokens, and their offsets. Special tokens have (0, 0)."""
        found = self._tokenizer.encode(text)
        return found.ids, found.offsets

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)
