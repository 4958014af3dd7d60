"""Asking for embeddings: of one ontology, or of many, and what it will take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kg_api.configure.estimate import Estimator
from kg_api.errors import Conflict
from kg_api.graph.concept_vectors import (
    ConceptsWanted,
    count_concepts,
    count_due_concepts,
    retry_refused_concepts,
    want_concepts,
)
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.due import count_due, retry_refused
from kg_api.graph.extraction_config import retry_unread
from kg_api.graph.idempotency import once
from kg_api.graph.job_control import RETRIED
from kg_api.graph.job_records import CONCEPT_EMBEDDING, EXTRACTION
from kg_api.graph.jobs import find_job, is_asked_for, request_job, retry_job
from kg_api.graph.library import embedding_status
from kg_api.models.configuration import Cost, EmbeddingStarted
from kg_api.models.identity import digest
from kg_api.models.jobs import Job
from kg_api.models.regeneration import EmbeddedKind, Regenerated, Regeneration, RegenerationStarted
from kg_api.plural import counted
from kg_api.spaces.activation import activate_complete
from kg_api.spaces.plans import Standing, read_standing, read_standings

JOB_KINDS: Final[dict[EmbeddedKind, str]] = {"source": "source_embedding", "concept": CONCEPT_EMBEDDING}
"""The job of each kind of thing that is embedded."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What is to be made of one kind in one ontology."""

    standing: Standing
    type: EmbeddedKind
    due: int


class EmbeddingRequests:
    """Makes the jobs that embed."""

    def __init__(self, graph: Graph, estimator: Estimator) -> None:
        self._graph = graph
        self._estimator = estimator

    def begun(self, standing: Standing) -> list[str]:
        """Start what a new configuration makes due, unless that waits to be asked for; say what was done."""
        parts = [part for part in self._parts(standing, Regeneration(type="all")) if part.due]
        if not parts:
            activate_complete(self._graph, standing)
            return []
        if not standing.target.config.embed_on_ingest:
            told = " and ".join(counted(part.due, part.type) for part in parts)
            command = f"kg admin source-embeddings generate --ontology {standing.ontology!r}"
            return [f"still to be embedded: {told}; but embedding at ingestion is off: start it by {command}"]
        ids = self._graph.transaction(lambda tx: [self._request(tx, part, Regeneration()) for part in parts])
        return [
            f"a worker embeds {counted(part.due, part.type)} now: job {job_id}"
            for part, job_id in zip(parts, ids, strict=True)
        ]

    def embed(self, ontology: str, key: str | None = None) -> EmbeddingStarted:
        """Have embedded what is missing, stale or was refused; it is told of sources, and concepts go along.

        Those of a single source do not, before somebody wants an ontology's concepts by meaning.

        Args:
            ontology: which.
            key: the same answer is given to the same key.

        Raises:
            NotFound: there is no such ontology.
            TooBusy: too many jobs wait.
        """
        read_standing(self._graph, ontology)
        done = self._asked(Regeneration(ontology=ontology, type="all"), key).ontologies[0]
        return EmbeddingStarted(ontology=ontology, due=done.due, job_id=done.job_id)

    def regenerate(self, asked: Regeneration, key: str | None = None) -> RegenerationStarted:
        """Have embeddings made, as `asked`: if of concepts, then of those of a single source, too.

        Raises:
            NotFound: there is no such ontology.
            Conflict: the key was used for something else.
            TooBusy: too many jobs wait.
        """
        return self._asked(asked, key, wants_concepts=asked.type in {"concept", "all"})

    def _asked(
        self, asked: Regeneration, key: str | None, *, wants_concepts: bool = False
    ) -> RegenerationStarted:
        name = asked.ontology
        standings = [read_standing(self._graph, name)] if name else [*read_standings(self._graph).values()]
        standings = [_wanting(each) for each in standings] if wants_concepts else standings
        if asked.type not in {*JOB_KINDS, "all"}:
            notes = [f"this version has no {asked.type} embeddings yet: there is nothing to do"]
            return RegenerationStarted(due=0, ontologies=[], notes=notes)
        if asked.dry_run:
            return self._quoted(asked, standings)
        known = [part for each in standings for part in self._parts(each, asked)]
        return self._graph.transaction(lambda tx: self._started(tx, asked, known, key))

    def retry(self, job_id: str) -> Job:
        """Run a job again that has ended; what it set aside is tried again.

        Raises:
            NotFound: there is no such job.
            Conflict: it has not ended, or another is at its work.
        """
        job = find_job(self._graph, job_id)
        if job.kind == EXTRACTION and job.ontology and job.state in RETRIED:
            name = job.ontology
            self._graph.transaction(lambda tx: retry_unread(tx, name))
        standing = read_standings(self._graph, job.ontology).get(job.ontology) if job.ontology else None
        kind = _kind_made_by(job.kind)
        if kind is not None and standing is None:
            raise Conflict(f"the ontology of job {job_id} has gone: there is nothing to try again")
        if kind is not None and standing is not None and job.state in RETRIED:
            part = _Part(standing, kind, 0)  # before the job: it looks only once
            self._graph.transaction(lambda tx: _tried_again(tx, part))
        return retry_job(self._graph, job_id)

    def _quoted(self, asked: Regeneration, standings: list[Standing]) -> RegenerationStarted:
        parts = [part for each in standings for part in self._parts(each, asked)]
        quotes = [_regenerated(part, cost=self._cost(part)) for part in parts]
        notes = ["nothing was changed: this is a dry run"]
        return RegenerationStarted(due=sum(each.due for each in quotes), ontologies=quotes, notes=notes)

    def _cost(self, part: _Part) -> Cost:
        if part.type == "concept":
            return self._estimator.of_concepts(part.standing.target, due=part.due)
        return self._estimator.of_ontology(part.standing.target, due=part.due)

    def _started(
        self, tx: Transaction, asked: Regeneration, known: list[_Part], key: str | None
    ) -> RegenerationStarted:
        def make() -> dict[str, object]:
            parts = [replace(part, due=part.due + _tried_again(tx, part)) for part in known]
            for standing in (part.standing for part in parts if part.type == "concept"):
                if standing.configured.wants_concepts:
                    want_concepts(tx, standing.ontology)
            started = [
                _regenerated(part, job_id=self._request(tx, part, asked) if part.due else None)
                for part in parts
            ]
            answer = RegenerationStarted(due=sum(part.due for part in parts), ontologies=started)
            return answer.model_dump(mode="json")

        if key is None:
            return RegenerationStarted.model_validate(make())
        answer, _ = once(tx, key, digest("regeneration", asked.model_dump_json()), make)
        return RegenerationStarted.model_validate(answer)

    def _request(self, tx: Transaction, part: _Part, asked: Regeneration) -> str:
        """Ask for the job; one that is at work already counts what is due in its total."""
        kind, ontology = JOB_KINDS[part.type], part.standing.ontology
        added = 0 if is_asked_for(tx, kind, ontology) else part.due
        return request_job(tx, kind, ontology, added=added, selection=asked.selection, force=asked.force)

    def _parts(self, standing: Standing, asked: Regeneration) -> list[_Part]:
        """What there is to be made; of concepts nothing is told where all kinds are meant and none is due."""
        parts: list[_Part] = []
        if asked.type in {"source", "all"}:
            parts.append(_Part(standing, "source", self._due(standing, asked)))
        if asked.type in {"concept", "all"}:
            concepts = _Part(standing, "concept", self._due_concepts(standing, asked))
            parts += [concepts] if concepts.due or asked.type == "concept" else []
        return parts

    def _due(self, standing: Standing, asked: Regeneration) -> int:
        if asked.force:
            return embedding_status(self._graph, [standing.counted], standing.ontology).total
        return count_due(self._graph, standing.wanted(standing.target, selection=asked.selection))

    def _due_concepts(self, standing: Standing, asked: Regeneration) -> int:
        plan = standing.concept_plans[-1]
        if asked.force:
            return count_concepts(self._graph, [plan]).total
        return count_due_concepts(self._graph, ConceptsWanted(plan, asked.selection))


def _regenerated(part: _Part, *, job_id: str | None = None, cost: Cost | None = None) -> Regenerated:
    return Regenerated(
        ontology=part.standing.ontology, type=part.type, due=part.due, job_id=job_id, cost=cost
    )


def _wanting(standing: Standing) -> Standing:
    """With the concepts of a single source among what is due."""
    return replace(standing, configured=replace(standing.configured, wants_concepts=True))


def _kind_made_by(job_kind: str) -> EmbeddedKind | None:
    made: dict[str, EmbeddedKind] = {name: kind for kind, name in JOB_KINDS.items()}
    return made.get(job_kind)


def _tried_again(tx: Transaction, part: _Part) -> int:
    """Let what was refused be tried again; how much of it."""
    if part.type == "concept":
        return sum(retry_refused_concepts(tx, plan) for plan in part.standing.concept_plans)
    return sum(retry_refused(tx, plan.ontology, plan.mark) for plan in part.standing.plans)
