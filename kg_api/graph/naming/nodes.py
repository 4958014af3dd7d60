"""Which source, concept, proposal or job is meant: by a beginning of its id, or by where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from kg_api.errors import Conflict, NotFound
from kg_api.graph.database import Graph, Row
from kg_api.graph.naming.documents import MAX_OFFERED, by_name, identify_document, may_begin
from kg_api.graph.naming.reach import reach

_PLACE = re.compile(r"(?P<document>.+)#(?P<paragraph>\d{1,9})", re.DOTALL)


def names_place(text: str) -> bool:
    """Whether a text has the form of a place in a document, `DOCUMENT#PARAGRAPH`."""
    return _PLACE.fullmatch(text) is not None


def identify_source(graph: Graph, called: str) -> str | None:
    """The id of a source that is called by the beginning of it, or by where it stands.

    Args:
        graph: where it is.
        called: at least eight digits that only one id begins with, or `DOCUMENT#PARAGRAPH`, where the
            document is called as in `identify_document`, and its paragraphs are counted from 0; the name
            alone of a document with one source, as a picture is.

    Returns:
        None where it is called otherwise, or no id begins so.

    Raises:
        NotFound: there is no such document, or it has no such paragraph.
        Conflict: several are called so.
    """
    rows = graph.read("sources/begin_with", **_beginning(called)) if may_begin(called) else []
    if rows:
        return _only("source_id", called, rows)
    place, named = _PLACE.fullmatch(called), by_name(graph, called, None)
    if place is not None and named is None:  # a name may end so, too
        return _at_paragraph(graph, place["document"], int(place["paragraph"]))
    sources = _sources_of(graph, named)
    return sources.first if sources.total == 1 else None


class _Sources(NamedTuple):
    total: int = 0
    first: str | None = None


def _sources_of(graph: Graph, document: Row | None) -> _Sources:
    if document is None:
        return _Sources()
    row = graph.read("sources/at_paragraph", document_id=document["document_id"], paragraph=0)[0]
    return _Sources(row["sources"], row["source_id"])


def unknown_source(graph: Graph, called: str) -> NotFound:
    """The error that no source is called so; or that a document is, which has several."""
    if (count := _sources_of(graph, by_name(graph, called, None)).total) > 1:
        many = f"{called!r} is a document of {count} sources"
        return NotFound(f"{many}: say which, {called}#0 to {called}#{count - 1}")
    why = (
        "its document may have changed since you saw it; sources go by their id, as a search gives it, "
        "or by ONTOLOGY/DOCUMENT#PARAGRAPH"
    )
    return NotFound(f"there is no source {called!r}: {why}")


def _at_paragraph(graph: Graph, document: str, paragraph: int) -> str:
    identity = identify_document(graph, document)
    row = graph.read("sources/at_paragraph", document_id=identity, paragraph=paragraph)[0]
    if row["source_id"] is None:
        last = row["sources"] - 1
        raise NotFound(f"{document!r} has no paragraph {paragraph}: they go from 0 to {last}")
    return row["source_id"]


def first_source(graph: Graph, called: str) -> str:
    """The id of the source that a document begins with; see `identify_document`.

    Raises:
        NotFound: there is no such document, or it has no sources.
        Conflict: several are called so.
    """
    identity = identify_document(graph, called, sought="source or document")
    rows = graph.read("sources/first_of_document", document_id=identity)
    if not rows:
        raise NotFound(f"the document {called!r} has no sources")
    return rows[0]["source_id"]


def identify_job(graph: Graph, called: str) -> str:
    """The id of the job that alone begins with some digits, eight at least; else what is given.

    Raises:
        Conflict: there are several.
    """
    rows = graph.read("jobs/begin_with", **_beginning(called)) if may_begin(called) else []
    return _only("job_id", called, rows) or called


def identify_concept(graph: Graph, called: str) -> str | None:
    """The id of the concept that alone begins with some digits, eight at least; None where there is none.

    Raises:
        Conflict: there are several.
    """
    rows = graph.read("concepts/begin_with", **_beginning(called)) if may_begin(called) else []
    return _only("concept_id", called, rows)


def identify_proposal(graph: Graph, called: str) -> str:
    """The id of the proposal that alone begins with some digits, eight at least; else what is given.

    Raises:
        Conflict: there are several.
    """
    rows = graph.read("proposals/begin_with", **_beginning(called)) if may_begin(called) else []
    return _only("proposal_id", called, rows) or called


def _beginning(called: str) -> dict[str, Any]:
    return {"prefix": called, "ontologies": reach(), "limit": MAX_OFFERED}


def only_one(key: str, called: str, rows: Sequence[Row]) -> Row | None:
    """The row of what begins as it is called; None where there is none.

    Raises:
        Conflict: there are several.
    """
    if len(rows) > 1:
        raise Conflict(f"several ids begin with {called!r}: {', '.join(row[key] for row in rows)}")
    return rows[0] if rows else None


def _only(key: str, called: str, rows: Sequence[Row]) -> str | None:
    row = only_one(key, called, rows)
    return None if row is None else row[key]
