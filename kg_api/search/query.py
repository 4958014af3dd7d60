"""A search request, made ready for the lanes."""

from __future__ import annotations

from dataclasses import dataclass

from kg_api.graph.passages import Filters
from kg_api.models.identity import document_id
from kg_api.models.search import SourceSearch
from kg_api.search.fulltext import MAX_TERMS, lucene_query, terms

LANE_DEPTH = 50
"""How many of each lane are fused, at least; the field uses 30 to 50 and more."""


@dataclass(frozen=True, slots=True)
class Query:
    """What the lanes need."""

    request: SourceSearch
    filters: Filters
    lucene: str | None
    """None: there is no word to look for."""
    terms_left_out: int
    depth: int
    """Hits to fetch from each lane."""

    @property
    def text(self) -> str:
        """The words asked for; empty when only a vector was given."""
        return self.request.query_text or ""


def prepare(request: SourceSearch, known_ontologies: list[str]) -> Query:
    """Work out filters and full-text query."""
    filters = _filters(request, known_ontologies)
    words = terms(request.query_text or "")
    return Query(
        request=request,
        filters=filters,
        lucene=lucene_query(words, filters.ontologies, filters.document_ids),
        terms_left_out=max(0, len(words) - MAX_TERMS),
        depth=max(LANE_DEPTH, 3 * request.limit),
    )


def _filters(request: SourceSearch, known_ontologies: list[str]) -> Filters:
    ontologies = [request.ontology] if isinstance(request.ontology, str) else request.ontology
    if request.documents is None:
        return Filters(ontologies, None)
    within = known_ontologies if ontologies is None else ontologies
    ids = [document_id(ontology, name) for ontology in within for name in request.documents]
    return Filters(ontologies, ids)
