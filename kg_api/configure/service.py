"""The configuration of an ontology's embeddings: shown, set, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kg_api.configure.estimate import Estimator
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.configuration import write_configuration
from kg_api.graph.database import Graph
from kg_api.graph.due import DocumentAbout, SourceText, count_due
from kg_api.graph.jobs import ensure_job, request_job
from kg_api.graph.library import embedding_status
from kg_api.models.configuration import Cost, EmbeddingConfig, EmbeddingConfiguration, EmbeddingStarted
from kg_api.models.documents import DocumentRecord, EmbeddingStatus, SourceRecord
from kg_api.spaces.plans import Plan, plan_of, read_plan, read_plans
from kg_api.spaces.registry import SpaceRegistry

JOB_KIND = "source_embedding"


class ConfigurationService:
    """How ontologies are embedded."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry, estimator: Estimator) -> None:
        self._graph = graph
        self._spaces = spaces
        self._estimator = estimator

    def show(self, ontology: str) -> EmbeddingConfiguration:
        """The present configuration, and what making the missing and stale vectors takes.

        Raises:
            NotFound: there is no such ontology.
        """
        return self._told(read_plan(self._graph, ontology), [])

    def set(self, ontology: str, config: EmbeddingConfig, *, dry_run: bool) -> EmbeddingConfiguration:
        """Configure an ontology, which is made when it is not there; nothing is changed in a dry run.

        Raises:
            InvalidInput: there is no such space, or the configuration cannot be used.
        """
        plan = self._plan(ontology, config)
        self._estimator.require_usable(plan)
        if dry_run:
            told = self._told(plan, ["nothing was changed: this is a dry run"])
            return told.model_copy(update={"applied": False})
        write_configuration(self._graph, ontology, config)
        return self._told(plan, self._begun(plan))

    def cost_of_new(
        self, record: DocumentRecord, new: Sequence[SourceRecord]
    ) -> tuple[EmbeddingConfig, Cost]:
        """What embedding a document's new sources will take, as its ontology is configured."""
        plans = read_plans(self._graph, record.ontology)
        config = EmbeddingConfig()
        plan = plans.get(record.ontology) or plan_of(
            record.ontology, config, self._spaces.get(config.space).space
        )
        chosen = {
            source.source_id for source in (record.sources if plan.config.crosses_sources and new else new)
        }
        sources = [_text(record, source) for source in record.sources if source.source_id in chosen]
        about = DocumentAbout(record.title, json.loads(record.metadata))
        return plan.config, self._estimator.of_document(plan, sources, about)

    def embed(self, ontology: str) -> EmbeddingStarted:
        """Have the missing and stale sources of an ontology embedded now.

        Raises:
            NotFound: there is no such ontology.
        """
        plan = read_plan(self._graph, ontology)
        due = count_due(self._graph, ontology, plan.mark)
        return EmbeddingStarted(ontology=ontology, due=due, job_id=self._request(ontology, due))

    def status(self, ontology: str | None) -> EmbeddingStatus:
        """How many sources of one ontology, or of all, have the vectors they should have.

        Raises:
            NotFound: there is no such ontology.
        """
        plans = [read_plan(self._graph, ontology)] if ontology else [*read_plans(self._graph).values()]
        return embedding_status(self._graph, [plan.counted for plan in plans], ontology)

    def _plan(self, ontology: str, config: EmbeddingConfig) -> Plan:
        try:
            return plan_of(ontology, config, self._spaces.get(config.space).space)
        except NotFound as error:
            raise InvalidInput(f"{error}, and `kg admin embedding add` makes one") from None

    def _begun(self, plan: Plan) -> list[str]:
        due = count_due(self._graph, plan.ontology, plan.mark)
        if not due:
            return []
        if not plan.config.embed_on_ingest:
            command = f"kg admin source-embeddings generate --ontology {plan.ontology!r}"
            return [
                f"{due} sources are to be embedded, and embedding at ingestion is off: start it by {command}"
            ]
        return [f"a worker embeds {due} sources now: job {self._request(plan.ontology, due)}"]

    def _request(self, ontology: str, due: int) -> str | None:
        if not due:
            return None
        ensure_job(self._graph, JOB_KIND, ontology, total=due)
        return self._graph.transaction(lambda tx: request_job(tx, JOB_KIND, ontology, added=0))

    def _told(self, plan: Plan, notes: list[str]) -> EmbeddingConfiguration:
        status = embedding_status(self._graph, [plan.counted], plan.ontology)
        return EmbeddingConfiguration(
            ontology=plan.ontology,
            config=plan.config,
            dimensions=plan.space.dimensions,
            total=status.total,
            embedded=status.embedded,
            missing=status.missing,
            stale=status.stale,
            regeneration=self._estimator.of_ontology(plan, due=status.missing + status.stale),
            notes=[*notes, *self._estimator.advice(plan)],
        )


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
