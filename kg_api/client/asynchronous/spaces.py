"""Embedding spaces with their models, and changing them while people search."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.call import Call, body_of, params_of, path_of
from kg_api.models.embedding.spaces import EmbeddingHealth, NewSpace, SpaceInfo, SpaceList
from kg_api.models.embedding.switching import (
    ChosenOntologies,
    SpaceActivation,
    SpaceBuild,
    SpaceBuilding,
    SpaceCheck,
    SpaceDropped,
    SpaceSwitched,
)
from kg_api.models.vocabulary import Provider


class AsyncSpaceMethods(AsyncSending):
    """Embedding spaces."""

    async def embedding_spaces(self) -> SpaceList:
        """List the embedding spaces and their models."""
        return await self._send(Call("GET", "/embedding/spaces", SpaceList))

    async def add_embedding_space(
        self, slug: str, *, provider: Provider, model: str | None = None, dimensions: int | None = None
    ) -> SpaceInfo:
        """Make a further embedding space beside those there are."""
        body = body_of(NewSpace, slug=slug, provider=provider, model=model, dimensions=dimensions)
        return await self._send(Call("POST", "/embedding/spaces", SpaceInfo, json=body))

    async def embedding_health(self) -> EmbeddingHealth:
        """Ask each space's model for an answer."""
        return await self._send(Call("POST", "/embedding/health", EmbeddingHealth))

    async def build_space(
        self,
        slug: str,
        *,
        ontologies: Sequence[str] | None = None,
        activate: bool = False,
        dry_run: bool = False,
    ) -> SpaceBuilding:
        """Build a space for ontologies, beside the one that answers; all of them when none is named."""
        path = path_of("embedding", "spaces", slug, "build")
        body = body_of(SpaceBuild, ontologies=ontologies, activate=activate, dry_run=dry_run)
        return await self._send(Call("POST", path, SpaceBuilding, json=body))

    async def check_space(self, slug: str, ontology: str | None = None) -> SpaceCheck:
        """Check whether what was built in a space can answer."""
        path = path_of("embedding", "spaces", slug, "check")
        return await self._send(Call("GET", path, SpaceCheck, params=params_of(ontology=ontology)))

    async def activate_space(
        self, slug: str, ontologies: Sequence[str] | None = None, *, accept_refused: bool = False
    ) -> SpaceSwitched:
        """Let what was built in a space answer, all in one transaction."""
        path = path_of("embedding", "spaces", slug, "activate")
        body = body_of(SpaceActivation, ontologies=ontologies, accept_refused=accept_refused)
        return await self._send(Call("POST", path, SpaceSwitched, json=body))

    async def rollback_space(self, slug: str, ontologies: Sequence[str] | None = None) -> SpaceSwitched:
        """Go back from a space to what answered before, in one transaction."""
        path = path_of("embedding", "spaces", slug, "rollback")
        body = body_of(ChosenOntologies, ontologies=ontologies)
        return await self._send(Call("POST", path, SpaceSwitched, json=body))

    async def drop_space(self, slug: str, ontology: str | None = None) -> SpaceDropped:
        """Remove a space, or one ontology's vectors in it."""
        path, params = path_of("embedding", "spaces", slug), params_of(ontology=ontology)
        return await self._send(Call("DELETE", path, SpaceDropped, params=params))
