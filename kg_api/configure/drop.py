"""Removing a space, or one ontology's vectors in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kg_api.errors import Conflict
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.configuration import (
    StoredConfiguration,
    hold_configurations,
    spaces_of_new,
    write_configuration,
)
from kg_api.graph.spaces.registry import Space, find_space
from kg_api.graph.spaces.removal import ask_for_cleanup, begin_dropping, forget_vectors
from kg_api.models.embedding.spaces import FIRST_IMAGE_SLUG, FIRST_SLUG
from kg_api.models.embedding.switching import SpaceDropped
from kg_api.spaces.plans import EmbeddingState, select_embedding_states

MAX_SHOWN = 10


class DropService:
    """Removes what nothing answers from."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def drop(self, slug: str, ontology: str | None = None) -> SpaceDropped:
        """Remove a space with all its vectors, or those of one ontology that nothing needs any more.

        Raises:
            NotFound: there is no such space or ontology.
            Conflict: it answers, is being built, or is for new ontologies.
        """
        space = find_space(self._graph, slug)
        chosen = select_embedding_states(self._graph, None if ontology is None else [ontology])
        if ontology is None:
            self._refuse_used(slug, chosen)
        job_id = self._graph.transaction(lambda tx: _drop(tx, space, chosen, whole=ontology is None))
        gone = [each.ontology for each in chosen if _goes_back_to(each.configured, slug)]
        notes = [f"{', '.join(gone)}: cannot be rolled back to it any more"] if gone else []
        if slug in {FIRST_SLUG, FIRST_IMAGE_SLUG} and ontology is None:
            notes.append("it comes back empty at the next start, for the model that the settings name")
        names = [each.ontology for each in chosen] if ontology else gone
        return SpaceDropped(slug=slug, ontologies=names, job_id=job_id, notes=notes)

    def _refuse_used(self, slug: str, embedding_states: Sequence[EmbeddingState]) -> None:
        using = [
            each.ontology
            for each in embedding_states
            if slug in {plan.space.slug for plan in (*each.plans, *each.image_plans)}
        ]
        if using:
            told = ", ".join(using[:MAX_SHOWN]) + (" and more" if len(using) > MAX_SHOWN else "")
            raise Conflict(f"{slug} is used by {told}: activate another space for them first, or roll back")
        if slug in spaces_of_new(self._graph).values():
            raise Conflict(
                f"{slug} is the space of new ontologies: activate another one first, for all of them"
            )


def _goes_back_to(configured: StoredConfiguration, slug: str) -> bool:
    previous = configured.previous
    return (previous is not None and previous.space == slug) or configured.images.previous == slug


def _without_previous(configured: StoredConfiguration, space: Space) -> StoredConfiguration:
    if space.is_of_images:
        return replace(configured, images=replace(configured.images, previous=None))
    return replace(configured, previous=None)


def _drop(tx: Transaction, space: Space, chosen: Sequence[EmbeddingState], *, whole: bool) -> str:
    if whole:
        begin_dropping(tx, space.slug)  # it is locked before the ontologies, as whoever begins to use it does
    held = hold_configurations(tx, [each.ontology for each in chosen])
    for name, configured in held.items():
        unused = [slot.key for slot in space.slots if slot.key not in configured.kept_up]
        if whole and len(unused) < len(space.slots):
            raise Conflict(f"{name} has just started using {space.slug}: check, and try again")
        if not unused:
            raise Conflict(f"{name} still uses all of its vectors in {space.slug}")
        if _goes_back_to(configured, space.slug):
            write_configuration(tx, name, _without_previous(configured, space))
        if not whole:
            forget_vectors(tx, name, unused)
    return ask_for_cleanup(tx)
