"""Which tokenizer a model has."""

from __future__ import annotations

from kg_api.embed.catalogue import DEFAULT
from kg_api.embed.known import KnownModel
from kg_api.embed.local.packaged import TOKENIZER, ensure_packaged
from kg_api.embed.text.tokens import Bytes, Cl100k, Tokenizer
from kg_api.settings import Settings


def tokenizer_of(model: KnownModel, settings: Settings) -> Tokenizer:
    """Load the tokenizer of a provider's model.

    Raises:
        ConfigurationError: its package is not installed, or its file cannot be stored.
        ManagedProcessError: its file cannot be fetched.
    """
    match model.tokenizer:
        case "cl100k":
            return Cl100k()
        case "wordpiece":  # that of bert-base-uncased, which the packaged model has too
            from kg_api.embed.text.wordpiece import WordPiece  # noqa: PLC0415 - tokenizers takes its time to import

            return WordPiece(ensure_packaged(DEFAULT, settings.cache) / TOKENIZER)
        case "bytes":
            return Bytes()
