"""The configuration of an ontology's embeddings: shown, set, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from kg_api.configure.embedding import EmbeddingRequests
from kg_api.configure.estimate import Estimator
from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.concepts.vectors import count_concepts
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents.library import embedding_status
from kg_api.graph.images.vectors import count_images
from kg_api.graph.relations.vectors import count_edges
from kg_api.graph.spaces.configuration import (
    ImageSpaces,
    StoredConfiguration,
    hold_configurations,
    hold_spaces,
    write_configuration,
)
from kg_api.graph.spaces.configuration import space_of_new as space_of_new_ontologies
from kg_api.graph.spaces.due import DocumentAbout, SourceText, read_refused_sources
from kg_api.graph.spaces.registry import Space, all_spaces, ensure_index
from kg_api.models.embedding.configuration import (
    Cost,
    EmbeddingConfig,
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    RefusedSources,
)
from kg_api.models.library.documents import DocumentRecord, EmbeddingStatus, SourceRecord
from kg_api.spaces.activation import reconfigure
from kg_api.spaces.first import space_of_new
from kg_api.spaces.plans import (
    EmbeddingState,
    embedding_state_of,
    plan_of,
    read_embedding_state,
    read_embedding_states,
)

MAX_REJECTED = 1000
Along = Callable[[Transaction], object]
"""Writes something else."""


class ConfigurationService:
    """How ontologies are embedded."""

    def __init__(self, graph: Graph, estimator: Estimator, requests: EmbeddingRequests) -> None:
        self._graph = graph
        self._estimator = estimator
        self._requests = requests

    def show(self, ontology: str) -> EmbeddingConfiguration:
        """The present configuration, and what making the missing and stale vectors takes.

        Raises:
            NotFound: there is no such ontology.
        """
        return self._present(read_embedding_state(self._graph, ontology), [])

    def change(
        self, ontology: str, change: EmbeddingConfigChange, *, dry_run: bool
    ) -> EmbeddingConfiguration:
        """Change what is named of an ontology's configuration; see `set`."""
        return self._configure(ontology, change.applied, dry_run=dry_run, activates=True)

    def set(
        self,
        ontology: str,
        config: EmbeddingConfig,
        *,
        dry_run: bool,
        activates: bool = True,
        along: Along = lambda _: None,
    ) -> EmbeddingConfiguration:
        """Configure an ontology, which is made when it is not there; nothing is changed in a dry run.

        What answers now goes on to answer until what is configured is complete.

        Args:
            ontology: which.
            config: how it shall be embedded.
            dry_run: only say what would follow.
            activates: whether it answers by itself as soon as it is complete.
            along: what else is written in the same transaction, which may run twice.

        Raises:
            InvalidInput: there is no such space, or the configuration cannot be used.
            Conflict: somebody else configured it at the same moment.
        """
        return self._configure(ontology, lambda _: config, dry_run=dry_run, activates=activates, along=along)

    def _configure(
        self,
        ontology: str,
        wanted: Callable[[EmbeddingConfig], EmbeddingConfig],
        *,
        dry_run: bool,
        activates: bool,
        along: Along = lambda _: None,
    ) -> EmbeddingConfiguration:
        spaces = all_spaces(self._graph)
        before = read_embedding_states(self._graph, ontology).get(ontology)
        present = before.configured if before else None
        config = wanted(before.target.config if before else EmbeddingConfig(space=space_of_new(spaces).slug))
        _require_space(spaces, config.space)
        anew = reconfigure(present, config, answers=self._answers(before), activates=activates)
        if present is None:
            anew = replace(anew, images=ImageSpaces(space_of_new_ontologies(self._graph, "image")))
        embedding_state = embedding_state_of(ontology, anew, spaces)
        self._estimator.require_usable(embedding_state.target)
        if dry_run:
            told = self._present(embedding_state, ["nothing was changed: this is a dry run"])
            return told.model_copy(update={"applied": False})
        ensure_index(self._graph, embedding_state.target.space)

        def write(tx: Transaction) -> None:
            _write(tx, ontology, present, anew)
            along(tx)

        self._graph.transaction(write)
        return self._present(
            embedding_state, [*_beside(embedding_state), *self._requests.begun(embedding_state)]
        )

    def cost_of_new(
        self, record: DocumentRecord, new: Sequence[SourceRecord]
    ) -> tuple[EmbeddingConfig, Cost]:
        """What embedding a document's new sources will take, as its ontology is configured."""
        known = read_embedding_states(self._graph, record.ontology).get(record.ontology)
        plan = known.target if known else None
        if plan is None:
            space = space_of_new(all_spaces(self._graph))
            plan = plan_of(record.ontology, EmbeddingConfig(space=space.slug), space)
        chosen = {
            source.source_id for source in (record.sources if plan.config.crosses_sources and new else new)
        }
        sources = [_text(record, source) for source in record.sources if source.source_id in chosen]
        about = DocumentAbout(record.title, json.loads(record.metadata))
        return plan.config, self._estimator.of_document(plan, sources, about)

    def status(self, ontology: str | None) -> EmbeddingStatus:
        """How many sources of one ontology, or of all, have the vectors they should have.

        Raises:
            NotFound: there is no such ontology.
        """
        if ontology:
            embedding_states = [read_embedding_state(self._graph, ontology)]
        else:
            embedding_states = [*read_embedding_states(self._graph).values()]
        status = embedding_status(self._graph, [each.counted for each in embedding_states], ontology)
        concepts = count_concepts(self._graph, [each.concept_plans[-1] for each in embedding_states])
        images = count_images(
            self._graph, [plan for each in embedding_states for plan in each.image_plans[-1:]]
        )
        plans = [plan for each in embedding_states for plan in each.target_edge_plans]
        edges = count_edges(self._graph, plans)
        return status.model_copy(update={"concepts": concepts, "images": images, "edges": edges})

    def refused(self, ontology: str) -> RefusedSources:
        """The sources that were set aside, with the reasons.

        Raises:
            NotFound: there is no such ontology.
        """
        embedding_state = read_embedding_state(self._graph, ontology)
        total = embedding_status(self._graph, [embedding_state.counted], ontology).refused
        found = read_refused_sources(self._graph, ontology, embedding_state.target.mark, limit=MAX_REJECTED)
        return RefusedSources(ontology=ontology, total=total, sources=found)

    def _answers(self, embedding_state: EmbeddingState | None) -> bool:
        if embedding_state is None:
            return False
        return (
            embedding_status(self._graph, [embedding_state.counted], embedding_state.ontology).searchable > 0
        )

    def _present(self, embedding_state: EmbeddingState, notes: list[str]) -> EmbeddingConfiguration:
        plan, configured = embedding_state.target, embedding_state.configured
        status = embedding_status(self._graph, [embedding_state.counted], plan.ontology)
        return EmbeddingConfiguration(
            ontology=plan.ontology,
            config=plan.config,
            dimensions=plan.space.dimensions,
            **status.model_dump(include={"total", "embedded", "missing", "stale", "refused"}),
            answering=embedding_state.serving.config if embedding_state.serving else None,
            previous=configured.previous.config(embed_on_ingest=configured.embed_on_ingest)
            if configured.previous
            else None,
            activates=configured.activates,
            paused=configured.paused,
            regeneration=self._estimator.of_ontology(plan, due=status.missing + status.stale),
            notes=[*notes, *_note_paused(embedding_state), *self._estimator.advice(plan)],
        )


def _require_space(spaces: dict[str, Space], slug: str) -> None:
    if slug in spaces and spaces[slug].is_of_images:
        raise InvalidInput(
            f"the embedding space {slug!r} is of pictures: `kg admin spaces build {slug}` uses it for them"
        )
    if slug not in spaces or spaces[slug].dropping:
        state = "is being removed" if slug in spaces else "is not there"
        raise InvalidInput(
            f"the embedding space {slug!r} {state}; `kg admin spaces list` shows the existing ones, and "
            "`kg admin spaces create` makes one"
        )


def _write(
    tx: Transaction, ontology: str, present: StoredConfiguration | None, anew: StoredConfiguration
) -> None:
    hold_spaces(tx, {layout.space for layout in anew.layouts})
    held = hold_configurations(tx, [ontology]).get(ontology)
    if held is not None and anew.target.key in held.leftovers:
        raise Conflict(f"what {ontology} had there is being removed: try again in a moment")
    if held not in (present, anew):  # the second when the transaction is repeated
        raise Conflict(f"{ontology} was reconfigured by someone else at the same time: check, and try again")
    write_configuration(tx, ontology, anew)


def _beside(embedding_state: EmbeddingState) -> list[str]:
    if embedding_state.serving is None:
        return []
    how = "by itself" if embedding_state.configured.activates else "when you activate it"
    return [f"what is embedded now answers searches until all is made anew; then the new answers, {how}"]


def _note_paused(embedding_state: EmbeddingState) -> list[str]:
    if not embedding_state.configured.paused:
        return []
    command = f"kg admin source-embeddings generate --ontology {embedding_state.ontology!r}"
    return [f"its last job was cancelled, so nothing is embedded by itself; begin again by {command}"]


def _text(record: DocumentRecord, source: SourceRecord) -> SourceText:
    return SourceText(
        source.source_id,
        record.document_id,
        source.paragraph,
        source.heading,
        source.start,
        source.full_text,
        source.content_hash,
    )
