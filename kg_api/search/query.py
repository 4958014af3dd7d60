"""A search request, made ready for the lanes."""

from __future__ import annotations

from dataclasses import dataclass

from kg_api.errors import InvalidInput
from kg_api.graph.fulltext import MAX_TERMS, lucene_queries, terms
from kg_api.graph.passages import Filters
from kg_api.models.identity import document_id
from kg_api.models.search import SourceSearch

LANE_DEPTH = 50
"""How many of each lane are fused, at least; the field uses 30 to 50 and more."""
MAX_SCOPES = 5000
"""Ontologies, or documents of all ontologies searched, that one search may name: ten full-text queries."""


@dataclass(frozen=True, slots=True)
class Query:
    """What the lanes need."""

    request: SourceSearch
    filters: Filters
    full_text: list[str]
    """In Lucene syntax; several when the filters name very many documents."""
    words: int
    """How many different words the question has."""
    depth: int
    """Hits to fetch from each lane."""

    @property
    def text(self) -> str:
        """The words asked for; empty when only a vector was given."""
        return self.request.query_text or ""

    @property
    def thins_out(self) -> bool:
        """Whether hits are left out that were found, so that more have to be fetched."""
        request = self.request
        return request.per_document is not None or request.collapse_duplicates

    @property
    def words_left_out(self) -> int:
        """How many words are not looked for."""
        return max(0, self.words - MAX_TERMS)


def prepare(request: SourceSearch, known_ontologies: list[str]) -> Query:
    """Work out filters and full-text queries.

    Raises:
        InvalidInput: the filters name more documents than one search can take.
    """
    filters = _filters(request, known_ontologies)
    words = terms(request.query_text or "")
    return Query(
        request=request,
        filters=filters,
        full_text=lucene_queries(words, filters.ontologies, filters.document_ids),
        words=len(words),
        depth=max(LANE_DEPTH, 3 * request.limit),
    )


def _filters(request: SourceSearch, known_ontologies: list[str]) -> Filters:
    ontologies = request.ontologies
    if request.documents is None:
        return Filters(ontologies, None)
    within = known_ontologies if ontologies is None else ontologies
    if len(within) * len(request.documents) > MAX_SCOPES:
        raise InvalidInput(
            f"{len(request.documents)} names in {len(within)} ontologies are more than {MAX_SCOPES:,} "
            "documents: name fewer of them, or the ontology they are in"
        )
    ids = [document_id(ontology, name) for ontology in within for name in request.documents]
    return Filters(ontologies, ids)
