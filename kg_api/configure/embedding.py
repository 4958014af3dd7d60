"""Asking for embeddings: of one ontology, or of many, and what it will take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kg_api.configure.estimate import Estimator
from kg_api.configure.parts import JOB_KINDS, Part, parts_of
from kg_api.configure.renewal import Renewal, choose_sources
from kg_api.embed.known import IN_PROCESS
from kg_api.errors import Conflict
from kg_api.graph.concepts.extraction_config import retry_unread
from kg_api.graph.concepts.vectors import want_concepts
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.idempotency import once
from kg_api.graph.jobs import find_job, is_asked_for, request_job, retry_job
from kg_api.graph.jobs.control import RETRIED
from kg_api.graph.jobs.records import EXTRACTION
from kg_api.graph.spaces.registry import Space
from kg_api.models.embedding.configuration import Cost, EmbeddingStarted
from kg_api.models.embedding.regeneration import Regenerated, Regeneration, RegenerationStarted
from kg_api.models.identity import digest
from kg_api.models.jobs import Job
from kg_api.models.vocabulary import EmbeddedKind, Selection
from kg_api.spaces.activation import activate_complete, activate_complete_images
from kg_api.spaces.plans import EmbeddingState, read_embedding_state, read_embedding_states
from kg_api.wording.plural import pluralize


class EmbeddingRequests:
    """Makes the jobs that embed."""

    def __init__(self, graph: Graph, estimator: Estimator) -> None:
        self._graph = graph
        self._estimator = estimator

    def begun(self, embedding_state: EmbeddingState) -> list[str]:
        """Start what a new configuration makes due, unless that waits to be asked for; say what was done."""
        known = parts_of(self._graph, embedding_state, Regeneration(type="all"))
        parts = [part for part in known if part.due]
        if all(part.type == "image" for part in parts):
            activate_complete(self._graph, embedding_state)
        if not parts:
            activate_complete_images(self._graph, embedding_state)
            return []
        if not embedding_state.target.config.embed_on_ingest:
            told = " and ".join(pluralize(part.due, part.noun) for part in parts)
            command = f"kg admin source-embeddings generate --ontology {embedding_state.ontology!r}"
            return [f"still to be embedded: {told}; but embedding at ingestion is off: start it by {command}"]
        ids = self._graph.transaction(lambda tx: [self._request(tx, part, Regeneration()) for part in parts])
        return [
            f"a worker embeds {pluralize(part.due, part.noun)} now: job {job_id}"
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
        read_embedding_state(self._graph, ontology)
        done = self._request_regeneration(Regeneration(ontology=ontology, type="all"), key).ontologies[0]
        return EmbeddingStarted(ontology=ontology, due=done.due, job_id=done.job_id)

    def regenerate(self, asked: Regeneration, key: str | None = None) -> RegenerationStarted:
        """Have embeddings made, as `asked`: if of concepts, then of those of a single source, too.

        Raises:
            NotFound: there is no such ontology.
            Conflict: the key was used for something else.
            TooBusy: too many jobs wait.
        """
        if asked.where:
            return self._renew(asked, key)
        return self._request_regeneration(asked, key, wants_concepts=asked.type in {"concept", "all"})

    def _renew(self, asked: Regeneration, key: str | None) -> RegenerationStarted:
        """Have the sources embedded anew that a filter chooses."""
        renewal = choose_sources(self._graph, asked)
        due = renewal.sources
        states = self._meant(asked)
        parts = [Part(each, "source", due[each.ontology]) for each in states if each.ontology in due]
        if asked.dry_run:
            estimate = self._estimate(parts)
            return estimate.model_copy(update={"notes": [*renewal.notes, *estimate.notes]})

        def marked(tx: Transaction) -> RegenerationStarted:
            return self._start(tx, asked, parts, key, renewal)

        return self._graph.transaction(marked)

    def _request_regeneration(
        self, asked: Regeneration, key: str | None, *, wants_concepts: bool = False
    ) -> RegenerationStarted:
        known = self._meant(asked)
        embedding_states = [_wanting(each) if wants_concepts else each for each in known]
        parts = [part for each in embedding_states for part in parts_of(self._graph, each, asked)]
        if asked.dry_run:
            return self._estimate(parts)
        return self._graph.transaction(lambda tx: self._start(tx, asked, parts, key))

    def _meant(self, asked: Regeneration) -> list[EmbeddingState]:
        """How the ontology stands that is named, or all do.

        Raises:
            NotFound: there is no such ontology.
        """
        if asked.ontology:
            return [read_embedding_state(self._graph, asked.ontology)]
        return [*read_embedding_states(self._graph).values()]

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
        embedding_state = (
            read_embedding_states(self._graph, job.ontology).get(job.ontology) if job.ontology else None
        )
        kinds: dict[str, EmbeddedKind] = {name: kind for kind, name in JOB_KINDS.items()}
        kind = kinds.get(job.kind)
        if kind is not None and embedding_state is None:
            raise Conflict(f"the ontology of job {job_id} was deleted: there is nothing to retry")
        if kind is not None and embedding_state is not None and job.state in RETRIED:
            part = Part(embedding_state, kind, 0)  # before the job: it looks only once
            self._graph.transaction(part.retry_rejected)
        return retry_job(self._graph, job_id)

    def _estimate(self, parts: Sequence[Part]) -> RegenerationStarted:
        quotes = [_to_regenerated(part, cost=self._cost(part)) for part in parts]
        notes = ["nothing was changed: this is a dry run"]
        return RegenerationStarted(due=sum(each.due for each in quotes), ontologies=quotes, notes=notes)

    def _cost(self, part: Part) -> Cost:
        if part.type == "concept":
            return self._estimator.of_concepts(part.embedding_state.target, due=part.due)
        if part.type == "edge":
            return self._estimator.of_edges(part.embedding_state.target, due=part.due)
        if part.type == "image":
            return self.cost_of_images(part.embedding_state.image_plans[-1].space, part.due)
        return self._estimator.of_ontology(part.embedding_state.target, due=part.due)

    def embed_images(self, ontology: str) -> str | None:
        """Have pictures embedded that are missing, stale or were refused; the job, None if nothing is due."""
        asked = Regeneration(ontology=ontology, type="image")
        return self._request_regeneration(asked, None).ontologies[0].job_id

    def cost_of_images(self, space: Space, due: int) -> Cost:
        """What embedding pictures takes, as far as that is known: a provider's prices of pictures are not."""
        free = space.identity.provider in IN_PROCESS
        provider = space.identity.provider
        notes = [] if free else [f"{pluralize(due, 'picture')} go to {provider}: see its prices"]
        return Cost(
            documents=0,
            sampled_documents=0,
            sources=0,
            chunks=due,
            tokens=0,
            seconds=None,
            price=0.0 if free else None,
            notes=notes,
        )

    def _start(
        self,
        tx: Transaction,
        asked: Regeneration,
        known: list[Part],
        key: str | None,
        renewal: Renewal | None = None,
    ) -> RegenerationStarted:
        def make() -> dict[str, object]:
            if renewal is None:
                parts = [replace(part, due=part.due + part.retry_rejected(tx)) for part in known]
            else:
                parts = [replace(part, due=_mark_renewed(tx, part, renewal)) for part in known]
            for embedding_state in (part.embedding_state for part in parts if part.type == "concept"):
                if embedding_state.configured.wants_concepts:
                    want_concepts(tx, embedding_state.ontology)
            started = [
                _to_regenerated(part, job_id=self._request(tx, part, asked) if part.due else None)
                for part in parts
            ]
            due, notes = sum(part.due for part in parts), [*renewal.notes] if renewal else []
            answer = RegenerationStarted(due=due, ontologies=started, notes=notes)
            return answer.model_dump(mode="json")

        if key is None:
            return RegenerationStarted.model_validate(make())
        answer, _ = once(tx, key, digest("regeneration", asked.model_dump_json()), make)
        return RegenerationStarted.model_validate(answer)

    def _request(self, tx: Transaction, part: Part, asked: Regeneration) -> str:
        """Ask for the job; one that is at work already counts what is due in its total."""
        kind, ontology = JOB_KINDS[part.type], part.embedding_state.ontology
        added = 0 if is_asked_for(tx, kind, ontology) else part.due
        chosen = asked.where is not None
        selection: Selection = "due" if chosen else asked.selection
        force = asked.force and not chosen  # a job that is forced embeds everything anew
        return request_job(tx, kind, ontology, added=added, selection=selection, force=force)


def _to_regenerated(part: Part, *, job_id: str | None = None, cost: Cost | None = None) -> Regenerated:
    return Regenerated(
        ontology=part.embedding_state.ontology, type=part.type, due=part.due, job_id=job_id, cost=cost
    )


def _wanting(embedding_state: EmbeddingState) -> EmbeddingState:
    """With the concepts of a single source among what is due."""
    return replace(embedding_state, configured=replace(embedding_state.configured, wants_concepts=True))


def _mark_renewed(tx: Transaction, part: Part, renewal: Renewal) -> int:
    return renewal.mark(tx, part.embedding_state.ontology, part.embedding_state.target.mark)
