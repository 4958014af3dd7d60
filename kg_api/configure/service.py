"""The configuration of an ontology's embeddings: shown, set, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from kg_api.configure.embedding import EmbeddingRequests
from kg_api.configure.estimate import Estimator
from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.concept_vectors import count_concepts
from kg_api.graph.configuration import Configured, hold_configurations, hold_spaces, write_configuration
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.due import DocumentAbout, SourceText, refused_sources
from kg_api.graph.library import embedding_status
from kg_api.graph.spaces import Space, all_spaces, ensure_index
from kg_api.models.configuration import (
    Cost,
    EmbeddingConfig,
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    RefusedSources,
)
from kg_api.models.documents import DocumentRecord, EmbeddingStatus, SourceRecord
from kg_api.spaces.activation import configured_anew
from kg_api.spaces.plans import (
    Standing,
    plan_of,
    read_standing,
    read_standings,
    space_of_new,
    standing_of,
)

MOST_REFUSED = 1000


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
        return self._told(read_standing(self._graph, ontology), [])

    def change(
        self, ontology: str, change: EmbeddingConfigChange, *, dry_run: bool
    ) -> EmbeddingConfiguration:
        """Change what is named of an ontology's configuration; see `set`."""
        return self._configure(ontology, change.applied, dry_run=dry_run, activates=True)

    def set(
        self, ontology: str, config: EmbeddingConfig, *, dry_run: bool, activates: bool = True
    ) -> EmbeddingConfiguration:
        """Configure an ontology, which is made when it is not there; nothing is changed in a dry run.

        What answers now goes on to answer until what is configured is complete.

        Args:
            ontology: which.
            config: how it shall be embedded.
            dry_run: only say what would follow.
            activates: whether it answers by itself as soon as it is complete.

        Raises:
            InvalidInput: there is no such space, or the configuration cannot be used.
            Conflict: somebody else configured it at the same moment.
        """
        return self._configure(ontology, lambda _: config, dry_run=dry_run, activates=activates)

    def _configure(
        self,
        ontology: str,
        wanted: Callable[[EmbeddingConfig], EmbeddingConfig],
        *,
        dry_run: bool,
        activates: bool,
    ) -> EmbeddingConfiguration:
        spaces = all_spaces(self._graph)
        before = read_standings(self._graph, ontology).get(ontology)
        present = before.configured if before else None
        config = wanted(before.target.config if before else EmbeddingConfig(space=space_of_new(spaces).slug))
        _require_space(spaces, config.space)
        anew = configured_anew(present, config, answers=self._answers(before), activates=activates)
        standing = standing_of(ontology, anew, spaces)
        self._estimator.require_usable(standing.target)
        if dry_run:
            told = self._told(standing, ["nothing was changed: this is a dry run"])
            return told.model_copy(update={"applied": False})
        ensure_index(self._graph, standing.target.space)
        self._graph.transaction(lambda tx: _write(tx, ontology, present, anew))
        return self._told(standing, [*_beside(standing), *self._requests.begun(standing)])

    def cost_of_new(
        self, record: DocumentRecord, new: Sequence[SourceRecord]
    ) -> tuple[EmbeddingConfig, Cost]:
        """What embedding a document's new sources will take, as its ontology is configured."""
        known = read_standings(self._graph, record.ontology).get(record.ontology)
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
            standings = [read_standing(self._graph, ontology)]
        else:
            standings = [*read_standings(self._graph).values()]
        status = embedding_status(self._graph, [each.counted for each in standings], ontology)
        concepts = count_concepts(self._graph, [each.concept_plans[-1] for each in standings])
        return status.model_copy(update={"concepts": concepts})

    def refused(self, ontology: str) -> RefusedSources:
        """The sources that were set aside, with the reasons.

        Raises:
            NotFound: there is no such ontology.
        """
        standing = read_standing(self._graph, ontology)
        total = embedding_status(self._graph, [standing.counted], ontology).refused
        found = refused_sources(self._graph, ontology, standing.target.mark, limit=MOST_REFUSED)
        return RefusedSources(ontology=ontology, total=total, sources=found)

    def _answers(self, standing: Standing | None) -> bool:
        if standing is None:
            return False
        return embedding_status(self._graph, [standing.counted], standing.ontology).searchable > 0

    def _told(self, standing: Standing, notes: list[str]) -> EmbeddingConfiguration:
        plan, configured = standing.target, standing.configured
        status = embedding_status(self._graph, [standing.counted], plan.ontology)
        return EmbeddingConfiguration(
            ontology=plan.ontology,
            config=plan.config,
            dimensions=plan.space.dimensions,
            total=status.total,
            embedded=status.embedded,
            missing=status.missing,
            stale=status.stale,
            refused=status.refused,
            answering=standing.serving.config if standing.serving else None,
            previous=configured.previous.config(embed_on_ingest=configured.embed_on_ingest)
            if configured.previous
            else None,
            activates=configured.activates,
            paused=configured.paused,
            regeneration=self._estimator.of_ontology(plan, due=status.missing + status.stale),
            notes=[*notes, *_paused(standing), *self._estimator.advice(plan)],
        )


def _require_space(spaces: dict[str, Space], slug: str) -> None:
    if slug not in spaces or spaces[slug].dropping:
        state = "is being removed" if slug in spaces else "is not there"
        raise InvalidInput(
            f"the embedding space {slug!r} {state}; `kg admin spaces list` shows those there are, and "
            "`kg admin spaces create` makes one"
        )


def _write(tx: Transaction, ontology: str, present: Configured | None, anew: Configured) -> None:
    hold_spaces(tx, {layout.space for layout in anew.layouts})
    held = hold_configurations(tx, [ontology]).get(ontology)
    if held is not None and anew.target.key in held.leftovers:
        raise Conflict(f"what {ontology} had there is being removed: try again in a moment")
    if held not in (present, anew):  # the second when the transaction is repeated
        raise Conflict(f"{ontology} was configured by somebody else at this moment: look, and try again")
    write_configuration(tx, ontology, anew)


def _beside(standing: Standing) -> list[str]:
    if standing.serving is None:
        return []
    how = "by itself" if standing.configured.activates else "when you activate it"
    return [f"what is embedded now answers searches until all is made anew; then the new answers, {how}"]


def _paused(standing: Standing) -> list[str]:
    if not standing.configured.paused:
        return []
    command = f"kg admin source-embeddings generate --ontology {standing.ontology!r}"
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
