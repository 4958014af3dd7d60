"""What stands in front of a chunk when it is embedded, by the ontology's context mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from kg_api.chunk.context import template
from kg_api.chunk.spans import SentenceVectors
from kg_api.graph.database import Graph
from kg_api.graph.due import DocumentAbout, SourceText, about_documents
from kg_api.models.chunking import Chunking
from kg_api.planning.planner import Before
from kg_api.spaces.plans import Plan


class Contexts:
    """Gives contexts; for `semantic` chunks it gives the means to find where the meaning moves too."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._sentence_vectors: SentenceVectors | None = None

    def of(self, plan: Plan) -> Before:
        """The contexts of chunks under a plan."""
        if plan.config.context == "template":
            return self._template
        return _none

    def free(self, plan: Plan, about: Mapping[str, DocumentAbout] | None = None) -> Before:
        """Contexts for an estimate: those that cost money are left empty.

        Args:
            plan: the ontology's.
            about: documents that are not stored; unset: they are looked up.
        """
        if plan.config.context != "template":
            return _none
        return self._template if about is None else partial(_templates, about)

    def require_usable(self, chunking: Chunking) -> None:
        """Refuse a context mode that is not set up.

        Raises:
            InvalidInput: saying which settings are missing.
        """

    def sentence_vectors(self, chunking: Chunking) -> SentenceVectors | None:
        """For strategies that need them; opened once."""
        if chunking.strategy != "semantic":
            return None
        if self._sentence_vectors is None:
            from kg_api.chunk.semantic_model import open_sentence_vectors  # noqa: PLC0415 - loads a model

            self._sentence_vectors = open_sentence_vectors()
        return self._sentence_vectors

    def _template(self, chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
        return _templates(about_documents(self._graph, [source.document_id for source, _ in chunks]), chunks)


def _templates(about: Mapping[str, DocumentAbout], chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
    return [
        template(known.title, source.heading, known.metadata, text) if known else ""
        for source, text in chunks
        for known in [about.get(source.document_id)]
    ]


def _none(chunks: Sequence[tuple[SourceText, str]]) -> list[str]:
    return [""] * len(chunks)
