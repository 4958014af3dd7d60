"""What is found before a space answers, be it of texts or of pictures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from kg_api.errors import ConfigurationError, Conflict, InvalidInput, KgError, NotFound
from kg_api.extraction.llm import ExtractionRequests, Extractors, extraction_cost
from kg_api.graph.cache import once
from kg_api.graph.client import Graph, Transaction, portions
from kg_api.graph.concept_vectors import ConceptPlan, count_concepts, want_concepts
from kg_api.graph.concept_writes import (
    ExtractionCounts,
    StoredExtraction,
    count_extraction,
    read_extraction,
    retry_unread,
    unread_sources,
    write_extraction,
)
from kg_api.graph.filters import asks_for_absence, describe_unknown_fields, matching_documents
from kg_api.graph.images import ImagePlan, count_images
from kg_api.graph.jobs import (
    CONCEPT_EMBEDDING,
    EDGE_EMBEDDING,
    EXTRACTION,
    IMAGE_EMBEDDING,
    RETRIED,
    find_job,
    is_asked_for,
    page_of_jobs,
    request_job,
    retry_job,
)
from kg_api.graph.library import embedding_status
from kg_api.graph.relations import EdgePlan, count_edges
from kg_api.graph.schema import index_states
from kg_api.graph.similar import count_sources
from kg_api.graph.space_checks import count_vectors, find_lost_in_index
from kg_api.graph.spaces import (
    ImageSpaces,
    Mark,
    Space,
    StoredConfiguration,
    all_spaces,
    ensure_index,
    hold_configurations,
    hold_spaces,
    renew_documents,
    retry_refused,
    write_configuration,
)
from kg_api.graph.spaces import space_of_new as space_of_new_ontologies
from kg_api.graph.vectors import (
    DocumentAbout,
    SourceText,
    count_all_behind,
    count_behind,
    count_due,
    read_refused_sources,
)
from kg_api.providers.chat import price_of
from kg_api.providers.embedding_port import IN_PROCESS
from kg_api.schemas.base import digest
from kg_api.schemas.concepts import (
    ExtractionConfig,
    ExtractionCost,
    ExtractionStarted,
    ExtractionStatus,
    UnreadSources,
    UsedExtraction,
)
from kg_api.schemas.documents import DocumentRecord, EmbeddingStatus, SourceRecord
from kg_api.schemas.embedding import (
    Cost,
    EmbeddingConfig,
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    EmbeddingStarted,
    Finding,
    RefusedSources,
    Regenerated,
    Regeneration,
    RegenerationStarted,
    SpaceCheck,
)
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import EmbeddedKind, JobState, Selection
from kg_api.sections import LlmSettings
from kg_api.spaces.activation import (
    activate_complete,
    activate_complete_images,
    describe_refused,
    reconfigure,
)
from kg_api.spaces.estimate import Estimator
from kg_api.spaces.plans import (
    EmbeddingState,
    Plan,
    embedding_state_of,
    plan_of,
    read_embedding_state,
    read_embedding_states,
)
from kg_api.spaces.registry import SpaceRegistry, space_of_new
from kg_api.wording import are, pluralize


class CheckedSpace(Protocol):
    def check(self) -> None:
        """See that its model answers as ever."""
        ...


def to_check(space: Space, findings: Iterable[Finding]) -> SpaceCheck:
    """A check with all that was found."""
    found = [*findings]
    return SpaceCheck(slug=space.slug, ok=all(each.ok for each in found), findings=found)


def check_model(opened: CheckedSpace, probe: str) -> Finding:
    """Whether a model answers its probe, a text or a picture, as it did when its space was made."""
    try:
        opened.check()
    except KgError as error:
        return Finding(name="model", ok=False, detail=str(error))
    return Finding(name="model", ok=True, detail=f"answers its {probe} as it always did")


def check_index(graph: Graph, name: str) -> Finding:
    """Whether a vector index is there and online."""
    state = index_states(graph).get(name)
    if state is None:
        return Finding(name="index", ok=False, detail=f"the index {name} is not there")
    told = f"the index {name} is {state.state.lower()}, {state.percent:.0f} % populated"
    return Finding(name="index", ok=state.online, detail=told)


# The gate before a space answers: index, model, completeness, every vector, and whether they are found.


class SpaceChecker:
    """Looks whether what is built in a space can answer."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces

    def check(
        self, space: Space, embedding_states: Sequence[EmbeddingState], *, accept_refused: bool = False
    ) -> SpaceCheck:
        """Check a space's model, and each ontology that is or shall be answered by it.

        Args:
            space: which.
            embedding_states: of the ontologies.
            accept_refused: whether it is fine that the model does not take some texts.
        """
        found = (
            each for one in embedding_states for each in self._ontology(one, accept_refused=accept_refused)
        )
        return to_check(space, [check_model(self._spaces.of(space), "probe text"), *found])

    def _ontology(self, embedding_state: EmbeddingState, *, accept_refused: bool) -> Iterator[Finding]:
        plan = embedding_state.target
        index = check_index(self._graph, plan.space.index_name)
        yield index
        name = plan.ontology
        behind = self._graph.transaction(lambda tx: count_behind(tx, embedding_state.wanted(plan)))
        told = (
            f"{behind.behind} sources are not built yet" if behind.behind else "all is built that answers now"
        )
        yield Finding(name="complete", ok=not behind.behind, detail=f"{name}: {told}")
        if concepts := self._behind(embedding_state.concept_plans):
            told = f"{concepts} concepts are not built yet"
            yield Finding(name="concepts", ok=False, detail=f"{name}: {told}")
        if edges := self._behind(embedding_state.edge_plans):
            told = f"{edges} relationships and types of them are not built yet"
            yield Finding(name="relationships", ok=False, detail=f"{name}: {told}")
        if behind.refused:
            told = describe_refused(behind.refused)
            yield Finding(name="refused", ok=accept_refused, detail=f"{name}: {told}")
        counts = count_vectors(self._graph, name, plan.space, plan.mark)
        wrong = counts.without + counts.wrong + counts.orphans
        detail = (
            f"{name}: {counts.built} sources, {counts.chunks} chunks; {counts.without} without a vector, "
        )
        detail += f"{counts.wrong} vectors that an index leaves out, {counts.orphans} chunks of no source"
        yield Finding(name="vectors", ok=not wrong, detail=detail)
        if not index.ok:
            return
        lost, sampled = find_lost_in_index(self._graph, name, plan.space, plan.mark)
        told = f"of {sampled} vectors asked for by themselves the index gives back {sampled - lost}"
        yield Finding(name="found", ok=not lost, detail=f"{name}: {told}")

    def _behind(self, plans: Sequence[ConceptPlan | EdgePlan]) -> int:
        return self._graph.transaction(lambda tx: count_all_behind(tx, [plan.wanted() for plan in plans]))


# What is to be embedded of each kind in an ontology.

JOB_KINDS: Final[dict[EmbeddedKind, str]] = {
    "source": "source_embedding",
    "concept": CONCEPT_EMBEDDING,
    "image": IMAGE_EMBEDDING,
    "edge": EDGE_EMBEDDING,
}
"""The job of each kind of thing that is embedded."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be made of one kind in one ontology."""

    embedding_state: EmbeddingState
    type: EmbeddedKind
    due: int

    @property
    def noun(self) -> str:
        """What one of them is called."""
        return "relationship" if self.type == "edge" else self.type

    def retry_rejected(self, tx: Transaction) -> int:
        """Let what was refused be tried again; how much of it."""
        return sum(retry_refused(tx, plan.ontology, plan.mark) for plan in self._plans())

    def _plans(self) -> Sequence[Plan | ConceptPlan | ImagePlan | EdgePlan]:
        state = self.embedding_state
        return {
            "source": state.plans,
            "concept": state.concept_plans,
            "image": state.image_plans,
            "edge": state.edge_plans,
        }[self.type]


def parts_of(graph: Graph, embedding_state: EmbeddingState, asked: Regeneration) -> list[Part]:
    """What there is to be made; but of sources nothing is told where all kinds are meant and none is due."""
    parts: list[Part] = []
    for kind in JOB_KINDS:
        if asked.type in {kind, "all"}:
            part = Part(embedding_state, kind, _count(graph, kind, embedding_state, asked))
            parts += [part] if part.due or kind in {asked.type, "source"} else []
    return parts


def _count(graph: Graph, kind: EmbeddedKind, state: EmbeddingState, asked: Regeneration) -> int:
    if kind == "source":
        if asked.force:
            return embedding_status(graph, [state.counted], state.ontology).total
        return count_due(graph, state.wanted(state.target, selection=asked.selection))
    if asked.force:
        return _total(graph, kind, state)
    plans: dict[EmbeddedKind, Sequence[ConceptPlan | ImagePlan | EdgePlan]] = {
        "concept": state.concept_plans[-1:],
        "image": state.image_plans[-1:],
        "edge": state.target_edge_plans,
    }
    return sum(count_due(graph, plan.wanted(asked.selection)) for plan in plans[kind])


def _total(graph: Graph, kind: EmbeddedKind, state: EmbeddingState) -> int:
    if kind == "concept":
        return count_concepts(graph, state.concept_plans[-1:]).total
    if kind == "image":
        return count_images(graph, state.image_plans[-1:]).total
    return count_edges(graph, state.target_edge_plans).total


# Which sources a filter has embedded anew.

MAX_RENEWED: Final = 200_000
"""Sources of one request: they are marked in one transaction, with the job that embeds them."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """The documents that fit a filter, by ontology, and how many sources those have."""

    documents: Mapping[str, Sequence[str]]
    sources: Mapping[str, int]
    notes: Sequence[str]

    def mark(self, tx: Transaction, ontology: str, mark: Mark) -> int:
        """Let the sources of one ontology be embedded anew, and not from the cache; how many.

        A search finds them as they are until then.
        """
        parts = portions(self.documents[ontology], 1000)
        return sum(renew_documents(tx, ontology, part, mark) for part in parts)


def choose_sources(graph: Graph, asked: Regeneration) -> Renewal:
    """What fits the conditions of a request.

    Raises:
        InvalidInput: more sources than one request renews, or a condition is of a field that no document has
            and another one is called nearly so.
    """
    where, ontologies = asked.where or [], [asked.ontology] if asked.ontology else None
    documents = matching_documents(graph, where, ontologies)
    sources = {name: count_sources(graph, [name], ids) for name, ids in documents.items()}
    if (total := sum(sources.values())) > MAX_RENEWED:
        raise InvalidInput(
            f"{total:,} sources fit the filter, and {MAX_RENEWED:,} at most are embedded anew at once: "
            "narrow it down, or leave it out to embed whole ontologies anew"
        )
    told: list[str] = []
    if not total or asks_for_absence(where):
        told = [each.effect for each in describe_unknown_fields(graph, where, ontologies)]
    return Renewal(documents, sources, told if total else [*told, "no document fits the filter"])


# Asking for embeddings: of one ontology, or of many, and what it will take.


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


# The configuration of an ontology's concept extraction: shown, set, what it costs, and how far it is.

MAX_REJECTED = 1000
PRICES = "KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT"


class ExtractionService:
    """How concepts are extracted from ontologies."""

    def __init__(self, graph: Graph, extractors: Extractors, requests: ExtractionRequests) -> None:
        self._graph = graph
        self._extractors = extractors
        self._requests = requests

    def show(self, ontology: str, *, with_cost: bool = False) -> ExtractionStatus:
        """The present configuration and how far extraction is.

        Args:
            ontology: which.
            with_cost: whether to count what reading the sources that are due takes; nothing is asked.

        Raises:
            NotFound: there is no such ontology.
        """
        return self._to_status(read_extraction(self._graph, ontology), [], with_cost=with_cost)

    def set(self, ontology: str, config: ExtractionConfig, *, dry_run: bool) -> ExtractionStatus:
        """Configure an ontology, which is made when it is not there; nothing is changed in a dry run.

        What `config` leaves out stays as it is; None is the service's own setting.

        Raises:
            InvalidInput: it cannot be used; the message says which settings are missing.
        """
        present = self._present(ontology)
        config = present.config.model_copy(update=config.model_dump(exclude_unset=True))
        used = self._extractors.used(config)
        anew = replace(present, config=config)
        is_other = self._mark(used) != self._mark(self._extractors.used(present.config))
        self._check(ontology, used)
        if dry_run:
            anew = replace(anew, asked=self._mark(used)) if is_other else anew
            told = self._to_status(anew, ["nothing was changed: this is a dry run"], with_cost=True)
            return told.model_copy(update={"applied": False})
        self._graph.transaction(lambda tx: write_extraction(tx, ontology, config))
        due, job_id = self._requests.begin(ontology, everything=is_other)
        notes = [f"a worker reads {pluralize(due, 'source')} now: job {job_id}"] if job_id else []
        return self._to_status(read_extraction(self._graph, ontology), notes, with_cost=True)

    def require_usable(self, ontology: str, config: ExtractionConfig) -> None:
        """See that an ontology can be configured so.

        Raises:
            InvalidInput: the message says which settings are missing.
        """
        self._check(ontology, self._extractors.used(config))

    def extract(self, ontology: str, *, stale: bool = False) -> ExtractionStarted:
        """Have concepts extracted from what is due, and from what was set aside.

        Args:
            ontology: which.
            stale: from what another model, prompt or number of concepts has read, too; it may cost.

        Raises:
            NotFound: there is no such ontology.
            InvalidInput: nothing is to be extracted from it, or it cannot be as the service is set up.
            TooBusy: too many jobs wait.
        """
        used = self._extractors.used(read_extraction(self._graph, ontology).config)
        if used.extractor == "none":
            raise InvalidInput(
                f"no concepts are extracted from {ontology!r}; set an extractor by "
                f"`kg admin concepts config --ontology {ontology!r} --extractor keyphrase`"
            )
        self._check(ontology, used)
        due, job_id = self._requests.begin(ontology, everything=stale)
        return ExtractionStarted(ontology=ontology, due=due, job_id=job_id)

    def refused(self, ontology: str) -> UnreadSources:
        """The sources that were set aside, with the reasons.

        Raises:
            NotFound: there is no such ontology.
        """
        mark = self._mark(self._extractors.used(read_extraction(self._graph, ontology).config))
        total = count_extraction(self._graph, ontology, mark)["refused"]
        found = unread_sources(self._graph, ontology, mark, limit=MAX_REJECTED)
        return UnreadSources(ontology=ontology, total=total, sources=found)

    def _present(self, ontology: str) -> StoredExtraction:
        try:
            return read_extraction(self._graph, ontology)
        except NotFound:
            return StoredExtraction(ontology)

    def _check(self, ontology: str, used: UsedExtraction) -> None:
        if problem := self._problem(ontology, used):
            raise InvalidInput(problem)

    def _problem(self, ontology: str, used: UsedExtraction) -> str | None:
        try:
            self._extractors.open(ontology, used)
        except ConfigurationError as error:
            return str(error)
        return None

    def _mark(self, used: UsedExtraction) -> str | None:
        """None when nobody knows which language model's: what any has read counts as read then."""
        unknown = used.extractor == "llm" and self._extractors.settings.llm.model is None
        return None if unknown else self._extractors.mark(used)

    def _last_error(self, ontology: str) -> str | None:
        last, _ = page_of_jobs(self._graph, state=None, kind=EXTRACTION, ontology=ontology, offset=0, limit=1)
        dead = [job for job in last if job.state is JobState.DEAD]
        return f"job {dead[0].job_id} is dead: {dead[0].error or 'no reason is recorded'}" if dead else None

    def _to_status(self, stored: StoredExtraction, notes: list[str], *, with_cost: bool) -> ExtractionStatus:
        used = self._extractors.used(stored.config)
        mark = self._mark(used)
        counts = count_extraction(self._graph, stored.ontology, mark)
        unread = counts["total"] - counts["extracted"] - counts["refused"]
        due = unread if mark is None else self._requests.due(stored)
        stale = unread - due if used.extractor == "llm" else 0
        llm = self._extractors.settings.llm
        cost = extraction_cost(self._graph, stored.ontology, used, llm, due) if with_cost else None
        again = extraction_cost(self._graph, stored.ontology, used, llm, stale) if with_cost else None
        return ExtractionStatus(
            ontology=stored.ontology,
            config=stored.config,
            used=used,
            spent=round(stored.spent, 6),
            expected=round(stored.expected, 6),
            fingerprint=mark,
            model=llm.model if used.extractor == "llm" else None,
            due=due,
            stale=stale,
            **counts,
            cost=cost,
            stale_cost=again if stale else None,
            problem=self._problem(stored.ontology, used),
            last_error=self._last_error(stored.ontology),
            notes=[
                *notes,
                *_advice(stored, used, cost, counts["concepts"]),
                *_stale(stored.ontology, stale, again),
                *_idle_budget(used, llm),
                *_doubts(counts),
            ],
        )


def _advice(
    stored: StoredExtraction, used: UsedExtraction, cost: ExtractionCost | None, concepts: int
) -> list[str]:
    notes: list[str] = []
    if stored.paused:
        notes.append(
            "its last job was cancelled, so nothing is read by itself; begin again by "
            f"`kg admin concepts extract --ontology {stored.ontology!r}`"
        )
    if used.extractor == "none" and concepts:
        notes.append("nothing new is extracted; the concepts that are there stay as long as their sources")
    left = None if used.budget is None else used.budget - stored.spent
    if left is not None and cost is not None and cost.price is not None and cost.price > left:
        notes.append(
            f"that is more than is left of the budget, ${max(left, 0):.4g}: extraction stops when it is "
            "used up, and goes on when the budget is raised"
        )
    return notes


def _stale(ontology: str, stale: int, cost: ExtractionCost | None) -> list[str]:
    """That sources were read by another model, and what reading them again takes."""
    if not stale:
        return []
    price = "" if cost is None or cost.price is None else f" (about ${cost.price:.4g})"
    told = (
        f"{pluralize(stale, 'source')} {are(stale)} stale (read by another model or prompt, or for fewer); "
    )
    return [f"{told}read again{price} only by `kg admin concepts extract --stale --ontology {ontology!r}`"]


def _idle_budget(used: UsedExtraction, llm: LlmSettings) -> list[str]:
    """That a budget bounds nothing: only a language model costs money, by its prices."""
    if used.budget is None or used.extractor == "llm":
        return []
    prices = "" if price_of(llm, 0, 0) is not None else f", whose prices {PRICES} set"
    told = f"the budget has no effect: the extractor is {used.extractor}, and only the language model"
    return [f"{told}{prices}, costs money"]


def _doubts(counts: ExtractionCounts) -> list[str]:
    """Advice where most of what a language model quoted is not in the texts."""
    if counts["unverified_quotes"] <= counts["quotes"]:
        return []
    told = (
        f"{counts['unverified_quotes']} of what was quoted is not in its source or proves nothing, more than "
    )
    told += f"the {counts['quotes']} quotes that do: choose another language model by KG_LLM__MODEL; "
    return [f"{told}`kg concept show` marks what is not proved"]


# The configuration of an ontology's embeddings: shown, set, and what follows from it.

SERVICE_MAX_REJECTED = 1000
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
        found = read_refused_sources(
            self._graph, ontology, embedding_state.target.mark, limit=SERVICE_MAX_REJECTED
        )
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
