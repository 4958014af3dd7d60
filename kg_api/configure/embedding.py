"""Asking for embeddings: of one ontology, or of many, and what it will take."""

from __future__ import annotations

from kg_api.configure.estimate import Estimator
from kg_api.errors import Conflict
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.due import count_due, retry_refused
from kg_api.graph.idempotency import once
from kg_api.graph.job_control import RETRIED
from kg_api.graph.jobs import find_job, is_asked_for, request_job, retry_job
from kg_api.graph.library import embedding_status
from kg_api.models.configuration import EmbeddingStarted
from kg_api.models.identity import digest
from kg_api.models.jobs import Job, Selection
from kg_api.models.regeneration import Regenerated, Regeneration, RegenerationStarted
from kg_api.spaces.activation import activate_complete
from kg_api.spaces.plans import Standing, read_standing, read_standings

JOB_KIND = "source_embedding"


class EmbeddingRequests:
    """Makes the jobs that embed."""

    def __init__(self, graph: Graph, estimator: Estimator) -> None:
        self._graph = graph
        self._estimator = estimator

    def begun(self, standing: Standing) -> list[str]:
        """Start what a new configuration makes due, unless that waits to be asked for; say what was done."""
        due = self._due(standing, Regeneration())
        if not due:
            activate_complete(self._graph, standing)
            return []
        if not standing.target.config.embed_on_ingest:
            command = f"kg admin source-embeddings generate --ontology {standing.ontology!r}"
            return [
                f"{due} sources are to be embedded, and embedding at ingestion is off: start it by {command}"
            ]
        job_id = self._graph.transaction(lambda tx: self._request(tx, standing.ontology, due))
        return [f"a worker embeds {due} sources now: job {job_id}"]

    def embed(self, ontology: str, key: str | None = None) -> EmbeddingStarted:
        """Have embedded what is missing, stale or was refused.

        Args:
            ontology: which.
            key: the same answer is given to the same key.

        Raises:
            NotFound: there is no such ontology.
            TooBusy: too many jobs wait.
        """
        read_standing(self._graph, ontology)
        done = self.regenerate(Regeneration(ontology=ontology), key).ontologies[0]
        return EmbeddingStarted(ontology=ontology, due=done.due, job_id=done.job_id)

    def regenerate(self, asked: Regeneration, key: str | None = None) -> RegenerationStarted:
        """Have embeddings made, as `asked`.

        Raises:
            NotFound: there is no such ontology.
            Conflict: the key was used for something else.
            TooBusy: too many jobs wait.
        """
        name = asked.ontology
        standings = [read_standing(self._graph, name)] if name else [*read_standings(self._graph).values()]
        if asked.type not in {"source", "all"}:
            notes = [f"this version has no {asked.type} embeddings yet: there is nothing to do"]
            return RegenerationStarted(due=0, ontologies=[], notes=notes)
        if asked.dry_run:
            return self._quoted(asked, standings)
        known = [(each, self._due(each, asked)) for each in standings]
        return self._graph.transaction(lambda tx: self._started(tx, asked, known, key))

    def retry(self, job_id: str) -> Job:
        """Run a job again that has ended; what it set aside is tried again.

        Raises:
            NotFound: there is no such job.
            Conflict: it has not ended, or another is at its work.
        """
        job = find_job(self._graph, job_id)
        standing = read_standings(self._graph, job.ontology).get(job.ontology) if job.ontology else None
        if job.kind == JOB_KIND and standing is None:
            raise Conflict(f"the ontology of job {job_id} has gone: there is nothing to try again")
        if job.kind == JOB_KIND and standing is not None and job.state in RETRIED:
            for plan in standing.plans:  # before the job: it looks only once
                self._graph.transaction(lambda tx, plan=plan: retry_refused(tx, plan.ontology, plan.mark))
        return retry_job(self._graph, job_id)

    def _quoted(self, asked: Regeneration, standings: list[Standing]) -> RegenerationStarted:
        quotes: list[Regenerated] = []
        for each in standings:
            due = self._due(each, asked)
            cost = self._estimator.of_ontology(each.target, due=due)
            quotes.append(Regenerated(ontology=each.ontology, type="source", due=due, job_id=None, cost=cost))
        notes = ["nothing was changed: this is a dry run"]
        return RegenerationStarted(due=sum(each.due for each in quotes), ontologies=quotes, notes=notes)

    def _started(
        self, tx: Transaction, asked: Regeneration, known: list[tuple[Standing, int]], key: str | None
    ) -> RegenerationStarted:
        def make() -> dict[str, object]:
            due = {each.ontology: count + self._tried_again(tx, each) for each, count in known}
            started = [
                Regenerated(
                    ontology=name,
                    type="source",
                    due=count,
                    job_id=self._request(tx, name, count, asked.selection, force=asked.force)
                    if count
                    else None,
                    cost=None,
                )
                for name, count in due.items()
            ]
            answer = RegenerationStarted(due=sum(due.values()), ontologies=started)
            return answer.model_dump(mode="json")

        if key is None:
            return RegenerationStarted.model_validate(make())
        answer, _ = once(tx, key, digest("regeneration", asked.model_dump_json()), make)
        return RegenerationStarted.model_validate(answer)

    def _tried_again(self, tx: Transaction, standing: Standing) -> int:
        """Let what was refused be tried again; how many sources."""
        return sum(retry_refused(tx, standing.ontology, plan.mark) for plan in standing.plans)

    def _request(
        self, tx: Transaction, ontology: str, due: int, selection: Selection = "due", *, force: bool = False
    ) -> str:
        """Ask for the job; one that is at work already counts what is due in its total."""
        added = 0 if is_asked_for(tx, JOB_KIND, ontology) else due
        return request_job(tx, JOB_KIND, ontology, added=added, selection=selection, force=force)

    def _due(self, standing: Standing, asked: Regeneration) -> int:
        if asked.force:
            return embedding_status(self._graph, [standing.counted], standing.ontology).total
        return count_due(self._graph, standing.wanted(standing.target, selection=asked.selection))
