"""Contexts of chunks from a language model, cached until their input changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from kg_api.errors import ConfigurationError, InvalidInput
from kg_api.graph.cache import read_contexts, store_contexts
from kg_api.graph.client import Graph, split_into_portions
from kg_api.graph.reach import get_visible_ontologies
from kg_api.graph.targets import Plan
from kg_api.graph.vectors import DocumentAbout, SourceText, list_document_sources, read_document_facts
from kg_api.providers import chat
from kg_api.providers.openai_chat import Chat
from kg_api.providers.retrying import RetryPolicy, ask_at_once, wait
from kg_api.schemas.embedding import Chunking
from kg_api.sections import LlmSettings
from kg_api.settings import Settings
from kg_api.spaces.chunk_plans import Before
from kg_api.text.borders import SentenceVectors
from kg_api.text.contexts import fill_own_template, fill_usual_template
from kg_api.text.sentences import find_sentence_borders

MAX_CONTEXT_LENGTH = 300  # in characters (about 75 tokens), because the text needs the rest
USUAL = (
    "The annual report of a company for the year 2023, from the section on the results of its second "
    "quarter, which compares the revenue with that of the quarter before and gives reasons for the growth."
)
"""Typical context for estimates. The prompt requests two sentences with at most 40 words."""
AT_ONCE = 4
"""Document parts in parallel. Requests of one part run in sequence, for the provider's prompt cache."""
_ANSWER_TOKENS = 65  # tokens of a typical context and its id
_MIN_CONTEXT_LENGTH = 60


@dataclass(frozen=True, slots=True)
class _WantedContext:
    """A chunk without a context, and the input of the model."""

    key: str
    part: chat.DocumentPart
    chunk: chat.Chunk


@dataclass(frozen=True, slots=True)
class _Document:
    about: DocumentAbout
    sources: Mapping[str, SourceText]
    parts: Sequence[chat.DocumentPart]
    part_of: Mapping[str, int]

    def has_same_text(self, about: DocumentAbout, sources: Iterable[SourceText]) -> bool:
        """Check if the title, metadata, and sources are unchanged."""
        return self.about == about and all(self.sources.get(each.source_id) == each for each in sources)

    def build_request(self, model: str, source: SourceText, text: str) -> _WantedContext:
        """Return the request for a chunk that begins in a source."""
        part, chunk = self.parts[self.part_of[source.source_id]], chat.Chunk(text, source.heading)
        return _WantedContext(chat.hash_context_inputs(model, part, chunk), part, chunk)


class LlmContexts:
    """Provides contexts, from the cache if possible."""

    # Not thread-safe: caches the last document, which may span many batches.

    def __init__(self, graph: Graph, model: str, ask: chat.Ask) -> None:
        self._graph = graph
        self._model = model
        self._ask = ask
        self._last: _Document | None = None

    def __call__(self, chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
        documents = self._read_documents([source for source, _ in chunks])
        wanted = [
            documents[source.document_id].build_request(self._model, source, text)
            if source.source_id in documents[source.document_id].sources
            else None
            for source, text in chunks
        ]
        contexts = self._request_contexts({each.key: each for each in wanted if each})
        return [contexts[each.key] if each else "" for each in wanted]

    def _read_documents(self, sources: Sequence[SourceText]) -> dict[str, _Document]:
        found: dict[str, _Document] = {}
        about = read_document_facts(self._graph, [source.document_id for source in sources])
        for document_id in dict.fromkeys(source.document_id for source in sources):
            mine = [source for source in sources if source.document_id == document_id]
            known = about.get(document_id, DocumentAbout("", {}))
            last = self._last  # an abandoned batch may still run in parallel
            if last is None or not last.has_same_text(known, mine):
                self._last = last = _divide(known, list_document_sources(self._graph, document_id))
            found[document_id] = last
        return found

    def _request_contexts(self, wanted: Mapping[str, _WantedContext]) -> dict[str, str]:
        known = read_contexts(self._graph, list(wanted))
        requests = _group_by_part(each for key, each in wanted.items() if key not in known)
        written = [partial(self._write, part, mine) for part, mine in requests.items()]
        for each in ask_at_once(written, AT_ONCE):
            known |= each
        return known

    def _write(self, part: chat.DocumentPart, wanted: Sequence[_WantedContext]) -> dict[str, str]:
        found: dict[str, str] = {}
        for batch in split_into_portions(wanted, chat.TOGETHER):
            wait(0)
            texts = chat.write_chunk_contexts(self._ask, part, [each.chunk for each in batch])
            new = {each.key: truncate_context(text) for each, text in zip(batch, texts, strict=True)}
            store_contexts(self._graph, new)
            found |= new
        return found


@dataclass(frozen=True, slots=True)
class WrittenContexts:
    """Estimated contexts for a sample."""

    contexts: int
    remembered: int  # cached contexts without cost
    requests: int
    read: int
    written: int
    price: float | None  # total in US dollars. None: unknown


class LlmQuote:
    """Estimates the cost of contexts by counting requests instead of sending them."""

    def __init__(
        self,
        graph: Graph,
        settings: LlmSettings,
        sample: Sequence[Sequence[SourceText]],
        about: Mapping[str, DocumentAbout],
    ) -> None:
        self._graph = graph
        self._settings = settings
        self._documents = {
            sources[0].document_id: _divide(about.get(sources[0].document_id, DocumentAbout("", {})), sources)
            for sources in sample
            if sources
        }
        self._wanted: dict[str, _WantedContext] = {}

    def __call__(self, chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
        """Return a text of typical length for each chunk."""
        for source, text in chunks:
            each = self._documents[source.document_id].build_request(self._settings.model or "", source, text)
            self._wanted[each.key] = each
        return [USUAL] * len(chunks)

    def estimate_written(self) -> WrittenContexts:
        """Estimate the cost so far. Cached contexts count only for callers who see all ontologies."""
        known = read_contexts(self._graph, list(self._wanted)) if get_visible_ontologies() is None else {}
        missing = [each for key, each in self._wanted.items() if key not in known]
        questions = [
            chat.build_question(part, [each.chunk for each in batch])
            for part, mine in _group_by_part(missing).items()
            for batch in split_into_portions(mine, chat.TOGETHER)
        ]
        read = sum(
            chat.estimate_tokens(each.instruction) + chat.estimate_tokens(each.data) for each in questions
        )
        wrote = len(missing) * _ANSWER_TOKENS
        price = chat.compute_price(self._settings, read, wrote)
        return WrittenContexts(len(missing), len(known), len(questions), read, wrote, price)


def truncate_context(text: str) -> str:
    """Truncate a context to 300 characters, at the end of a sentence or word if possible."""
    if len(text) <= MAX_CONTEXT_LENGTH:
        return text
    sentences = list(
        takewhile(lambda border: border <= MAX_CONTEXT_LENGTH, find_sentence_borders(text, 0, len(text)))
    )
    if sentences and sentences[-1] >= _MIN_CONTEXT_LENGTH:
        return text[: sentences[-1]].rstrip()
    end = text.rfind(" ", 0, MAX_CONTEXT_LENGTH)
    return text[: end if end >= _MIN_CONTEXT_LENGTH else MAX_CONTEXT_LENGTH - 1].rstrip() + "…"


def _divide(about: DocumentAbout, sources: Sequence[SourceText]) -> _Document:
    paragraphs = [chat.HeadedParagraph(source.full_text, source.heading) for source in sources]
    parts, numbers = chat.divide_document(about.title, about.metadata, paragraphs)
    by_id = {source.source_id: source for source in sources}
    return _Document(about, by_id, parts, dict(zip(by_id, numbers, strict=True)))


def _group_by_part(wanted: Iterable[_WantedContext]) -> dict[chat.DocumentPart, list[_WantedContext]]:
    found: dict[chat.DocumentPart, list[_WantedContext]] = {}
    for each in wanted:
        found.setdefault(each.part, []).append(each)
    return found


# Contexts by mode


class Contexts:
    """Provides contexts, and sentence vectors for `semantic` chunks."""

    def __init__(self, graph: Graph, settings: Settings | None = None) -> None:
        self._graph = graph
        self._settings = settings
        self._sentence_vectors: SentenceVectors | None = None
        self._model = Chat(settings, RetryPolicy())
        self._llm: LlmContexts | None = None

    def get_function(self, plan: Plan) -> Before:
        """Return the context function of a plan."""
        match plan.config.context:
            case "template" | "late_template":
                return partial(self._fill_template, plan.config.context_template)
            case "llm":
                return self._open_llm()
            case "none" | "late":
                return _omit_contexts

    def quote(
        self,
        plan: Plan,
        sample: Sequence[Sequence[SourceText]],
        about: Mapping[str, DocumentAbout] | None = None,
    ) -> tuple[Before, LlmQuote | None]:
        """Return a context function that sends no paid requests, and the quote for paid contexts."""
        if plan.config.context in {"none", "late"}:
            return _omit_contexts, None
        if plan.config.context in {"template", "late_template"}:
            pattern = plan.config.context_template
            if about is None:
                return partial(self._fill_template, pattern), None
            return partial(_fill_templates, pattern, about), None
        if about is None:
            about = read_document_facts(
                self._graph, [source.document_id for sources in sample for source in sources[:1]]
            )
        llm = LlmSettings() if self._settings is None else self._settings.llm
        quote = LlmQuote(self._graph, llm, sample, about)
        return quote, quote

    def require_usable(self, chunking: Chunking) -> None:
        """Reject a context mode without its prerequisites."""
        if chunking.context != "llm":
            return
        try:
            self._open_llm()
        except ConfigurationError as error:
            raise InvalidInput(
                f"chunk context `llm` needs a language model for the service and its workers: {error}"
            ) from error

    def close(self) -> None:
        self._model.close()

    def _open_llm(self) -> LlmContexts:
        if self._llm is None:
            self._llm = LlmContexts(self._graph, self._model.name, self._model.ask)
        return self._llm

    def get_sentence_vectors(self, chunking: Chunking) -> SentenceVectors | None:
        """Return the sentence vectors that a strategy needs, opened once."""
        if chunking.strategy != "semantic":
            return None
        if self._sentence_vectors is None:
            from kg_api.text.sentence_vectors import open_sentence_vectors  # noqa: PLC0415 - loads a model

            self._sentence_vectors = open_sentence_vectors()
        return self._sentence_vectors

    def _fill_template(self, pattern: str | None, chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
        about = read_document_facts(self._graph, [source.document_id for source, _ in chunks])
        return _fill_templates(pattern, about, chunks)


def _fill_templates(
    pattern: str | None, about: Mapping[str, DocumentAbout], chunks: Sequence[tuple[SourceText, str]]
) -> list[str]:
    line = fill_usual_template if pattern is None else partial(fill_own_template, pattern)
    return [
        line(known.title, source.heading, known.metadata, text) if known else ""
        for source, text in chunks
        for known in [about.get(source.document_id)]
    ]


def _omit_contexts(chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
    return [""] * len(chunks)
