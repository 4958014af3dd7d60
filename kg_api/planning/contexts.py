"""What stands in front of a chunk when it is embedded, by the ontology's context mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kg_api.chunk.context import by_template, template
from kg_api.chunk.spans import SentenceVectors
from kg_api.errors import ConfigurationError, InvalidInput
from kg_api.graph.database import Graph
from kg_api.graph.spaces.due import DocumentAbout, SourceText, about_documents
from kg_api.llm.lazy import LanguageModel
from kg_api.models.embedding.chunking import Chunking
from kg_api.planning.cost import WrittenContexts
from kg_api.planning.llm_contexts import LlmContexts, LlmQuote
from kg_api.planning.planner import Before
from kg_api.provider.retrying import RetryPolicy
from kg_api.sections import LlmSettings
from kg_api.settings import Settings
from kg_api.spaces.plans import Plan


@dataclass(frozen=True, slots=True)
class ContextEstimate:
    """Contexts for an estimate: those that cost money are of the usual length, and counted."""

    before: Before
    written: Callable[[], WrittenContexts | None]
    """What a language model would write for the chunks given to `before`; None when it writes none."""


class Contexts:
    """Gives contexts; for `semantic` chunks it gives the means to find where the meaning moves too."""

    def __init__(self, graph: Graph, settings: Settings | None = None) -> None:
        """Nothing is opened yet.

        Args:
            graph: where documents, and contexts that were written before, are.
            settings: those of the language model; unset: there is none.
        """
        self._graph = graph
        self._settings = settings
        self._sentence_vectors: SentenceVectors | None = None
        self._model = LanguageModel(settings, RetryPolicy())
        self._llm: LlmContexts | None = None

    def of(self, plan: Plan) -> Before:
        """The contexts of chunks under a plan.

        Raises:
            ConfigurationError: there is no language model to write them.
        """
        match plan.config.context:
            case "template" | "late_template":
                return partial(self._template, plan.config.context_template)
            case "llm":
                return self._open_llm()
            case "none" | "late":
                return _none

    def quote(
        self,
        plan: Plan,
        sample: Sequence[Sequence[SourceText]],
        about: Mapping[str, DocumentAbout] | None = None,
    ) -> ContextEstimate:
        """Contexts for an estimate; nothing that costs money is asked.

        Args:
            plan: the ontology's.
            sample: the sources whose chunks are planned, by document.
            about: documents that are not stored; unset: they are looked up.
        """
        if plan.config.context in {"none", "late"}:
            return ContextEstimate(_none, _nothing)
        if plan.config.context in {"template", "late_template"}:
            pattern = plan.config.context_template
            known = partial(self._template, pattern) if about is None else partial(_templates, pattern, about)
            return ContextEstimate(known, _nothing)
        if about is None:
            about = about_documents(
                self._graph, [source.document_id for sources in sample for source in sources[:1]]
            )
        llm = LlmSettings() if self._settings is None else self._settings.llm
        quote = LlmQuote(self._graph, llm, sample, about)
        return ContextEstimate(quote, quote.written)

    def require_usable(self, chunking: Chunking) -> None:
        """Refuse a context mode that is not set up.

        Raises:
            InvalidInput: saying which settings are missing.
        """
        if chunking.context != "llm":
            return
        try:
            self._open_llm()
        except ConfigurationError as error:
            raise InvalidInput(
                f"context llm needs a language model, for the service and its workers: {error}"
            ) from error

    def close(self) -> None:
        """Close the connections to the language model."""
        self._model.close()

    def _open_llm(self) -> LlmContexts:
        if self._llm is None:
            self._llm = LlmContexts(self._graph, self._model.name, self._model.ask)
        return self._llm

    def sentence_vectors(self, chunking: Chunking) -> SentenceVectors | None:
        """For strategies that need them; opened once."""
        if chunking.strategy != "semantic":
            return None
        if self._sentence_vectors is None:
            from kg_api.chunk.semantic_model import open_sentence_vectors  # noqa: PLC0415 - loads a model

            self._sentence_vectors = open_sentence_vectors()
        return self._sentence_vectors

    def _template(self, pattern: str | None, chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
        about = about_documents(self._graph, [source.document_id for source, _ in chunks])
        return _templates(pattern, about, chunks)


def _templates(
    pattern: str | None, about: Mapping[str, DocumentAbout], chunks: Sequence[tuple[SourceText, str]]
) -> list[str]:
    line = template if pattern is None else partial(by_template, pattern)
    return [
        line(known.title, source.heading, known.metadata, text) if known else ""
        for source, text in chunks
        for known in [about.get(source.document_id)]
    ]


def _none(chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
    return [""] * len(chunks)


def _nothing() -> None:
    return None
