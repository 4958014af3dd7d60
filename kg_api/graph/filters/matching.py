"""The documents that fit the conditions of a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph, Reader, Row
from kg_api.graph.documents.metadata import TIMES, VALUES
from kg_api.graph.filters.sources import SourceFilter, documents_having, filter_sources, split_clauses
from kg_api.models.identity import document_name, spellings
from kg_api.models.library.moments import Moment, moment, year
from kg_api.models.queries.facets import INTERVALS
from kg_api.models.queries.filters import (
    KNOWN_FIELDS,
    Clause,
    Condition,
    alternatives_of,
    conditions_of,
    field_of,
)
from kg_api.models.queries.search import Degradation
from kg_api.wording.nearest import spelt_nearly

MAX_FIELDS_READ = 5000
_NAMES: Final = frozenset({"document", "title"})
_OPERATORS: Final = {"=": "in", "!=": "not in"}


def matching_documents(
    graph: Reader,
    where: Sequence[Clause],
    ontologies: Sequence[str] | None,
    document_ids: Sequence[str] | None = None,
    *,
    in_order: bool = False,
) -> dict[str, list[str]]:
    """The ids of documents that fit a filter, by ontology; see `kg_api.graph.filters.sources`.

    Args:
        graph: where they are.
        where: the conditions.
        ontologies: only of these; None: of all.
        document_ids: only these; None: all.
        in_order: whether they are in the order of their names, which takes as long again.
    """
    of_documents, of_sources = split_clauses(where)
    if of_sources:
        document_ids = _documents_by_sources(graph, of_sources, ontologies, document_ids)
    within = {"ontologies": _listed(ontologies), "document_ids": _listed(document_ids)}
    conditions = [[[*map(_parameters, group)] for group in alternatives_of(each)] for each in of_documents]
    rows = graph.read("documents/matching", conditions=conditions, in_order=in_order, **within)
    known = {row["ontology"]: row["document_ids"] for row in rows}
    return {name: ids for name, ids in known.items() if ontologies is None or name in ontologies}


def _documents_by_sources(
    graph: Reader,
    clauses: Sequence[Clause],
    ontologies: Sequence[str] | None,
    document_ids: Sequence[str] | None,
) -> list[str]:
    def matching(where: Sequence[Clause]) -> list[str]:
        found = matching_documents(graph, where, ontologies, document_ids)
        return [each for ids in found.values() for each in ids]

    def having(sources: SourceFilter) -> list[str]:
        return documents_having(graph, sources, ontologies, document_ids)

    return having(filter_sources(clauses, matching, having))


def describe_unknown_fields(
    graph: Graph, where: Sequence[Clause], ontologies: Sequence[str] | None
) -> list[Degradation]:
    """That no document has a field; for filters that found nothing, or ask for what is not so.

    Raises:
        InvalidInput: there is one that is spelt nearly so.
    """
    return describe_unknown_keys(graph, keys_of(where), ontologies)


def keys_of(where: Sequence[Clause]) -> list[str]:
    """The keys of metadata that conditions are of."""
    return [each.key for each in conditions_of(where) if each.key is not None]


def describe_unknown_keys(
    graph: Graph, asked: Sequence[str], ontologies: Sequence[str] | None
) -> list[Degradation]:
    """That no document has some keys in its metadata.

    Raises:
        InvalidInput: there is one that is spelt nearly so.
    """
    return describe_missing_keys(asked, read_keys(graph, ontologies)) if asked else []


def read_keys(graph: Graph, ontologies: Sequence[str] | None) -> list[str]:
    """The keys that documents have in their metadata; it looks at each of them."""
    rows = graph.read("documents/fields", ontologies=_listed(ontologies), limit=MAX_FIELDS_READ)
    return [row["field"] for row in rows]


def describe_missing_keys(asked: Sequence[str], known: Sequence[str]) -> list[Degradation]:
    """That no document has some keys in its metadata.

    Raises:
        InvalidInput: there is one that is spelt nearly so, or is asked as only facets are.
    """
    unknown = [key for key in dict.fromkeys(asked) if key not in known]
    for key in unknown:
        _refuse_interval(key, [*known, *KNOWN_FIELDS])
        if near := _nearest_fields(key, known):
            names = ", ".join(map(repr, near))
            raise InvalidInput(f"no document has the field {field_of(key)!r}; the nearest: {names}")
    effects = [f"no document has the field {field_of(key)!r}" for key in unknown]
    return [Degradation(part="query", effect=effect) for effect in effects]


def _nearest_fields(key: str, known: Sequence[str]) -> list[str]:
    """Compare bare names, and return each as a condition writes it: `metadata.title` is not `title`."""
    written = {name: [name] for name in KNOWN_FIELDS}
    for each in known:
        written.setdefault(each, []).append(field_of(each))
    return [field for name in spelt_nearly(key, written) for field in written[name]]


def _refuse_interval(key: str, fields: Sequence[str]) -> None:
    field, _, interval = key.rpartition(":")
    if interval in INTERVALS and field in fields:
        told = f"{interval}s are asked of {field!r} itself, as in {field}=2015 or {field}=2015-05"
        raise InvalidInput(f"no document has the field {key!r}: {told}")


def asks_for_absence(where: Sequence[Clause]) -> bool:
    """Whether a document without a field may fit."""
    return any(each.is_negative for each in conditions_of(where))


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _parameters(condition: Condition) -> Row:
    key, known = condition.key, condition.field
    spans = [] if condition.op in {"contains", "exists"} else [*map(_span, condition.values)]
    op: str = _OPERATORS.get(condition.op, condition.op)
    if op == "exists" and condition.value is False:
        op = "missing"
    return {
        "op": f"time {op}" if any(spans) else op,
        "property": known if key is None else f"{VALUES}{key}",
        "times": _times_of(condition),
        "values": _spelt(condition) if known in _NAMES else condition.values,
        "spans": [{"start": each.start, "until": each.until} for each in spans if each],
    }


def _times_of(condition: Condition) -> str:
    """The property that has a field's dates; of the known fields only one is a date, the others are texts."""
    if condition.key is not None:
        return f"{TIMES}{condition.key}"
    return condition.field if condition.field == "updated_at" else ""


def _spelt(condition: Condition) -> list[Any]:
    """Values in each form that a name may have been stored in; the form of names comes first."""
    forms = [spellings(document_name(each)) if isinstance(each, str) else [each] for each in condition.values]
    return [form for each in forms for form in each]


def _span(value: Any) -> Moment | None:
    if isinstance(value, str):
        return moment(value)
    return year(value) if isinstance(value, int) and not isinstance(value, bool) else None
