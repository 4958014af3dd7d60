"""Concepts by a language model: prompts, batches, cost, and the choice of an extractor for an ontology."""

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
from typing import Protocol

import structlog

from kg_api.errors import ConfigurationError, InvalidInput
from kg_api.extraction.keyphrases import KeyphraseExtractor
from kg_api.extraction.replies import READING, LlmBudget, Unusable, extraction_of, serialize
from kg_api.graph.cache import read_contexts
from kg_api.graph.client import Graph, Reader, Transaction
from kg_api.graph.concept_writes import (
    StoredExtraction,
    ask_for_all,
    count_for_extraction,
    hold_extraction,
    read_extraction,
    reading_mark,
    retry_unread,
)
from kg_api.graph.jobs import (
    EXTRACTION,
    MAX_COOLDOWN_SECONDS,
    ensure_job,
    is_asked_for,
    request_job,
    rests,
    would_be_taken,
)
from kg_api.graph.reach import reach
from kg_api.graph.vectors import DocumentAbout, Flags, SourceText, about_documents, sources_of_document
from kg_api.providers.chat import (
    MAX_TITLE_LENGTH,
    NUMBER,
    TEXT,
    Chunk,
    LanguageModel,
    Prompt,
    Reply,
    list_of,
    names_of,
    object_of,
    parse_entries,
    path_of,
    price_of,
    short_metadata,
    tokens_of,
)
from kg_api.providers.retrying import RetryPolicy, ask_at_once, wait
from kg_api.schemas.base import digest
from kg_api.schemas.concepts import PER_SOURCE, Extraction, ExtractionConfig, ExtractionCost, UsedExtraction
from kg_api.schemas.vocabulary import ExtractorName, Selection
from kg_api.sections import LlmSettings
from kg_api.settings import Settings

# What a language model is asked for: the concepts of some passages, their neighbours shown beside them.

TOGETHER = 8
"""Passages in one question, one behind the other in the document."""
MAX_BYTES = 8_000
"""Bytes of passages in one question, unless one alone has more."""
VERSION = "1"
"""Of how answers are asked for and read; another one makes all sources due again."""
BESIDE = 600
"""Characters that are shown of the source before the passages, and of the one behind them."""
WORDS_A_CONCEPT = 25
CONCEPT_TOKENS = 110
"""Of a concept in an answer with its quote, and a relation now and then: a guess, for estimates."""
PASSAGE_TOKENS = 20
CONCEPT = object_of(
    label=TEXT, description=TEXT, search_terms=list_of(TEXT), quotes=list_of(TEXT), confidence=NUMBER
)
RELATION = object_of(subject=TEXT, type=TEXT, object=TEXT, confidence=NUMBER)
SCHEMA = object_of(
    passages=list_of(object_of(id=TEXT, concepts=list_of(CONCEPT), relations=list_of(RELATION)))
)


@dataclass(frozen=True, slots=True)
class ExtractionPassage:
    """A source to be read, and the text before and behind it."""

    source: SourceText
    before: str
    after: str
    at: int
    """Its place among its document's sources, from 0."""

    @property
    def size(self) -> int:
        return len(self.source.full_text.encode(errors="replace"))


@cache
def instruction(per_source: int) -> str:
    text = resources.files("kg_api").joinpath("extraction/prompt.md").read_text(encoding="utf-8")
    return Template(text).substitute(per_source=per_source)


def passages_of(due: Sequence[SourceText], document: Sequence[SourceText]) -> list[ExtractionPassage]:
    """The sources that are due, among their neighbours; one that its document has no more stands alone."""
    places = {source.source_id: at for at, source in enumerate(document)}
    passages = list[ExtractionPassage]()
    for source in due:
        at = places.get(source.source_id, -1)
        before = document[at - 1].full_text[-BESIDE:] if at > 0 else ""
        after = document[at + 1].full_text[:BESIDE] if 0 <= at < len(document) - 1 else ""
        passages.append(ExtractionPassage(source, before, after, at))
    return passages


def key_of(model: str, per_source: int, about: DocumentAbout, passage: ExtractionPassage) -> str:
    """A hash of all that decides over what is found in a passage."""
    shown = json.dumps([about.title, short_metadata(about.metadata)], ensure_ascii=False)
    source = passage.source
    beside = (passage.before, passage.after)
    return digest(
        "concepts", VERSION, model, instruction(per_source), shown, *beside, *source.heading, source.full_text
    )


def batches(passages: Sequence[ExtractionPassage]) -> Iterator[list[ExtractionPassage]]:
    """Passages that follow on each other, so many that they can be asked for at once."""
    batch: list[ExtractionPassage] = []
    for passage in passages:
        full = len(batch) == TOGETHER or sum(each.size for each in batch) + passage.size > MAX_BYTES
        if batch and (full or passage.at != batch[-1].at + 1):
            yield batch
            batch = []
        batch.append(passage)
    if batch:
        yield batch


def question(about: DocumentAbout, batch: Sequence[ExtractionPassage], per_source: int) -> Prompt:
    """What is asked about some passages that follow on each other."""
    data = {
        "title": about.title[:MAX_TITLE_LENGTH],
        "metadata": dict(short_metadata(about.metadata)),
        "text_before": batch[0].before,
        "passages": [
            {"id": name, "headings": path_of(each.source.heading), "text": each.source.full_text}
            for name, each in zip(names(batch), batch, strict=True)
        ],
        "text_after": batch[-1].after,
    }
    return Prompt(instruction(per_source), json.dumps(data, ensure_ascii=False), "concepts", SCHEMA)


def names(batch: Sequence[ExtractionPassage]) -> list[str]:
    return names_of([Chunk(each.source.full_text, each.source.heading) for each in batch])


def answer_tokens(passages: Iterable[ExtractionPassage], per_source: int) -> int:
    """About how much will be written of some passages."""
    total = 0
    for each in passages:
        text = each.source.full_text
        words = max(len(text.split()), len(text) // 10)  # where words are written together
        total += PASSAGE_TOKENS + CONCEPT_TOKENS * min(per_source, 1 + words // WORDS_A_CONCEPT)
    return total


# What extraction will take, before anything is asked.

SAMPLED_DOCUMENTS = 20
SAMPLED_SOURCES = 400


def extraction_cost(
    graph: Graph, ontology: str, config: UsedExtraction, settings: LlmSettings, due: int
) -> ExtractionCost:
    """Estimate the cost of reading the pending sources, from a sample of the ontology's documents."""
    if config.extractor != "llm" or not due:
        return ExtractionCost(sources=due)
    row = graph.read("ontologies/sample", ontology=ontology, limit=SAMPLED_DOCUMENTS)[0]
    counts = Counter[str]()
    for document_id in row["sample"]:
        counts["documents"] += 1
        document = sources_of_document(graph, document_id)
        about = about_documents(graph, [document_id]).get(document_id)
        if about is None:
            continue
        passages = passages_of(document[:SAMPLED_SOURCES], document)
        keys = {key_of(settings.model or "", config.per_source, about, each): each for each in passages}
        # Others may have had the same text, so that the cache is only read for somebody who sees all.
        known = read_contexts(graph, list(keys)) if reach() is None else {}
        missing = [each for key, each in keys.items() if key not in known]
        questions = [question(about, batch, config.per_source) for batch in batches(missing)]
        counts["sources"] += len(passages)
        counts["remembered"] += len(passages) - len(missing)
        counts["requests"] += len(questions)
        counts["read"] += sum(tokens_of(each.instruction) + tokens_of(each.data) for each in questions)
        counts["written"] += answer_tokens(missing, config.per_source)
        if counts["sources"] >= SAMPLED_SOURCES:
            break
    factor = due / counts["sources"] if counts["sources"] else 0.0
    estimated = {name: math.ceil(count * factor) for name, count in counts.items()}
    read, written = estimated.get("read", 0), estimated.get("written", 0)
    price = price_of(settings, read, written)
    notes = ["what the language model will write is a guess by the length of the texts"]
    if counts["documents"] < row["documents"]:
        notes.append(f"estimated from {counts['documents']} of {row['documents']} documents")
    if remembered := estimated.get("remembered", 0):
        notes.append(f"about {remembered} sources were read before: their answers are kept and cost nothing")
    if price is None:
        notes.append("the model's price is not known; set KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT")
    return ExtractionCost(
        sources=due,
        requests=estimated.get("requests", 0),
        tokens_read=read,
        tokens_written=written,
        price=None if price is None else round(price, 6),
        notes=notes,
    )


# Concepts by a language model: asked in batches, read with suspicion, each answer paid for once.

AskCounted = Callable[[Prompt], Reply]
AT_ONCE = 4
"""Questions that are asked at the same time."""
Batch = Mapping[str, ExtractionPassage]
"""Passages that follow each other, by the keys of their answers."""


class LlmExtractor:
    """See `Extractor`; for several threads. What was answered before for the same text costs nothing."""

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
        return mark_of(self._model, self._per_source)

    def extract(
        self, due: Sequence[SourceText], document: Sequence[SourceText], about: DocumentAbout
    ) -> list[Extraction]:
        passages = passages_of(due, document)
        keys = [key_of(self._model, self._per_source, about, each) for each in passages]
        wanted = dict(zip(keys, passages, strict=True))
        found = dict[str, Extraction]()
        for key, text in read_contexts(self._graph, list(wanted)).items():
            with contextlib.suppress(Unusable):
                found[key] = extraction_of(wanted[key].source, json.loads(text), self._per_source)
        by_source = {id(passage): key for key, passage in wanted.items() if key not in found}
        asked = [
            partial(self._ask_twice, about, {by_source[id(each)]: each for each in batch})
            for batch in batches([each for key, each in wanted.items() if key not in found])
        ]
        for answered in ask_at_once(asked, AT_ONCE):
            found |= answered
        return [  # a text may be that of several sources
            replace(found[key], source_id=each.source.source_id, content_hash=each.source.content_hash)
            for key, each in zip(keys, passages, strict=True)
        ]

    def _ask_twice(self, about: DocumentAbout, batch: Batch) -> dict[str, Extraction]:
        """Ask for some passages together, and again, alone, for each whose answer cannot be used."""
        found = self._ask_once(about, batch)
        for key, passage in batch.items():
            if isinstance(found[key], str):
                found |= self._ask_once(about, {key: passage})
        extractions = dict[str, Extraction]()
        for key, passage in batch.items():
            result = found[key]
            if isinstance(result, str):
                reason = f"the language model's answer cannot be used, asked twice: {result}"
                source = passage.source
                result = Extraction(source.source_id, source.content_hash, refused=reason)
            extractions[key] = result
        return extractions

    def _ask_once(self, about: DocumentAbout, batch: Batch) -> dict[str, Extraction | str]:
        """Return the concepts of each passage, or why its answer cannot be used."""
        passages = list(batch.values())
        asked = question(about, passages, self._per_source)
        reserved = self._budget.reserve(asked, answer_tokens(passages, self._per_source))
        found, answers = dict[str, Extraction | str](), dict[str, str]()
        try:
            with self._asking:
                wait(0)
                reply = self._ask(asked)
            said = parse_entries(reply.text, "passages")
            for name, (key, passage) in zip(names(passages), batch.items(), strict=True):
                entry = said.get(name)
                if entry is None:
                    found[key] = "its answer leaves it out"
                    continue
                try:
                    found[key] = extraction_of(passage.source, entry, self._per_source)
                    answers[key] = serialize(entry)
                except Unusable as error:
                    found[key] = str(error)
            self._budget.keep(answers, asked, reply)
        except InvalidInput as error:  # the server does not take the text
            return dict.fromkeys(batch, str(error))
        finally:
            self._budget.release(reserved)
        return found


def mark_of(model: str, per_source: int) -> str:
    return digest("llm", VERSION, READING, model, instruction(per_source))[:16]


# What every extractor of concepts can do.


class Extractor(Protocol):
    """Finds concepts in sources. Not for several threads."""

    @property
    def name(self) -> ExtractorName: ...

    @property
    def mark(self) -> str:
        """A short hash of all that decides over what it finds: version, model, prompt, limits."""
        ...

    def extract(
        self, due: Sequence[SourceText], document: Sequence[SourceText], about: DocumentAbout
    ) -> list[Extraction]:
        """Find the concepts of some sources.

        Args:
            due: the sources to read, of one document, in reading order.
            document: all sources of that document, in reading order.
            about: its title and metadata.

        Returns:
            One for each source that is due, in their order; one that cannot be read says why in `refused`.

        Raises:
            LlmUnavailable, ConfigurationError: a model does not answer; nothing is lost.
        """
        ...


# Which extractor an ontology has, and opening it.

NO_MARK = ""
"""Of an ontology from which nothing is extracted."""


class Extractors:
    """Opens extractors; the language model's connections are opened once."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self.settings = settings
        self._graph = graph
        self._llm = LanguageModel(settings, RetryPolicy())

    def used(self, config: ExtractionConfig) -> UsedExtraction:
        """Fill in what an ontology's configuration leaves to the settings."""
        usual = self.settings.concepts
        extractor = config.extractor or usual.extractor
        per_source = usual.per_source if config.per_source is None else config.per_source
        return UsedExtraction(
            extractor=extractor,
            per_source=PER_SOURCE[extractor] if per_source is None else per_source,
            budget=usual.budget if config.budget is None else config.budget,
        )

    def mark(self, config: UsedExtraction) -> str:
        """The mark of an ontology's extractor, which need not be usable; "" when there is none."""
        match config.extractor:
            case "llm":
                return mark_of(self.settings.llm.model or "", config.per_source)
            case "keyphrase":
                return KeyphraseExtractor(config.per_source).mark
            case "none":
                return NO_MARK

    def open(self, ontology: str, config: UsedExtraction, job_id: str | None = None) -> Extractor | None:
        """Open an ontology's extractor, for a job; None when it has none. Nothing is asked yet."""
        if config.extractor == "none":
            return None
        if config.extractor == "keyphrase":
            return KeyphraseExtractor(config.per_source)
        try:
            model = self._llm.name
        except ConfigurationError as error:
            raise ConfigurationError(
                f"concepts of {ontology!r} are extracted by a language model, for the service and its "
                f"workers: {error}"
            ) from error
        budget = LlmBudget(self._graph, ontology, self.settings.llm, config.budget, job_id)
        return LlmExtractor(self._graph, model, self._llm.ask_counted, budget, config.per_source)

    def close(self) -> None:
        """Close the connections to the language model."""
        self._llm.close()


# Asking for extraction: by a person, with text that comes in, or because some is due.

log = structlog.get_logger()


def selection(stored: StoredExtraction, used: UsedExtraction, mark: str) -> Selection:
    """What is read without being asked for: all that the extractor has not read, or only what none has.

    A language model costs money. What another model, prompt or number of concepts has read stays as it is
    until somebody asks for it.
    """
    return "missing" if used.extractor == "llm" and stored.asked != mark else "due"


class ExtractionRequests:
    def __init__(self, graph: Graph, extractors: Extractors) -> None:
        self._graph = graph
        self._extractors = extractors
        self._begun = time.monotonic()
        self._flags = Flags(graph)

    def due(self, stored: StoredExtraction) -> int:
        """How many sources of an ontology are read without being asked for; 0 without an extractor."""
        used = self._extractors.used(stored.config)
        if used.extractor == "none":
            return 0
        mark = self._extractors.mark(used)
        return count_for_extraction(self._graph, stored.ontology, mark, selection(stored, used, mark))

    def begin(self, ontology: str, *, everything: bool = False) -> tuple[int, str | None]:
        """Have read what is due, and what was set aside; how many sources, and the job."""
        stored = read_extraction(self._graph, ontology)
        used = self._extractors.used(stored.config)
        if used.extractor == "none":
            return 0, None
        mark = self._extractors.mark(used)
        due = self.due(replace(stored, asked=mark) if everything else stored)

        def ask(tx: Transaction) -> tuple[int, str | None]:
            all_due = due + retry_unread(tx, ontology)
            if everything:
                ask_for_all(tx, ontology, mark if all_due else None)
            if not all_due:
                return 0, None
            added = 0 if is_asked_for(tx, EXTRACTION, ontology) else all_due
            return all_due, request_job(tx, EXTRACTION, ontology, added=added)

        return self._graph.transaction(ask)

    def ask(self, tx: Transaction, ontology: str, added: int) -> None:
        """Have so many new sources read within the transaction that stores them, unless nobody wants that.

        No text is refused because too many jobs wait: what is not asked for now, the next `look` asks for.
        """
        if self._is_wanted(tx, read_extraction(tx, ontology)) and would_be_taken(tx, EXTRACTION, ontology):
            request_job(tx, EXTRACTION, ontology, added=added, limited=False, paused=False)

    def look(self, stored: StoredExtraction) -> None:
        """Make the job if something is due, unless it was cancelled or a person must fix its error."""
        if not self._is_wanted(self._graph, stored):
            return
        mark = reading_mark(self._extractors.mark(self._extractors.used(stored.config)))
        self._flags.keep(
            stored.ontology, mark, lambda tx: hold_extraction(tx, stored.ontology) == stored.config
        )
        if not (due := self.due(stored)):
            return
        job_id, created = ensure_job(self._graph, EXTRACTION, stored.ontology, total=due)
        if created:
            log.info("extraction enqueued", job_id=job_id, ontology=stored.ontology, due=due)

    def _is_wanted(self, graph: Reader, stored: StoredExtraction) -> bool:
        """Whether to begin by itself.

        After a fault that a person must mend a language model waits for one, whoever starts anew: each try
        costs.
        """
        used = self._extractors.used(stored.config)
        if stored.paused or used.extractor == "none":
            return False
        after_fault = math.inf if used.extractor == "llm" else MAX_COOLDOWN_SECONDS
        uptime = time.monotonic() - self._begun
        return not rests(graph, EXTRACTION, stored.ontology, at_most=uptime, after_fault=after_fault)
