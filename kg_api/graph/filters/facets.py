"""How many documents have each value of a field."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.graph.database import Graph, Row
from kg_api.graph.documents.metadata import TIMES, VALUES
from kg_api.graph.filters.matching import (
    asks_for_absence,
    describe_unknown_fields,
    describe_unknown_keys,
    matching_documents,
)
from kg_api.graph.naming.ontologies import require_ontologies
from kg_api.models.queries.facets import Facet, FacetCounts, FacetRequest, Facets
from kg_api.models.queries.filters import KIND


def count_facets(graph: Graph, request: FacetRequest) -> Facets:
    """Count the values of fields among the documents that fit.

    Raises:
        NotFound: an ontology that the request names does not exist.
        InvalidInput: no document has a field, and another one is called nearly so.
    """
    names, ids = request.ontologies, None
    require_ontologies(graph, names)
    if request.where:
        ids = [each for found in matching_documents(graph, request.where, names).values() for each in found]
    within = {"ontologies": names, "document_ids": ids}
    rows = graph.read(
        "documents/facets",
        **within,
        facets=[{"property": _property(each), "by": each.by} for each in request.fields],
        limit=request.limit,
    )
    documents = rows[0]["documents"]
    if any(each.field == KIND for each in request.fields):
        of_kind = _of_kind(graph.read("documents/facet_of_kind", **within)[0], documents, request.limit)
        rows = [
            of_kind if facet.field == KIND else row for facet, row in zip(request.fields, rows, strict=True)
        ]
    counted = [_counts(facet, row) for facet, row in zip(request.fields, rows, strict=True)]
    return Facets(documents=documents, facets=counted, notes=_notes(graph, request, counted, documents))


def _property(facet: Facet) -> str:
    if facet.key is None:
        return facet.field
    return f"{TIMES if facet.by else VALUES}{facet.key}"


def _of_kind(numbers: Row, documents: int, limit: int) -> Row:
    """Return the counts of kinds as `documents/facets` has those of a property."""
    found = sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
    values = [{"value": kind, "documents": number} for kind, number in found if number]
    return {
        "documents": documents,
        "having": documents,
        "distinct_values": len(values),
        "counted": values[:limit],
    }


def _counts(facet: Facet, row: Row) -> FacetCounts:
    return FacetCounts.model_validate(
        {
            "field": facet.field,
            "by": facet.by,
            "values": row["counted"],
            "left_out": row["distinct_values"] - len(row["counted"]),
            "having": row["having"],
            "missing": row["documents"] - row["having"],
        }
    )


def _notes(graph: Graph, request: FacetRequest, counted: Sequence[FacetCounts], documents: int) -> list[str]:
    names = request.ontologies
    notes: list[str] = []
    if request.where and (not documents or asks_for_absence(request.where)):
        notes += [each.effect for each in describe_unknown_fields(graph, request.where, names)]
    if request.where and not documents:
        notes.append("no document fits the conditions of the filter")
    without = [each.key for each, found in zip(request.fields, counted, strict=True) if not found.having]
    keys = [key for key in without if key is not None]
    return list(dict.fromkeys([*notes, *(each.effect for each in describe_unknown_keys(graph, keys, names))]))
