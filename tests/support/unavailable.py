from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from kg_api.errors import EmbeddingUnavailable
from kg_api.providers.embedding_port import Vectors
from kg_api.schemas.spaces import SpaceIdentity


class UnavailableEmbedder:
    def __init__(self, reason: str) -> None:
        self._reason = reason

    @property
    def identity(self) -> SpaceIdentity:
        return self._refuse()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:  # noqa: ARG002
        return self._refuse()

    def embed_query(self, text: str) -> Vectors:  # noqa: ARG002
        return self._refuse()

    def spans(self, text: str, before: str = "") -> list[tuple[int, int]]:  # noqa: ARG002
        return self._refuse()

    def count_tokens(self, texts: Sequence[str]) -> int:  # noqa: ARG002
        return self._refuse()

    def close(self) -> None: ...

    def _refuse(self) -> NoReturn:
        raise EmbeddingUnavailable(self._reason)
