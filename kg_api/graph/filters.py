"""Filters for documents and sources, facets, and the metadata fields in an ontology."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, cast, get_args

from cachetools import TTLCache

from kg_api.errors import InvalidInput
from kg_api.graph.client import Graph, Reader, Row
from kg_api.graph.names import require_ontologies
from kg_api.schemas.base import list_spellings, normalize_document_name
from kg_api.schemas.filters import (
    INTERVALS,
    KIND,
    KNOWN_FIELDS,
    MAX_PAGE,
    PAGE,
    Clause,
    Condition,
    FacetCounts,
    FacetRequest,
    Facets,
    format_metadata_field,
    list_alternatives,
    list_conditions,
)
from kg_api.schemas.metadata import MetadataValue, Moment, parse_moment, parse_moments, parse_year
from kg_api.schemas.search import Degradation
from kg_api.schemas.vocabulary import SourceKind
from kg_api.suggestions import find_similar_spellings

PRUNED_AT_ONCE: Final = 10_000


def prune_writes(graph: Graph) -> int:
    """Delete up to 10,000 write markers, and keep their count."""
    return graph.write("documents/prune_writes", limit=PRUNED_AT_ONCE)[0]["pruned"]


# Conditions on the page and kind of sources, as parameters of `fits(s)` in Cypher
#
# A search selects sources. Lists of documents, facets, and deletions select documents. A document fits if one
# of its sources satisfies all conditions at once and, for `!=` and `does not exist`, no source violates them.

MAX_SOURCES: Final = 2**63 - 1
KINDS: Final = frozenset[SourceKind](get_args(SourceKind))
NOTHING: Final[list[Sequence[Row]]] = [[]]


@dataclass(frozen=True, slots=True)
class SourceFilter:
    image: bool | None = None  # images only (True), passages only (False), or both (None)
    fits: Sequence[Sequence[Row]] = field(default_factory=list[Sequence[Row]])
    """Alternatives to check. For each entry, one has to be true. It can use documents, a kind, and pages."""

    def __bool__(self) -> bool:
        return self.image is not None or bool(self.fits)

    @property
    def kinds(self) -> list[SourceKind]:
        return ["passage", "image"] if self.image is None else ["image" if self.image else "passage"]

    def parameters(self) -> Row:
        return {"image": self.image, "fits": list(self.fits)}

    def restrict_to_kinds(self, kinds: Collection[SourceKind] | None) -> SourceFilter:
        """Limit the filter to sources that are one of these kinds. None: all."""
        return _filter_by_kinds(KINDS.intersection(self.kinds, KINDS if kinds is None else kinds), self.fits)


SourcesMatching = Callable[[Sequence[Clause]], list[str]]
Having = Callable[[SourceFilter], list[str]]


def split_clauses(where: Iterable[Clause]) -> tuple[list[Clause], list[Clause]]:
    """Divide clauses into those that only use documents, and those that use sources."""
    of_documents, of_sources = list[Clause](), list[Clause]()
    for clause in where:
        has_source = any(each.is_of_source for each in list_conditions([clause]))
        (of_sources if has_source else of_documents).append(clause)
    return of_documents, of_sources


def filter_sources(
    clauses: Iterable[Clause], matching: SourcesMatching, having: Having | None = None
) -> SourceFilter:
    """Build a filter from clauses. All of them have to be true."""
    kinds, fits = KINDS, list[Sequence[Row]]()
    for clause in clauses:
        groups = [_build_group(each, matching, having) for each in list_alternatives(clause)]
        alone = groups[0] if len(groups) == 1 else None
        if alone and not alone.pages and alone.documents is None and alone.without is None:
            kinds &= alone.kinds
        else:
            fits.append([each.to_row() for each in groups if each.kinds])
    return _filter_by_kinds(kinds, fits)


def list_matching_document_ids(
    graph: Reader,
    fitting: SourceFilter,
    ontologies: Sequence[str] | None,
    document_ids: Sequence[str] | None = None,
    *,
    sources: int = MAX_SOURCES,
) -> list[str]:
    (row,) = graph.read(
        "sources/documents_fitting",
        ontologies=None if ontologies is None else list(ontologies),
        document_ids=None if document_ids is None else list(document_ids),
        sources=sources,
        **fitting.parameters(),
    )
    return row["document_ids"]


def keep_fitting(graph: Reader, fitting: SourceFilter, source_ids: Iterable[str]) -> frozenset[str]:
    ids = list(dict.fromkeys(source_ids))
    rows = graph.read("sources/fitting", source_ids=ids, **fitting.parameters()) if ids else []
    return frozenset(row["source_id"] for row in rows)


@dataclass(frozen=True, slots=True)
class _Group:
    kinds: frozenset[SourceKind]
    pages: Sequence[Row]
    documents: Sequence[str] | None
    without: Sequence[str] | None

    def to_row(self) -> Row:
        image = None if self.kinds == KINDS else "image" in self.kinds
        known = {"documents": self.documents, "without": self.without}
        return {**known, "image": image, "pages": list(self.pages)}


def _build_group(group: Iterable[Condition], matching: SourcesMatching, having: Having | None) -> _Group:
    kinds, pages = KINDS, list[Row]()
    of_documents, without = list[Clause](), list[str]()
    for each in group:
        if not each.is_of_source:
            of_documents.append(each)
        elif having is not None and each.is_negative:
            positive = {"value": True} if each.op == "exists" else {"op": "="}
            without += having(filter_sources([each.model_copy(update=positive)], matching))
        elif each.field == PAGE:
            pages.append(_build_pages(each))
        else:
            kinds &= _list_kinds(each)
    return _Group(kinds, pages, matching(of_documents) if of_documents else None, without or None)


def _list_kinds(condition: Condition) -> frozenset[SourceKind]:
    if condition.op == "exists":
        return KINDS if condition.value else frozenset()
    named = frozenset(cast("list[SourceKind]", condition.values))
    return KINDS - named if condition.op == "!=" else named


def _build_pages(condition: Condition) -> Row:
    """Build the pages for a condition. A source is on each page from its first to its last."""
    if condition.op == "exists":
        return {"spans": [{"first": -MAX_PAGE, "last": MAX_PAGE}], "wanted": bool(condition.value)}
    numbers = cast("list[int]", condition.values)
    borders: dict[str, tuple[int, int]] = {
        "<": (-MAX_PAGE, numbers[0] - 1),
        "<=": (-MAX_PAGE, numbers[0]),
        ">": (numbers[0] + 1, MAX_PAGE),
        ">=": (numbers[0], MAX_PAGE),
    }
    spans = [borders[condition.op]] if condition.op in borders else [(each, each) for each in numbers]
    wanted = condition.op != "!="
    return {"spans": [{"first": first, "last": last} for first, last in spans], "wanted": wanted}


def _filter_by_kinds(kinds: Collection[SourceKind], fits: Sequence[Sequence[Row]]) -> SourceFilter:
    if not kinds:
        return SourceFilter(fits=NOTHING)
    return SourceFilter(None if len(kinds) == len(KINDS) else "image" in kinds, fits)


# Metadata as properties that Cypher can compare, in addition to the JSON
#
# `meta.KEY` holds a value as it is, a list as a list, and the first 1,000 characters of a text. `when.KEY`
# holds the start times of its dates (kg_api.schemas.metadata).

MAX_COMPARED = 1000  # compared characters of a text
VALUES: Final = "meta."
TIMES: Final = "when."


def build_metadata_properties(metadata: str, before: str | None = None) -> dict[str, Any]:
    """Build the properties of a document's metadata, with null for all previous keys."""
    known: dict[str, MetadataValue] = json.loads(metadata)
    gone = json.loads(before or "{}").keys()
    properties: dict[str, Any] = {f"{kind}{key}": None for key in gone for kind in (VALUES, TIMES)}
    for key, value in known.items():
        properties[f"{VALUES}{key}"] = _to_comparable(value)
        if times := [each.start for each in parse_moments(value)]:
            properties[f"{TIMES}{key}"] = times
    return properties


def _to_comparable(value: MetadataValue) -> Any:
    if isinstance(value, list):
        return [_to_comparable(each) for each in value]
    return value[:MAX_COMPARED] if isinstance(value, str) else value


# Documents that satisfy a filter

MAX_FIELDS_READ = 5000
_NAMES: Final = frozenset({"document", "title"})
_OPERATORS: Final = {"=": "in", "!=": "not in"}


def find_matching_documents(
    graph: Reader,
    where: Sequence[Clause],
    ontologies: Sequence[str] | None,
    document_ids: Sequence[str] | None = None,
    *,
    in_order: bool = False,
) -> dict[str, list[str]]:
    """Find the documents that match a filter, by ontology."""
    of_documents, of_sources = split_clauses(where)
    if of_sources:
        document_ids = _find_documents_by_sources(graph, of_sources, ontologies, document_ids)
    within = {"ontologies": _to_list(ontologies), "document_ids": _to_list(document_ids)}
    conditions = [
        [[*map(_build_parameters, group)] for group in list_alternatives(each)] for each in of_documents
    ]
    rows = graph.read("documents/matching", conditions=conditions, in_order=in_order, **within)
    known = {row["ontology"]: row["document_ids"] for row in rows}
    return {name: ids for name, ids in known.items() if ontologies is None or name in ontologies}


def _find_documents_by_sources(
    graph: Reader,
    clauses: Sequence[Clause],
    ontologies: Sequence[str] | None,
    document_ids: Sequence[str] | None,
) -> list[str]:
    def matching(where: Sequence[Clause]) -> list[str]:
        found = find_matching_documents(graph, where, ontologies, document_ids)
        return [each for ids in found.values() for each in ids]

    def having(sources: SourceFilter) -> list[str]:
        return list_matching_document_ids(graph, sources, ontologies, document_ids)

    return having(filter_sources(clauses, matching, having))


def describe_unknown_fields(
    graph: Graph, where: Sequence[Clause], ontologies: Sequence[str] | None
) -> list[Degradation]:
    """Describe fields that are not in any document. If a name seems to be misspelt, raise InvalidInput."""
    return describe_unknown_keys(graph, get_condition_keys(where), ontologies)


def get_condition_keys(where: Sequence[Clause]) -> list[str]:
    return [each.key for each in list_conditions(where) if each.key is not None]


def describe_unknown_keys(
    graph: Graph, asked: Sequence[str], ontologies: Sequence[str] | None
) -> list[Degradation]:
    return describe_missing_keys(asked, read_keys(graph, ontologies)) if asked else []


def read_keys(graph: Graph, ontologies: Sequence[str] | None) -> list[str]:
    """Read the metadata keys of documents. The query reads each document."""
    rows = graph.read("documents/fields", ontologies=_to_list(ontologies), limit=MAX_FIELDS_READ)
    return [row["field"] for row in rows]


def describe_missing_keys(asked: Sequence[str], known: Sequence[str]) -> list[Degradation]:
    """Describe keys that are not in any document. If a name seems to be misspelt, raise InvalidInput."""
    unknown = [key for key in dict.fromkeys(asked) if key not in known]
    for key in unknown:
        fields = [*known, *KNOWN_FIELDS]
        field, _, interval = key.rpartition(":")
        if interval in INTERVALS and field in fields:
            message = (
                f"{interval} counts need the field {field!r} itself, as in {field}=2015 or {field}=2015-05"
            )
            raise InvalidInput(f"no document has the field {key!r}: {message}")
        written = {name: [name] for name in KNOWN_FIELDS}
        for each in known:
            written.setdefault(each, []).append(format_metadata_field(each))
        if near := [field for name in find_similar_spellings(key, written) for field in written[name]]:
            names = ", ".join(map(repr, near))
            raise InvalidInput(
                f"no document has the field {format_metadata_field(key)!r}. Did you mean {names}?"
            )
    effects = [f"no document has the field {format_metadata_field(key)!r}" for key in unknown]
    return [Degradation(part="query", effect=effect) for effect in effects]


def matches_absent_field(where: Sequence[Clause]) -> bool:
    """Check if the filter can be true for a document that does not have one of the fields."""
    has_alternatives = any(len(list_alternatives(each)) > 1 for each in where)
    return has_alternatives or any(each.is_negative for each in list_conditions(where))


def _to_list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _build_parameters(condition: Condition) -> Row:
    key, known = condition.key, condition.field
    times = f"{TIMES}{key}" if key else known if known == "updated_at" else ""  # field with dates
    spans = [] if condition.op in {"contains", "exists"} else [*map(_parse_span, condition.values)]
    op: str = _OPERATORS.get(condition.op, condition.op)
    if op == "exists" and condition.value is False:
        op = "missing"
    return {
        "op": f"time {op}" if any(spans) else op,
        "property": known if key is None else f"{VALUES}{key}",
        "times": times,
        "values": _list_spellings(condition, known in _NAMES),
        "spans": [{"start": each.start, "until": each.until} for each in spans if each],
    }


def _list_spellings(condition: Condition, is_name: bool) -> list[Any]:
    """List values in each form that can be stored, the current form first. Only names are stored in NFC."""
    texts = (
        normalize_document_name(each) if is_name and isinstance(each, str) else each
        for each in condition.values
    )
    forms = (list_spellings(each) if isinstance(each, str) else [each] for each in texts)
    return [*chain(*forms)]


def _parse_span(value: Any) -> Moment | None:
    if isinstance(value, str):
        return parse_moment(value)
    return parse_year(value) if isinstance(value, int) and not isinstance(value, bool) else None


# Facets: documents by the value of a field


def count_facets(graph: Graph, request: FacetRequest) -> Facets:
    names, ids = request.ontologies, None
    require_ontologies(graph, names)
    if request.where:
        ids = [
            each for found in find_matching_documents(graph, request.where, names).values() for each in found
        ]
    within = {"ontologies": names, "document_ids": ids}
    facet_rows = [
        {"property": f"{TIMES if each.by else VALUES}{each.key}" if each.key else each.field, "by": each.by}
        for each in request.fields
    ]
    rows = graph.read("documents/facets", **within, facets=facet_rows, limit=request.limit)
    documents = rows[0]["documents"]
    if any(each.field == KIND for each in request.fields):
        numbers = graph.read("documents/facet_of_kind", **within)[0].items()
        found = [(kind, number) for kind, number in numbers if number]
        values = [
            {"value": kind, "documents": number}
            for kind, number in sorted(found, key=lambda each: (-each[1], each[0]))
        ]
        of_kind: Row = {
            "documents": documents,
            "having": documents,
            "distinct_values": len(values),
            "counted": values[: request.limit],
        }
        rows = [
            of_kind if facet.field == KIND else row for facet, row in zip(request.fields, rows, strict=True)
        ]
    counted = [
        FacetCounts.model_validate(
            {
                "field": facet.field,
                "by": facet.by,
                "values": row["counted"],
                "left_out": row["distinct_values"] - len(row["counted"]),
                "having": row["having"],
                "missing": row["documents"] - row["having"],
            }
        )
        for facet, row in zip(request.fields, rows, strict=True)
    ]
    return Facets(documents=documents, facets=counted, notes=_list_notes(graph, request, counted, documents))


def note_matches(
    graph: Graph, where: Sequence[Clause] | None, ontologies: Sequence[str] | None, *, has_any: bool
) -> list[str]:
    """Note unknown fields of a filter, and that no document fits. Without a filter, there are no notes."""
    if not where or (has_any and not matches_absent_field(where)):
        return []
    notes = [each.effect for each in describe_unknown_fields(graph, where, ontologies)]
    return notes if has_any else [*notes, "no document fits the conditions of the filter"]


def _list_notes(
    graph: Graph, request: FacetRequest, counted: Sequence[FacetCounts], documents: int
) -> list[str]:
    names = request.ontologies
    notes = note_matches(graph, request.where, names, has_any=documents > 0)
    without = [each.key for each, found in zip(request.fields, counted, strict=True) if not found.having]
    keys = [key for key in without if key is not None]
    return list(dict.fromkeys([*notes, *(each.effect for each in describe_unknown_keys(graph, keys, names))]))


# Cached results of filters, valid until a document is written

Matching = Mapping[str, Sequence[str]]
SETTLED_SECONDS = 2.0  # time until all of a counted write is visible
KEPT_SECONDS = 60.0
MAX_KEPT_IDS = 200_000
MAX_KEPT = 100


class RememberedFilters:
    """Cache for documents that match a filter. To use it again, you only need a count. Thread-safe."""

    # The cache is exact: each transaction that changes documents increments a count in the database. kg
    # caches a result only after that count was stable for a moment, and uses it until the count changes.

    def __init__(self, graph: Graph, clock: Callable[[], float] = time.monotonic) -> None:
        self._graph = graph
        self._clock = clock
        self._lock = threading.Lock()
        self._writes = -1
        self._seen_at = 0.0
        self._kept = TTLCache[str, Matching](MAX_KEPT_IDS, KEPT_SECONDS, timer=clock, getsizeof=_count_ids)

    def match(
        self,
        where: Sequence[Clause],
        ontologies: Sequence[str] | None,
        document_ids: Sequence[str] | None = None,
    ) -> Matching:
        key = repr(([each.model_dump() for each in where], ontologies, document_ids))
        return self._get_remembered(
            key, lambda: find_matching_documents(self._graph, where, ontologies, document_ids)
        )

    def describe_unknown_fields(
        self, where: Sequence[Clause], ontologies: Sequence[str] | None
    ) -> list[Degradation]:
        condition_keys = get_condition_keys(where)
        if not condition_keys:
            return []
        known = self._get_remembered(repr(ontologies), lambda: {"": read_keys(self._graph, ontologies)})
        return describe_missing_keys(condition_keys, known[""])

    def _get_remembered(self, key: str, look: Callable[[], Matching]) -> Matching:
        writes = self._graph.read("documents/writes")[0]["writes"]
        with self._lock:
            if writes != self._writes:
                self._writes, self._seen_at = writes, self._clock()
                self._kept.clear()
            known = self._kept.get(key)
        if known is not None:
            return known
        asked_at = self._clock()  # start of the query, because its response may take seconds
        found = look()
        with self._lock:
            settled = asked_at - self._seen_at >= SETTLED_SECONDS
            if writes == self._writes and settled and _count_ids(found) <= MAX_KEPT_IDS:
                self._kept[key] = found
        return found


def _count_ids(found: Matching) -> int:
    """Count the ids, at least 2,000 so that the cache holds at most 100 filters."""
    return max(MAX_KEPT_IDS // MAX_KEPT, sum(map(len, found.values())))
