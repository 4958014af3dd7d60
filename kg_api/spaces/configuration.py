"""Configuration of embedding and concept extraction per ontology: settings, job requests, and costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kg_api.errors import ConfigurationError, Conflict, InvalidInput, NotFound
from kg_api.extraction.llm import ExtractionRequests, Extractors, estimate_extraction_cost
from kg_api.graph import jobs
from kg_api.graph.cache import process_once
from kg_api.graph.client import Graph, Reader, Transaction
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.concept_writes import (
    StoredExtraction,
    count_extraction,
    list_unread_sources,
    read_extraction,
    retry_unread,
    write_extraction,
)
from kg_api.graph.library import read_embedding_status
from kg_api.graph.spaces import (
    Layout,
    Space,
    StoredConfiguration,
    build_default_configuration,
    build_layout,
    ensure_index,
    hold_configurations,
    hold_spaces,
    read_configurations,
    read_spaces,
    reset_rejected,
    write_configuration,
)
from kg_api.graph.targets import KINDS, MAIN_KINDS, build_plan, count_embedded
from kg_api.graph.vectors import DocumentAbout, SourceText, count_due, read_rejected_sources
from kg_api.providers.embedding_port import describe_unknown_languages
from kg_api.schemas.base import compute_digest
from kg_api.schemas.concepts import ExtractionConfig, ExtractionCost, ExtractionStatus, UsedExtraction
from kg_api.schemas.documents import (
    ConceptCounts,
    DocumentRecord,
    EmbeddingStatus,
    SourceRecord,
    VectorCounts,
)
from kg_api.schemas.embedding import (
    Cost,
    EmbeddingConfig,
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    RefusedSources,
    Regenerated,
    Regeneration,
    RegenerationStarted,
)
from kg_api.schemas.operations import Job, JobStarted
from kg_api.schemas.spaces import FIRST_SLUG
from kg_api.schemas.vocabulary import EmbeddedKind, JobState, Modality
from kg_api.spaces.estimate import Estimator
from kg_api.spaces.plans import (
    EmbeddingState,
    activate_complete,
    build_embedding_state,
    read_embedding_state,
    read_embedding_states,
    report_other_change,
)
from kg_api.spaces.registry import get_default_space
from kg_api.wording import are, pluralize


@dataclass(frozen=True, slots=True)
class PendingPart:
    state: EmbeddingState
    type: EmbeddedKind
    due: int

    def retry_rejected(self, tx: Transaction) -> int:
        plans = self.state.plans(self.type)
        return sum(reset_rejected(tx, plan.ontology, plan.mark) for plan in plans)

    def to_regeneration(self, *, job_id: str | None = None, cost: Cost | None = None) -> Regenerated:
        ontology = self.state.ontology
        return Regenerated(ontology=ontology, type=self.type, due=self.due, job_id=job_id, cost=cost)


def count_parts(graph: Graph, state: EmbeddingState, regeneration: Regeneration) -> list[PendingPart]:
    """Count pending items by kind. Without any, include only sources and requested kinds."""
    parts = list[PendingPart]()
    for kind in KINDS:
        if regeneration.type not in {kind, "all"}:
            continue
        plans = state.targets(kind)
        if not regeneration.force:
            due = sum(count_due(graph, plan.build_query(regeneration.selection)) for plan in plans)
        elif kind == "source":
            due = read_embedding_status(graph, [state.counted], state.ontology).total
        else:
            due = count_embedded(graph, kind, plans)["total"]
        if due or kind in {regeneration.type, "source"}:
            parts.append(PendingPart(state, kind, due))
    return parts


class EmbeddingRequests:
    """Requests embedding jobs for one or many ontologies, after a change or on demand."""

    def __init__(self, graph: Graph, estimator: Estimator) -> None:
        self._graph = graph
        self._estimator = estimator

    def start_required_work(self, state: EmbeddingState) -> list[str]:
        """Start the work that a new configuration requires, and return its descriptions."""
        # If embedding at ingestion is disabled, the work waits for a request.
        known = count_parts(self._graph, state, Regeneration(type="all"))
        parts = [part for part in known if part.due]
        if all(part.type == "image" for part in parts):
            activate_complete(self._graph, state, "text")
        if not parts:
            activate_complete(self._graph, state, "image")
            return []
        if not state.target.config.embed_on_ingest:
            counts = " and ".join(pluralize(part.due, KINDS[part.type].noun) for part in parts)
            command = f"kg admin source-embeddings generate --ontology {state.ontology!r}"
            return [f"pending: {counts}. Embedding at ingestion is off. Start embedding with {command}"]
        ids = self._graph.transaction(lambda tx: [self._request(tx, part, Regeneration()) for part in parts])
        return [
            f"a worker embeds {pluralize(part.due, KINDS[part.type].noun)} now: job {job_id}"
            for part, job_id in zip(parts, ids, strict=True)
        ]

    def embed(self, ontology: str, key: str | None = None, modality: Modality = "text") -> JobStarted:
        """Embed missing, stale, and rejected items, and report the sources or images."""
        # Concepts of a single source are excluded until a vector search for concepts uses the ontology.
        regeneration = Regeneration(ontology=ontology, type="all" if modality == "text" else "image")
        done = self._regenerate(regeneration, key, [read_embedding_state(self._graph, ontology)]).ontologies[
            0
        ]
        return JobStarted(ontology=ontology, due=done.due, job_id=done.job_id)

    def regenerate(self, regeneration: Regeneration, key: str | None = None) -> RegenerationStarted:
        """Embed the requested kinds. Concepts of a single source are included."""
        if regeneration.ontology:
            states = [read_embedding_state(self._graph, regeneration.ontology)]
        else:
            states = [*read_embedding_states(self._graph).values()]
        if regeneration.type in {"concept", "all"}:
            states = [
                replace(each, configured=replace(each.configured, wants_concepts=True)) for each in states
            ]
        return self._regenerate(regeneration, key, states)

    def _regenerate(
        self, regeneration: Regeneration, key: str | None, states: Sequence[EmbeddingState]
    ) -> RegenerationStarted:
        parts = [part for each in states for part in count_parts(self._graph, each, regeneration)]
        if regeneration.dry_run:
            return self._quote(parts)

        def start(tx: Transaction) -> RegenerationStarted:
            retried = [replace(part, due=part.due + part.retry_rejected(tx)) for part in parts]
            for part in retried:
                if part.type == "concept" and part.state.configured.wants_concepts:
                    request_concepts(tx, part.state.ontology)
            return self._start(tx, regeneration, retried)

        return self._graph.transaction(lambda tx: _answer_once(tx, key, regeneration, start))

    def retry(self, job_id: str) -> Job:
        """Retry a finished job, including the items that it rejected."""
        job = jobs.find_job(self._graph, job_id)
        name = job.ontology
        if job.kind == jobs.EXTRACTION and name and job.state in jobs.RETRIED:
            self._graph.transaction(lambda tx: retry_unread(tx, name))
        kinds: dict[str, EmbeddedKind] = {each.job: kind for kind, each in KINDS.items()}
        kind = kinds.get(job.kind)
        if kind is not None:
            state = read_embedding_states(self._graph, name).get(name) if name else None
            if state is None:
                raise Conflict(f"the ontology of job {job_id} was deleted: there is nothing to retry")
            if job.state in jobs.RETRIED:  # before the job, which reads rejections only once
                self._graph.transaction(PendingPart(state, kind, 0).retry_rejected)
        return jobs.retry_job(self._graph, job_id)

    def estimate(self, kind: EmbeddedKind, state: EmbeddingState, due: int) -> Cost:
        if kind == "image":
            return self._estimator.estimate_images(state.images[-1].space, due)
        if kind == "source":
            return self._estimator.estimate_ontology(state.target, due=due)
        return self._estimator.estimate_texts(kind, state.target, due=due)

    def _quote(self, parts: Sequence[PendingPart]) -> RegenerationStarted:
        quotes = [part.to_regeneration(cost=self.estimate(part.type, part.state, part.due)) for part in parts]
        notes = ["nothing was changed: this is a dry run"]
        return RegenerationStarted(due=sum(each.due for each in quotes), ontologies=quotes, notes=notes)

    def _start(
        self, tx: Transaction, regeneration: Regeneration, parts: Sequence[PendingPart]
    ) -> RegenerationStarted:
        started = [
            part.to_regeneration(job_id=self._request(tx, part, regeneration) if part.due else None)
            for part in parts
        ]
        return RegenerationStarted(due=sum(part.due for part in parts), ontologies=started)

    def _request(self, tx: Transaction, part: PendingPart, regeneration: Regeneration) -> str:
        """Request the job. The total of an unfinished job already includes the pending items."""
        kind, ontology = KINDS[part.type].job, part.state.ontology
        added = 0 if jobs.is_requested(tx, kind, ontology) else part.due
        return jobs.request_job(
            tx, kind, ontology, added=added, selection=regeneration.selection, force=regeneration.force
        )


def _answer_once(
    tx: Transaction, key: str | None, asked: Regeneration, start: Callable[[Transaction], RegenerationStarted]
) -> RegenerationStarted:
    if key is None:
        return start(tx)
    fingerprint = compute_digest("regeneration", asked.model_dump_json())
    answer, _ = process_once(tx, key, fingerprint, lambda: start(tx).model_dump(mode="json"))
    return RegenerationStarted.model_validate(answer)


# Configuration of concept extraction

MAX_REJECTED = 1000


class ExtractionService:
    def __init__(self, graph: Graph, extractors: Extractors, requests: ExtractionRequests) -> None:
        self._graph = graph
        self._extractors = extractors
        self._requests = requests

    def show(self, ontology: str, *, with_cost: bool = False) -> ExtractionStatus:
        return self._to_status(read_extraction(self._graph, ontology), [], with_cost=with_cost)

    def set(self, ontology: str, config: ExtractionConfig, *, dry_run: bool) -> ExtractionStatus:
        """Configure extraction for an ontology, created if necessary. A dry run changes nothing."""
        # Fields missing in `config` keep their value. None selects the service's setting.
        present = self._present(ontology)
        config = present.config.model_copy(update=config.model_dump(exclude_unset=True))
        used = self._extractors.get_used_config(config)
        anew = replace(present, config=config)
        is_other = self._get_mark(used) != self._get_mark(self._extractors.get_used_config(present.config))
        self.require_usable(ontology, config)
        if dry_run:
            anew = replace(anew, asked=self._get_mark(used)) if is_other else anew
            status = self._to_status(anew, ["nothing was changed: this is a dry run"], with_cost=True)
            return status.model_copy(update={"applied": False})
        self._graph.transaction(lambda tx: write_extraction(tx, ontology, config))
        due, job_id = self._requests.begin(ontology, everything=is_other)
        notes = [f"a worker reads {pluralize(due, 'source')} now: job {job_id}"] if job_id else []
        return self._to_status(read_extraction(self._graph, ontology), notes, with_cost=True)

    def require_usable(self, ontology: str, config: ExtractionConfig) -> None:
        if problem := self._find_problem(ontology, self._extractors.get_used_config(config)):
            raise InvalidInput(problem)

    def extract(self, ontology: str, *, stale: bool = False) -> JobStarted:
        """Extract concepts from pending and previously rejected sources."""
        used = self._extractors.get_used_config(read_extraction(self._graph, ontology).config)
        if used.extractor == "none":
            raise InvalidInput(
                f"concept extraction is off for {ontology!r}. Set an extractor with `kg admin "
                f"concepts config --ontology {ontology!r} --extractor keyphrase`"
            )
        if problem := self._find_problem(ontology, used):
            raise InvalidInput(problem)
        due, job_id = self._requests.begin(ontology, everything=stale)
        return JobStarted(ontology=ontology, due=due, job_id=job_id)

    def list_refused(self, ontology: str) -> RefusedSources:
        mark = self._get_mark(self._extractors.get_used_config(read_extraction(self._graph, ontology).config))
        total = count_extraction(self._graph, ontology, mark)["refused"]
        found = list_unread_sources(self._graph, ontology, mark, limit=MAX_REJECTED)
        return RefusedSources(ontology=ontology, total=total, sources=found)

    def _present(self, ontology: str) -> StoredExtraction:
        try:
            return read_extraction(self._graph, ontology)
        except NotFound:
            return StoredExtraction(ontology)

    def _find_problem(self, ontology: str, used: UsedExtraction) -> str | None:
        try:
            self._extractors.open(ontology, used)
        except ConfigurationError as error:
            return str(error)
        return None

    def _get_mark(self, used: UsedExtraction) -> str | None:
        """Return the fingerprint. None (unknown model): a source read by any model counts as read."""
        unknown = used.extractor == "llm" and self._extractors.settings.llm.model is None
        return None if unknown else self._extractors.mark(used)

    def _to_status(self, stored: StoredExtraction, notes: list[str], *, with_cost: bool) -> ExtractionStatus:
        graph, name, llm = self._graph, stored.ontology, self._extractors.settings.llm
        used = self._extractors.get_used_config(stored.config)
        mark = self._get_mark(used)
        counts = count_extraction(graph, name, mark)
        unread = counts["total"] - counts["extracted"] - counts["refused"]
        due = unread if mark is None else self._requests.count_due(stored)
        stale = unread - due if used.extractor == "llm" else 0
        cost = estimate_extraction_cost(graph, name, used, llm, due) if with_cost else None
        again = estimate_extraction_cost(graph, name, used, llm, stale) if with_cost and stale else None
        last, _ = jobs.read_jobs_page(
            graph, state=None, kind=jobs.EXTRACTION, ontology=name, offset=0, limit=1
        )
        failed = [job for job in last if job.state is JobState.FAILED]
        return ExtractionStatus(
            ontology=name,
            config=stored.config,
            used=used,
            spent=round(stored.spent, 6),
            fingerprint=mark,
            model=llm.model if used.extractor == "llm" else None,
            due=due,
            stale=stale,
            **counts,
            cost=cost,
            stale_cost=again,
            problem=self._find_problem(name, used),
            last_error=f"job {failed[0].job_id} failed: {failed[0].error or 'no reason is recorded'}"
            if failed
            else None,
            notes=[*notes, *_build_advice(stored, used, cost, counts, stale)],
        )


def _build_advice(
    stored: StoredExtraction,
    used: UsedExtraction,
    cost: ExtractionCost | None,
    counts: Mapping[str, int],
    stale: int,
) -> list[str]:
    notes: list[str] = []
    if stored.paused:
        notes.append(
            "extraction is paused because its last job was cancelled. Resume with `kg admin concepts "
            f"extract --ontology {stored.ontology!r}`"
        )
    left = None if used.budget is None else used.budget - stored.spent
    if left is not None and cost is not None and cost.price is not None and cost.price > left:
        notes.append(
            f"this exceeds the remaining budget of ${max(left, 0):.4g}. Extraction stops at the limit "
            "and resumes when you raise the budget"
        )
    if counts["unverified_quotes"] > counts["quotes"]:
        notes.append(
            f"{counts['unverified_quotes']} quotes do not occur in their source or do not support the "
            f"concept, more than the {counts['quotes']} verified quotes. Choose another language "
            "model. `kg concepts show` marks unproved quotes"
        )
    if stale:
        notes.append(
            f"{pluralize(stale, 'source')} {are(stale)} stale (read by another model or prompt, or for "
            f"fewer). Read again with `kg admin concepts extract --stale --ontology {stored.ontology!r}`"
        )
    return notes


# Configuration of embeddings

Along = Callable[[Transaction], object]  # writes more in the same transaction, which may run twice


class ConfigurationService:
    def __init__(self, graph: Graph, estimator: Estimator, requests: EmbeddingRequests) -> None:
        self._graph = graph
        self._estimator = estimator
        self._requests = requests

    def show(self, ontology: str) -> EmbeddingConfiguration:
        return self._present(read_embedding_state(self._graph, ontology), [])

    def change(
        self, ontology: str, change: EmbeddingConfigChange, *, dry_run: bool, along: Along = lambda _: None
    ) -> EmbeddingConfiguration:
        """Configure an ontology, and create it if necessary. A dry run changes nothing."""

        def decide(reader: Reader, held: StoredConfiguration | None) -> EmbeddingState:
            spaces = read_spaces(reader)
            before = build_embedding_state(ontology, held or build_default_configuration(spaces), spaces)
            config = change.apply(before.target.config)
            wanted = build_layout(config.space, "", config.chunking)
            anew = _rebuild(reader, before, "text", wanted, activates=True)
            state = build_embedding_state(
                ontology, replace(anew, embed_on_ingest=config.embed_on_ingest), spaces
            )
            self._estimator.require_usable(state.target)
            return state

        # An ontology already protects the space that it uses from deletion
        named = [change.space or FIRST_SLUG] if "space" in change.model_fields_set else []
        self._require_spaces(named)
        state = self._store(ontology, "text", named, decide, dry_run=dry_run, along=along)
        if dry_run:
            answer = self._present(state, ["nothing was changed: this is a dry run"])
            return answer.model_copy(update={"applied": False})
        notes = list[str]()
        if state.serving is not None:
            how = "by itself" if state.configured.texts.activates else "when you activate it"
            notes.append(
                "searches use the present vectors until all are re-embedded. Then searches use the "
                f"new vectors, {how}"
            )
        return self._present(state, [*notes, *self._requests.start_required_work(state)])

    def rebuild(
        self, ontology: str, space: Space, *, dry_run: bool, activates: bool
    ) -> tuple[EmbeddingState, EmbeddingStatus | VectorCounts]:
        """Build texts or images of an ontology in another space while the current layout stays active."""
        slug, modality = space.slug, space.identity.modality

        def decide(reader: Reader, held: StoredConfiguration | None) -> EmbeddingState:
            if held is None:
                raise report_other_change(ontology)
            use = held.get_use(modality)
            if use.serving is not None and use.target.space != slug:
                raise report_other_change(ontology)
            spaces = read_spaces(reader)
            before = build_embedding_state(ontology, held, spaces)
            wanted = replace(use.answering, space=slug, slot="")
            anew = _rebuild(reader, before, modality, wanted, activates=activates)
            state = build_embedding_state(ontology, anew, spaces)
            if modality == "text":
                self._estimator.require_usable(state.target)
            return state

        if modality == "text":
            self._require_spaces([slug])
        state = self._store(ontology, modality, [slug], decide, dry_run=dry_run)
        if modality == "image":
            counts = count_embedded(self._graph, "image", state.targets("image"))
            return state, VectorCounts.model_validate(counts)
        return state, read_embedding_status(self._graph, [state.counted], ontology)

    def _store(
        self,
        ontology: str,
        modality: Modality,
        spaces: Sequence[str],
        decide: Callable[[Reader, StoredConfiguration | None], EmbeddingState],
        *,
        dry_run: bool,
        along: Along = lambda _: None,
    ) -> EmbeddingState:
        """Decide on a configuration while the ontology is locked, and store it in the same transaction."""
        if dry_run:
            return decide(self._graph, read_configurations(self._graph, ontology).get(ontology))

        def write(tx: Transaction) -> EmbeddingState:
            hold_spaces(tx, spaces)
            held = hold_configurations(tx, [ontology]).get(ontology)
            state = decide(tx, held)
            if held is not None and state.configured.get_use(modality).target.key in held.leftovers:
                raise Conflict(f"what {ontology} had there is being removed: try again in a moment")
            write_configuration(tx, ontology, state.configured)
            along(tx)
            return state

        state = self._graph.transaction(write)
        # Neo4j creates no index in a transaction that writes data. If kg dies here, the backfill creates it
        ensure_index(self._graph, state.targets(MAIN_KINDS[modality])[-1].space)
        return state

    def _require_spaces(self, slugs: Sequence[str]) -> None:
        spaces = read_spaces(self._graph) if slugs else {}
        for slug in slugs:
            if slug in spaces and spaces[slug].is_of_images:
                raise InvalidInput(
                    f"the embedding space {slug!r} is for images. To use the space, run `kg admin spaces "
                    f"build {slug}`"
                )
            if slug not in spaces or spaces[slug].dropping:
                state = "is being deleted" if slug in spaces else "does not exist"
                raise InvalidInput(
                    f"the embedding space {slug!r} {state}. `kg admin spaces list` shows the existing ones, "
                    "and `kg admin spaces create` adds one"
                )

    def estimate_new(
        self, record: DocumentRecord, new: Sequence[SourceRecord]
    ) -> tuple[EmbeddingConfig, Cost]:
        """Estimate the cost of embedding a document's new sources, as its ontology is configured."""
        known = read_embedding_states(self._graph, record.ontology).get(record.ontology)
        if known is None:
            space = get_default_space(read_spaces(self._graph))
            plan = build_plan(record.ontology, EmbeddingConfig(space=space.slug), space)
        else:
            plan = known.target
        crosses = plan.config.crosses_sources and new
        chosen = {source.source_id for source in (record.sources if crosses else new)}
        sources = [
            SourceText(
                source.source_id,
                record.document_id,
                source.paragraph,
                source.heading,
                source.start,
                source.full_text,
                source.content_hash,
            )
            for source in record.sources
            if source.source_id in chosen
        ]
        about = DocumentAbout(record.title, json.loads(record.metadata))
        return plan.config, self._estimator.estimate_document(plan, sources, about)

    def status(self, ontology: str | None) -> EmbeddingStatus:
        """Count the sources, concepts, images and relationships that have the vectors they should have."""
        if ontology:
            states = [read_embedding_state(self._graph, ontology)]
        else:
            states = [*read_embedding_states(self._graph).values()]

        def count(kind: EmbeddedKind) -> dict[str, int]:
            return count_embedded(self._graph, kind, [plan for each in states for plan in each.targets(kind)])

        status = read_embedding_status(self._graph, [each.counted for each in states], ontology)
        return status.model_copy(
            update={
                "concepts": ConceptCounts.model_validate(count("concept")),
                "images": VectorCounts.model_validate(count("image")),
                "edges": VectorCounts.model_validate(count("edge")),
            }
        )

    def list_refused(self, ontology: str) -> RefusedSources:
        state = read_embedding_state(self._graph, ontology)
        total = read_embedding_status(self._graph, [state.counted], ontology).refused
        found = read_rejected_sources(self._graph, ontology, state.target.mark, limit=MAX_REJECTED)
        return RefusedSources(ontology=ontology, total=total, sources=found)

    def _present(self, state: EmbeddingState, notes: list[str]) -> EmbeddingConfiguration:
        plan, configured = state.target, state.configured
        previous, ingest = configured.texts.previous, configured.embed_on_ingest
        status = read_embedding_status(self._graph, [state.counted], plan.ontology)
        model = state.answering.space.identity.model
        notes = [*notes, *describe_unknown_languages(model, status.languages)]
        if configured.paused:
            command = f"kg admin source-embeddings generate --ontology {state.ontology!r}"
            note = "embedding is paused because its last job was cancelled. Resume with"
            notes = [*notes, f"{note} {command}"]
        return EmbeddingConfiguration(
            ontology=plan.ontology,
            config=plan.config,
            dimensions=plan.space.dimensions,
            **status.model_dump(include={"total", "embedded", "missing", "stale", "refused"}),
            answering=state.serving.config if state.serving else None,
            previous=previous.config(embed_on_ingest=ingest) if previous else None,
            activates=configured.texts.activates,
            paused=configured.paused,
            regeneration=self._estimator.estimate_ontology(plan, due=status.missing + status.stale),
            notes=notes,
        )


def _rebuild(
    reader: Reader, before: EmbeddingState, modality: Modality, wanted: Layout, *, activates: bool
) -> StoredConfiguration:
    """Set another target. Existing vectors answer until the target is complete."""
    if modality == "text":
        answers = read_embedding_status(reader, [before.counted], before.ontology).searchable > 0
    else:
        counted = count_embedded(reader, "image", before.images[:1])
        answers = counted["embedded"] + counted["stale"] > 0
    use = before.configured.get_use(modality).with_build(wanted, answers=answers, activates=activates)
    return before.configured.with_use(modality, use)
