"""How ontologies are embedded, and by which models."""

from __future__ import annotations

from typing import Any

from kg_api.client.call import Call, drop_unset, params_of, path_of, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.embedding.configuration import (
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    EmbeddingStarted,
)
from kg_api.models.embedding.spaces import EmbeddingHealth, NewSpace, SpaceInfo, SpaceList


def embedding_config(ontology: str) -> Call[EmbeddingConfiguration]:
    """Read how an ontology is embedded."""
    return Call("GET", path_of("ontologies", ontology, "embedding-config"), EmbeddingConfiguration)


def set_embedding_config(
    ontology: str, *, dry_run: bool = False, **config: Any
) -> Call[EmbeddingConfiguration]:
    """Change how an ontology is embedded; `config`: fields of EmbeddingConfig, None for the default."""
    return Call(
        "PUT",
        path_of("ontologies", ontology, "embedding-config"),
        EmbeddingConfiguration,
        params=params_of(dry_run=dry_run or None),
        json=valid(EmbeddingConfigChange, config).model_dump(exclude_unset=True),
    )


def embed_ontology(ontology: str) -> Call[EmbeddingStarted]:
    """Have embedded what is missing or stale."""
    return Call("POST", path_of("ontologies", ontology, "embeddings"), EmbeddingStarted)


def spaces() -> Call[SpaceList]:
    """List embedding spaces."""
    return Call("GET", "/embedding/spaces", SpaceList)


def add_space(**space: Any) -> Call[SpaceInfo]:
    """Make a further space; `space` are the fields of NewSpace, None for unset."""
    body = valid(NewSpace, drop_unset(space)).model_dump(exclude_unset=True)
    return Call("POST", "/embedding/spaces", SpaceInfo, json=body)


def embedding_health() -> Call[EmbeddingHealth]:
    """Ask whether the models answer."""
    return Call("POST", "/embedding/health", EmbeddingHealth)


class EmbeddingMethods(Sending):
    """Methods of the synchronous client."""

    def embedding_config(self, ontology: str) -> EmbeddingConfiguration:
        """Read how an ontology is embedded, what is stale, and what making it anew takes."""
        return self._send(embedding_config(ontology))

    def set_embedding_config(
        self, ontology: str, *, dry_run: bool = False, **config: Any
    ) -> EmbeddingConfiguration:
        """Change how an ontology is embedded; `config`: fields of EmbeddingConfig, those left out stay."""
        return self._send(set_embedding_config(ontology, dry_run=dry_run, **config))

    def embed_ontology(self, ontology: str) -> EmbeddingStarted:
        """Have embedded what is missing or stale, now."""
        return self._send(embed_ontology(ontology))

    def embedding_spaces(self) -> SpaceList:
        """List the embedding spaces and their models."""
        return self._send(spaces())

    def add_embedding_space(
        self, slug: str, *, provider: str, model: str | None = None, dimensions: int | None = None
    ) -> SpaceInfo:
        """Make a further embedding space beside those there are."""
        call = add_space(slug=slug, provider=provider, model=model, dimensions=dimensions)
        return self._send(call)

    def embedding_health(self) -> EmbeddingHealth:
        """Ask each space's model for an answer."""
        return self._send(embedding_health())


class AsyncEmbeddingMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def embedding_config(self, ontology: str) -> EmbeddingConfiguration:
        """Read how an ontology is embedded, what is stale, and what making it anew takes."""
        return await self._send(embedding_config(ontology))

    async def set_embedding_config(
        self, ontology: str, *, dry_run: bool = False, **config: Any
    ) -> EmbeddingConfiguration:
        """Change how an ontology is embedded; `config`: fields of EmbeddingConfig, those left out stay."""
        return await self._send(set_embedding_config(ontology, dry_run=dry_run, **config))

    async def embed_ontology(self, ontology: str) -> EmbeddingStarted:
        """Have embedded what is missing or stale, now."""
        return await self._send(embed_ontology(ontology))

    async def embedding_spaces(self) -> SpaceList:
        """List the embedding spaces and their models."""
        return await self._send(spaces())

    async def add_embedding_space(
        self, slug: str, *, provider: str, model: str | None = None, dimensions: int | None = None
    ) -> SpaceInfo:
        """Make a further embedding space beside those there are."""
        call = add_space(slug=slug, provider=provider, model=model, dimensions=dimensions)
        return await self._send(call)

    async def embedding_health(self) -> EmbeddingHealth:
        """Ask each space's model for an answer."""
        return await self._send(embedding_health())
