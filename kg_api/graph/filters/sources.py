"""Conditions on the page and the kind of sources, as `fits(s)` in a statement takes them.

A search selects sources. A list of documents, a facet or a deletion selects documents: a document fits if one
of its sources fits all conditions at once and, for `!=` and `does not exist`, none of its sources is so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast, get_args

from kg_api.graph.database import Reader, Row
from kg_api.models.queries.filters import MAX_PAGE, PAGE, Clause, Condition, alternatives_of, conditions_of
from kg_api.models.vocabulary import SourceKind

MAX_SOURCES: Final = 2**63 - 1
KINDS: Final = frozenset[SourceKind](get_args(SourceKind))
NOTHING: Final[list[Sequence[Row]]] = [[]]
"""What no source fits."""


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Which sources of some documents are wanted."""

    image: bool | None = None
    """Only images, or only passages; None: both."""
    fits: Sequence[Sequence[Row]] = field(default_factory=list[Sequence[Row]])
    """Of each one alternative holds; an alternative names documents, a kind, and pages."""

    def __bool__(self) -> bool:
        return self.image is not None or bool(self.fits)

    @property
    def kinds(self) -> list[SourceKind]:
        return ["passage", "image"] if self.image is None else ["image" if self.image else "passage"]

    def parameters(self) -> Row:
        return {"image": self.image, "fits": list(self.fits)}

    def of_kinds(self, kinds: Collection[SourceKind] | None) -> SourceFilter:
        """Return the filter for sources that are also of some kinds; None: of all."""
        return _of_kinds(KINDS.intersection(self.kinds, KINDS if kinds is None else kinds), self.fits)


Matching = Callable[[Sequence[Clause]], list[str]]
"""Returns the documents for which conditions on documents hold."""
Having = Callable[[SourceFilter], list[str]]
"""Returns the documents that have a source which fits."""


def split_clauses(where: Iterable[Clause]) -> tuple[list[Clause], list[Clause]]:
    """Return the clauses on documents alone, and those with a condition on sources."""
    of_documents, of_sources = list[Clause](), list[Clause]()
    for clause in where:
        has_source = any(each.is_of_source for each in conditions_of([clause]))
        (of_sources if has_source else of_documents).append(clause)
    return of_documents, of_sources


def filter_sources(
    clauses: Iterable[Clause], matching: Matching, having: Having | None = None
) -> SourceFilter:
    """Build a filter from clauses, all of which hold.

    Args:
        clauses: each with a condition on sources.
        matching: finds documents.
        having: finds documents by their sources. Given, the filter selects documents, by one fitting source.
            Otherwise it selects sources.
    """
    kinds, fits = KINDS, list[Sequence[Row]]()
    for clause in clauses:
        groups = [_group_of(each, matching, having) for each in alternatives_of(clause)]
        if len(groups) == 1 and groups[0].is_of_kind_alone:
            kinds &= groups[0].kinds
        else:
            fits.append([each.row() for each in groups if each.kinds])
    return _of_kinds(kinds, fits)


def documents_having(
    graph: Reader,
    fitting: SourceFilter,
    ontologies: Sequence[str] | None,
    document_ids: Sequence[str] | None = None,
    *,
    sources: int = MAX_SOURCES,
) -> list[str]:
    """Return the ids of the documents of at most `sources` sources that fit."""
    (row,) = graph.read(
        "sources/documents_fitting",
        ontologies=None if ontologies is None else list(ontologies),
        document_ids=None if document_ids is None else list(document_ids),
        sources=sources,
        **fitting.parameters(),
    )
    return row["document_ids"]


def keep_fitting(graph: Reader, fitting: SourceFilter, source_ids: Iterable[str]) -> frozenset[str]:
    """Return those of some sources that fit."""
    ids = list(dict.fromkeys(source_ids))
    rows = graph.read("sources/fitting", source_ids=ids, **fitting.parameters()) if ids else []
    return frozenset(row["source_id"] for row in rows)


@dataclass(frozen=True, slots=True)
class _Group:
    """Conditions that hold together."""

    kinds: frozenset[SourceKind]
    pages: Sequence[Row]
    documents: Sequence[str] | None
    without: Sequence[str] | None

    @property
    def is_of_kind_alone(self) -> bool:
        return not self.pages and self.documents is None and self.without is None

    def row(self) -> Row:
        image = None if self.kinds == KINDS else "image" in self.kinds
        known = {"documents": self.documents, "without": self.without}
        return {**known, "image": image, "pages": list(self.pages)}


def _group_of(group: Iterable[Condition], matching: Matching, having: Having | None) -> _Group:
    kinds, pages = KINDS, list[Row]()
    of_documents, without = list[Clause](), list[str]()
    for each in group:
        if not each.is_of_source:
            of_documents.append(each)
        elif having is not None and each.is_negative:
            without += having(filter_sources([_positive(each)], matching))
        elif each.field == PAGE:
            pages.append(_pages(each))
        else:
            kinds &= _kinds(each)
    return _Group(kinds, pages, matching(of_documents) if of_documents else None, without or None)


def _kinds(condition: Condition) -> frozenset[SourceKind]:
    if condition.op == "exists":
        return KINDS if condition.value else frozenset()
    named = frozenset(cast("list[SourceKind]", condition.values))
    return KINDS - named if condition.op == "!=" else named


def _pages(condition: Condition) -> Row:
    """A source is on each page from its first to its last one, as a list would have them."""
    if condition.op == "exists":
        return {"spans": [_span(-MAX_PAGE, MAX_PAGE)], "wanted": bool(condition.value)}
    numbers = cast("list[int]", condition.values)
    spans: dict[str, Any] = {
        "<": _span(-MAX_PAGE, numbers[0] - 1),
        "<=": _span(-MAX_PAGE, numbers[0]),
        ">": _span(numbers[0] + 1, MAX_PAGE),
        ">=": _span(numbers[0], MAX_PAGE),
    }
    wanted = [spans[condition.op]] if condition.op in spans else [_span(each, each) for each in numbers]
    return {"spans": wanted, "wanted": condition.op != "!="}


def _span(first: int, last: int) -> Row:
    return {"first": first, "last": last}


def _positive(condition: Condition) -> Condition:
    """Return what a negative condition denies."""
    if condition.op == "exists":
        return condition.model_copy(update={"value": True})
    return condition.model_copy(update={"op": "="})


def _of_kinds(kinds: Collection[SourceKind], fits: Sequence[Sequence[Row]]) -> SourceFilter:
    if not kinds:
        return SourceFilter(fits=NOTHING)
    return SourceFilter(None if len(kinds) == len(KINDS) else "image" in kinds, fits)
