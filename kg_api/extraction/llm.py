"""Extractor with a language model: prompts, batches, cost, and the choice of an ontology's extractor."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from string import Template

import structlog

from kg_api.errors import ConfigurationError, InvalidInput
from kg_api.extraction.keyphrases import KeyphraseExtractor
from kg_api.extraction.replies import READING, LlmBudget, Unusable, serialize, verify_extraction
from kg_api.graph.cache import read_contexts
from kg_api.graph.client import Graph, Reader, Transaction
from kg_api.graph.concept_writes import (
    StoredExtraction,
    build_reading_fingerprint,
    count_for_extraction,
    hold_extraction,
    read_extraction,
    retry_unread,
)
from kg_api.graph.jobs import (
    EXTRACTION,
    MAX_COOLDOWN_SECONDS,
    can_accept_request,
    ensure_job,
    is_requested,
    must_wait_to_restart,
    request_job,
)
from kg_api.graph.reach import get_visible_ontologies
from kg_api.graph.vectors import DocumentAbout, Flags, SourceText, list_document_sources, read_document_facts
from kg_api.providers.chat import (
    MAX_TITLE_LENGTH,
    NUMBER,
    TEXT,
    Chunk,
    Prompt,
    Reply,
    build_list_schema,
    build_object_schema,
    compute_price,
    estimate_tokens,
    join_headings,
    list_unguessable_ids,
    parse_entries,
    select_short_metadata,
)
from kg_api.providers.openai_chat import Chat
from kg_api.providers.retrying import RetryPolicy, ask_at_once, wait
from kg_api.schemas.base import compute_digest
from kg_api.schemas.concepts import PER_SOURCE, Extraction, ExtractionConfig, ExtractionCost, UsedExtraction
from kg_api.schemas.vocabulary import ExtractorName, Selection
from kg_api.sections import LlmSettings
from kg_api.settings import Settings

# Prompt for the concepts of passages, with their neighbours as context

TOGETHER = 8  # consecutive passages per prompt
MAX_BYTES = 8_000  # maximum bytes of several passages in one prompt
VERSION = "1"  # version of prompt and parser: a change makes all sources pending
BESIDE = 600  # characters of the neighbouring sources in the prompt
WORDS_A_CONCEPT = 25
CONCEPT_TOKENS = 110  # estimated tokens of a concept in a reply, with a quote and a share of a relationship
PASSAGE_TOKENS = 20
CONCEPT = build_object_schema(
    label=TEXT,
    description=TEXT,
    search_terms=build_list_schema(TEXT),
    quotes=build_list_schema(TEXT),
    confidence=NUMBER,
)
RELATION = build_object_schema(subject=TEXT, type=TEXT, object=TEXT, confidence=NUMBER)
SCHEMA = build_object_schema(
    passages=build_list_schema(
        build_object_schema(
            id=TEXT, concepts=build_list_schema(CONCEPT), relations=build_list_schema(RELATION)
        )
    )
)


@dataclass(frozen=True, slots=True)
class ExtractionPassage:
    source: SourceText
    before: str
    after: str
    at: int  # index in the document, or -1

    @property
    def size(self) -> int:
        return len(self.source.full_text.encode(errors="replace"))


@cache
def build_instruction(per_source: int) -> str:
    text = resources.files("kg_api").joinpath("extraction/prompt.md").read_text(encoding="utf-8")
    return Template(text).substitute(per_source=per_source)


def build_extraction_passages(
    due: Sequence[SourceText], document: Sequence[SourceText]
) -> list[ExtractionPassage]:
    """Build the pending sources with their neighbours, if their document still contains them."""
    places = {source.source_id: at for at, source in enumerate(document)}
    passages = list[ExtractionPassage]()
    for source in due:
        at = places.get(source.source_id, -1)
        before = document[at - 1].full_text[-BESIDE:] if at > 0 else ""
        after = document[at + 1].full_text[:BESIDE] if 0 <= at < len(document) - 1 else ""
        passages.append(ExtractionPassage(source, before, after, at))
    return passages


def hash_extraction_inputs(
    model: str, per_source: int, about: DocumentAbout, passage: ExtractionPassage
) -> str:
    """Hash everything that determines the concepts of a passage."""
    document_facts = json.dumps([about.title, select_short_metadata(about.metadata)], ensure_ascii=False)
    source = passage.source
    beside = (passage.before, passage.after)
    return compute_digest(
        "concepts",
        VERSION,
        model,
        build_instruction(per_source),
        document_facts,
        *beside,
        *source.heading,
        source.full_text,
    )


def split_into_batches(passages: Sequence[ExtractionPassage]) -> Iterator[list[ExtractionPassage]]:
    """Yield consecutive passages for one prompt."""
    batch: list[ExtractionPassage] = []
    for passage in passages:
        full = len(batch) == TOGETHER or sum(each.size for each in batch) + passage.size > MAX_BYTES
        if batch and (full or passage.at != batch[-1].at + 1):
            yield batch
            batch = []
        batch.append(passage)
    if batch:
        yield batch


def build_prompt(about: DocumentAbout, batch: Sequence[ExtractionPassage], per_source: int) -> Prompt:
    data = {
        "title": about.title[:MAX_TITLE_LENGTH],
        "metadata": dict(select_short_metadata(about.metadata)),
        "text_before": batch[0].before,
        "passages": [
            {"id": name, "headings": join_headings(each.source.heading), "text": each.source.full_text}
            for name, each in zip(list_passage_names(batch), batch, strict=True)
        ],
        "text_after": batch[-1].after,
    }
    return Prompt(build_instruction(per_source), json.dumps(data, ensure_ascii=False), "concepts", SCHEMA)


def list_passage_names(batch: Sequence[ExtractionPassage]) -> list[str]:
    return list_unguessable_ids([Chunk(each.source.full_text, each.source.heading) for each in batch])


def answer_tokens(passages: Iterable[ExtractionPassage], per_source: int) -> int:
    """Estimate the tokens of the reply."""
    total = 0
    for each in passages:
        text = each.source.full_text
        words = max(len(text.split()), len(text) // 10)  # for scripts without spaces
        total += PASSAGE_TOKENS + CONCEPT_TOKENS * min(per_source, 1 + words // WORDS_A_CONCEPT)
    return total


# Cost estimate

SAMPLED_DOCUMENTS = 20
SAMPLED_SOURCES = 400


def estimate_extraction_cost(
    graph: Graph, ontology: str, config: UsedExtraction, settings: LlmSettings, due: int
) -> ExtractionCost:
    """Estimate the cost of the pending sources from a sample of the ontology's documents."""
    if config.extractor != "llm" or not due:
        return ExtractionCost(sources=due)
    row = graph.read("ontologies/sample", ontology=ontology, limit=SAMPLED_DOCUMENTS)[0]
    counts = Counter[str]()
    for document_id in row["sample"]:
        counts["documents"] += 1
        document = list_document_sources(graph, document_id)
        about = read_document_facts(graph, [document_id]).get(document_id)
        if about is None:
            continue
        passages = build_extraction_passages(document[:SAMPLED_SOURCES], document)
        keys = {
            hash_extraction_inputs(settings.model or "", config.per_source, about, each): each
            for each in passages
        }
        # The cache shows whether others have the same text, so only users who see all ontologies use it.
        known = read_contexts(graph, list(keys)) if get_visible_ontologies() is None else {}
        missing = [each for key, each in keys.items() if key not in known]
        questions = [build_prompt(about, batch, config.per_source) for batch in split_into_batches(missing)]
        counts["sources"] += len(passages)
        counts["remembered"] += len(passages) - len(missing)
        counts["requests"] += len(questions)
        counts["read"] += sum(
            estimate_tokens(each.instruction) + estimate_tokens(each.data) for each in questions
        )
        counts["written"] += answer_tokens(missing, config.per_source)
        if counts["sources"] >= SAMPLED_SOURCES:
            break
    factor = due / counts["sources"] if counts["sources"] else 0.0
    estimated = {name: math.ceil(count * factor) for name, count in counts.items()}
    read, written = estimated.get("read", 0), estimated.get("written", 0)
    price = compute_price(settings, read, written)
    notes = ["the output of the language model is estimated from the length of the texts"]
    if counts["documents"] < row["documents"]:
        notes.append(f"estimated from {counts['documents']} of {row['documents']} documents")
    if remembered := estimated.get("remembered", 0):
        notes.append(f"about {remembered} sources were read before: their answers are kept and cost nothing")
    if price is None:
        notes.append("the price of the model is unknown. Set KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT")
    return ExtractionCost(
        sources=due,
        requests=estimated.get("requests", 0),
        tokens_read=read,
        tokens_written=written,
        price=None if price is None else round(price, 6),
        notes=notes,
    )


# Extractor with a language model: batches, validation, and a cache of replies

AskCounted = Callable[[Prompt], Reply]
AT_ONCE = 4  # parallel requests
Batch = Mapping[str, ExtractionPassage]  # consecutive passages by the cache keys of their replies


class LlmExtractor:
    """Extractor with a language model. Thread-safe. Cached replies for the same text cost nothing."""

    def __init__(self, graph: Graph, model: str, ask: AskCounted, budget: LlmBudget, per_source: int) -> None:
        self._graph = graph
        self._model = model
        self._ask = ask
        self._budget = budget
        self._per_source = per_source
        self._asking = threading.Semaphore(AT_ONCE)

    @property
    def name(self) -> ExtractorName:
        return "llm"

    @property
    def mark(self) -> str:
        return compute_extraction_fingerprint(self._model, self._per_source)

    def extract(
        self, due: Sequence[SourceText], document: Sequence[SourceText], about: DocumentAbout
    ) -> list[Extraction]:
        passages = build_extraction_passages(due, document)
        keys = [hash_extraction_inputs(self._model, self._per_source, about, each) for each in passages]
        wanted = dict(zip(keys, passages, strict=True))
        found = dict[str, Extraction]()
        for key, text in read_contexts(self._graph, list(wanted)).items():
            with contextlib.suppress(Unusable):  # another version cached the reply: request it again
                found[key] = verify_extraction(wanted[key].source, json.loads(text), self._per_source)
        by_source = {id(passage): key for key, passage in wanted.items() if key not in found}
        requests = [
            partial(self._request_with_fallback, about, {by_source[id(each)]: each for each in batch})
            for batch in split_into_batches([each for key, each in wanted.items() if key not in found])
        ]
        for answered in ask_at_once(requests, AT_ONCE):
            found |= answered
        return [  # several sources may have the same text
            replace(found[key], source_id=each.source.source_id, content_hash=each.source.content_hash)
            for key, each in zip(keys, passages, strict=True)
        ]

    def _request_with_fallback(self, about: DocumentAbout, batch: Batch) -> dict[str, Extraction]:
        """Request passages together, then each passage with an unusable reply in its own prompt."""
        found = self._request(about, batch)
        for key, passage in batch.items():
            if isinstance(found[key], str):
                found |= self._request(about, {key: passage})
        extractions = dict[str, Extraction]()
        for key, passage in batch.items():
            result = found[key]
            if isinstance(result, str):
                reason = f"the response of the language model is not usable after two requests: {result}"
                source = passage.source
                result = Extraction(source.source_id, source.content_hash, refused=reason)
            extractions[key] = result
        return extractions

    def _request(self, about: DocumentAbout, batch: Batch) -> dict[str, Extraction | str]:
        """Return the concepts of each passage, or the reason why the reply is unusable."""
        passages = list(batch.values())
        prompt = build_prompt(about, passages, self._per_source)
        reserved = self._budget.reserve(prompt, answer_tokens(passages, self._per_source))
        found, answers = dict[str, Extraction | str](), dict[str, str]()
        try:
            with self._asking:
                wait(0)
                reply = self._ask(prompt)
            entries = parse_entries(reply.text, "passages")
            for name, (key, passage) in zip(list_passage_names(passages), batch.items(), strict=True):
                entry = entries.get(name)
                if entry is None:
                    found[key] = "the response omits this source"
                    continue
                try:
                    found[key] = verify_extraction(passage.source, entry, self._per_source)
                    answers[key] = serialize(entry)
                except Unusable as error:
                    found[key] = str(error)
            self._budget.keep(answers, prompt, reply)
        except InvalidInput as error:  # the server rejects the text
            return dict.fromkeys(batch, str(error))
        finally:
            self._budget.release(reserved)
        return found


def compute_extraction_fingerprint(model: str, per_source: int) -> str:
    return compute_digest("llm", VERSION, READING, model, build_instruction(per_source))[:16]


Extractor = KeyphraseExtractor | LlmExtractor

# Extractor of an ontology

NO_MARK = ""  # fingerprint of an ontology without extraction


class Extractors:
    """Factory of extractors, which share the connections to the language model."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self.settings = settings
        self._graph = graph
        self._llm = Chat(settings, RetryPolicy())

    def get_used_config(self, config: ExtractionConfig) -> UsedExtraction:
        """Return the configuration with the defaults of the settings."""
        usual = self.settings.concepts
        extractor = config.extractor or usual.extractor
        per_source = usual.per_source if config.per_source is None else config.per_source
        return UsedExtraction(
            extractor=extractor,
            per_source=PER_SOURCE[extractor] if per_source is None else per_source,
            budget=usual.budget if config.budget is None else config.budget,
        )

    def mark(self, config: UsedExtraction) -> str:
        """Return the fingerprint of an ontology's extractor, also if it cannot be used, or "" without one."""
        match config.extractor:
            case "llm":
                return compute_extraction_fingerprint(self.settings.llm.model or "", config.per_source)
            case "keyphrase":
                return KeyphraseExtractor(config.per_source).mark
            case "none":
                return NO_MARK

    def open(self, ontology: str, config: UsedExtraction, job_id: str | None = None) -> Extractor | None:
        """Open the extractor of an ontology for a job, or return None. No request is sent."""
        if config.extractor == "none":
            return None
        if config.extractor == "keyphrase":
            return KeyphraseExtractor(config.per_source)
        try:
            model = self._llm.name
        except ConfigurationError as error:
            raise ConfigurationError(
                f"extraction from {ontology!r} needs a language model for the service and its "
                f"workers: {error}"
            ) from error
        budget = LlmBudget(self._graph, ontology, self.settings.llm, config.budget, job_id)
        return LlmExtractor(self._graph, model, self._llm.ask_counted, budget, config.per_source)

    def close(self) -> None:
        self._llm.close()


# Requests for extraction: by users, by ingestion, or by the backfill

log = structlog.get_logger()


def get_automatic_selection(stored: StoredExtraction, used: UsedExtraction, mark: str) -> Selection:
    """Return the automatic selection: all pending sources, or only sources without concepts.

    A language model costs money. So kg keeps the concepts of another model, prompt or limit until a user
    requests the extraction.
    """
    return "missing" if used.extractor == "llm" and stored.asked != mark else "due"


class ExtractionRequests:
    def __init__(self, graph: Graph, extractors: Extractors) -> None:
        self._graph = graph
        self._extractors = extractors
        self._begun = time.monotonic()
        self._flags = Flags(graph)

    def count_due(self, stored: StoredExtraction) -> int:
        """Count sources that are extracted automatically, or 0 without an extractor."""
        used = self._extractors.get_used_config(stored.config)
        if used.extractor == "none":
            return 0
        mark = self._extractors.mark(used)
        return count_for_extraction(
            self._graph, stored.ontology, mark, get_automatic_selection(stored, used, mark)
        )

    def begin(self, ontology: str, *, everything: bool = False) -> tuple[int, str | None]:
        """Request pending and skipped sources, and return their number and the job id."""
        stored = read_extraction(self._graph, ontology)
        used = self._extractors.get_used_config(stored.config)
        if used.extractor == "none":
            return 0, None
        mark = self._extractors.mark(used)
        due = self.count_due(replace(stored, asked=mark) if everything else stored)

        def request_all(tx: Transaction) -> tuple[int, str | None]:
            all_due = due + retry_unread(tx, ontology)
            if everything:
                tx.run("extraction/ask", ontology=ontology, mark=mark if all_due else None)
            if not all_due:
                return 0, None
            added = 0 if is_requested(tx, EXTRACTION, ontology) else all_due
            return all_due, request_job(tx, EXTRACTION, ontology, added=added)

        return self._graph.transaction(request_all)

    def request(self, tx: Transaction, ontology: str, added: int) -> None:
        """Request extraction of stored sources, if enabled. If too many jobs wait, `look` does it later."""
        if self._is_wanted(tx, read_extraction(tx, ontology)) and can_accept_request(
            tx, EXTRACTION, ontology
        ):
            request_job(tx, EXTRACTION, ontology, added=added, limited=False, paused=False)

    def start_pending(self, stored: StoredExtraction) -> None:
        """Create the job if sources are pending, unless it was cancelled or a user must fix its error."""
        if not self._is_wanted(self._graph, stored):
            return
        mark = build_reading_fingerprint(
            self._extractors.mark(self._extractors.get_used_config(stored.config))
        )
        self._flags.keep(
            stored.ontology, mark, lambda tx: hold_extraction(tx, stored.ontology) == stored.config
        )
        if not (due := self.count_due(stored)):
            return
        job_id, created = ensure_job(self._graph, EXTRACTION, stored.ontology, total=due)
        if created:
            log.info("extraction enqueued", job_id=job_id, ontology=stored.ontology, due=due)

    def _is_wanted(self, graph: Reader, stored: StoredExtraction) -> bool:
        """Check if extraction starts automatically.

        After an error that a user must fix, a language model waits for that user, also after restarts. Each
        attempt costs money.
        """
        used = self._extractors.get_used_config(stored.config)
        if stored.paused or used.extractor == "none":
            return False
        after_fault = math.inf if used.extractor == "llm" else MAX_COOLDOWN_SECONDS
        uptime = time.monotonic() - self._begun
        return not must_wait_to_restart(
            graph, EXTRACTION, stored.ontology, at_most=uptime, after_fault=after_fault
        )
