"""Changing the embedding space of ontologies while people search; making embeddings anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.call import Call, drop_unset, params_of, path_of, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.embedding.configuration import RefusedSources
from kg_api.models.embedding.regeneration import Regeneration, RegenerationStarted
from kg_api.models.embedding.switching import (
    ChosenOntologies,
    SpaceActivation,
    SpaceBuild,
    SpaceBuilding,
    SpaceCheck,
    SpaceDropped,
    SpaceSwitched,
)


def regenerate(key: str | None = None, **asked: Any) -> Call[RegenerationStarted]:
    """Make embeddings anew; `asked` are the fields of Regeneration, None for unset."""
    body = valid(Regeneration, drop_unset(asked)).model_dump(exclude_unset=True)
    headers = {} if key is None else {"Idempotency-Key": key}
    return Call("POST", "/embeddings/regenerate", RegenerationStarted, json=body, headers=headers)


def refused(ontology: str) -> Call[RefusedSources]:
    """Read what was set aside."""
    return Call("GET", path_of("ontologies", ontology, "refused"), RefusedSources)


def build_space(slug: str, **asked: Any) -> Call[SpaceBuilding]:
    """Build a space; `asked` are the fields of SpaceBuild, None for unset."""
    body = valid(SpaceBuild, drop_unset(asked)).model_dump(exclude_unset=True)
    return Call("POST", _path(slug, "build"), SpaceBuilding, json=body)


def check_space(slug: str, ontology: str | None) -> Call[SpaceCheck]:
    """Check what was built."""
    return Call("GET", _path(slug, "check"), SpaceCheck, params=params_of(ontology=ontology))


def activate_space(slug: str, **asked: Any) -> Call[SpaceSwitched]:
    """Let a space answer; `asked` are the fields of SpaceActivation, None for unset."""
    body = valid(SpaceActivation, drop_unset(asked)).model_dump(exclude_unset=True)
    return Call("POST", _path(slug, "activate"), SpaceSwitched, json=body)


def rollback_space(slug: str, ontologies: Sequence[str] | None) -> Call[SpaceSwitched]:
    """Go back to what answered before."""
    return Call("POST", _path(slug, "rollback"), SpaceSwitched, json=_choose(ontologies))


def drop_space(slug: str, ontology: str | None) -> Call[SpaceDropped]:
    """Remove a space."""
    return Call("DELETE", _path(slug), SpaceDropped, params=params_of(ontology=ontology))


def _list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _path(slug: str, *what: str) -> str:
    return path_of("embedding", "spaces", slug, *what)


def _choose(ontologies: Sequence[str] | None) -> dict[str, Any]:
    asked = drop_unset({"ontologies": None if ontologies is None else list(ontologies)})
    return valid(ChosenOntologies, asked).model_dump(exclude_unset=True)


class SwitchingMethods(Sending):
    """Methods of the synchronous client."""

    def regenerate_embeddings(
        self,
        ontology: str | None = None,
        *,
        kind: str = "source",
        selection: str = "due",
        force: bool = False,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> RegenerationStarted:
        """Make embeddings of one ontology, or of all: what is missing or stale; with `force` all."""
        asked = {"ontology": ontology, "type": kind, "selection": selection, "force": force}
        return self._send(regenerate(idempotency_key, **asked, dry_run=dry_run))

    def refused(self, ontology: str) -> RefusedSources:
        """Read which sources the model does not take, and why."""
        return self._send(refused(ontology))

    def build_space(
        self,
        slug: str,
        *,
        ontologies: Sequence[str] | None = None,
        activate: bool = False,
        dry_run: bool = False,
    ) -> SpaceBuilding:
        """Build a space for ontologies, beside the one that answers; all of them when none is named."""
        chosen = None if ontologies is None else list(ontologies)
        return self._send(build_space(slug, ontologies=chosen, activate=activate, dry_run=dry_run))

    def check_space(self, slug: str, ontology: str | None = None) -> SpaceCheck:
        """Check whether what was built in a space can answer."""
        return self._send(check_space(slug, ontology))

    def activate_space(
        self, slug: str, ontologies: Sequence[str] | None = None, *, accept_refused: bool = False
    ) -> SpaceSwitched:
        """Let what was built in a space answer, all in one transaction."""
        return self._send(activate_space(slug, ontologies=_list(ontologies), accept_refused=accept_refused))

    def rollback_space(self, slug: str, ontologies: Sequence[str] | None = None) -> SpaceSwitched:
        """Go back from a space to what answered before, in one transaction."""
        return self._send(rollback_space(slug, ontologies))

    def drop_space(self, slug: str, ontology: str | None = None) -> SpaceDropped:
        """Remove a space, or one ontology's vectors in it."""
        return self._send(drop_space(slug, ontology))


class AsyncSwitchingMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def regenerate_embeddings(
        self,
        ontology: str | None = None,
        *,
        kind: str = "source",
        selection: str = "due",
        force: bool = False,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> RegenerationStarted:
        """Make embeddings of one ontology, or of all: what is missing or stale; with `force` all."""
        asked = {"ontology": ontology, "type": kind, "selection": selection, "force": force}
        return await self._send(regenerate(idempotency_key, **asked, dry_run=dry_run))

    async def refused(self, ontology: str) -> RefusedSources:
        """Read which sources the model does not take, and why."""
        return await self._send(refused(ontology))

    async def build_space(
        self,
        slug: str,
        *,
        ontologies: Sequence[str] | None = None,
        activate: bool = False,
        dry_run: bool = False,
    ) -> SpaceBuilding:
        """Build a space for ontologies, beside the one that answers; all of them when none is named."""
        chosen = None if ontologies is None else list(ontologies)
        return await self._send(build_space(slug, ontologies=chosen, activate=activate, dry_run=dry_run))

    async def check_space(self, slug: str, ontology: str | None = None) -> SpaceCheck:
        """Check whether what was built in a space can answer."""
        return await self._send(check_space(slug, ontology))

    async def activate_space(
        self, slug: str, ontologies: Sequence[str] | None = None, *, accept_refused: bool = False
    ) -> SpaceSwitched:
        """Let what was built in a space answer, all in one transaction."""
        return await self._send(
            activate_space(slug, ontologies=_list(ontologies), accept_refused=accept_refused)
        )

    async def rollback_space(self, slug: str, ontologies: Sequence[str] | None = None) -> SpaceSwitched:
        """Go back from a space to what answered before, in one transaction."""
        return await self._send(rollback_space(slug, ontologies))

    async def drop_space(self, slug: str, ontology: str | None = None) -> SpaceDropped:
        """Remove a space, or one ontology's vectors in it."""
        return await self._send(drop_space(slug, ontology))
