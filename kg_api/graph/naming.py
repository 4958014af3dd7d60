"""Which document, source, concept, proposal or job is meant: by its id, a beginning of that, or a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kg_api.errors import Conflict, NotFound
from kg_api.graph.database import Graph, Reader, Row
from kg_api.models.identity import ID_DIGITS, document_id, spellings
from kg_api.wording.nearest import nearest, no_ontology, suggestion
from kg_api.wording.plural import pluralize

MIN_PREFIX_DIGITS = 8
MAX_NAMES_READ = 5000
"""Names of documents that are looked through for one that is like a wrong one."""
MAX_OFFERED = 5
_PREFIX = re.compile(rf"[0-9a-f]{{{MIN_PREFIX_DIGITS},{ID_DIGITS}}}")
_PLACE = re.compile(r"(?P<document>.+)#(?P<paragraph>\d{1,9})", re.DOTALL)
_ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")


def is_whole_id(text: str) -> bool:
    """Whether a text has the form of an id."""
    return _ID.fullmatch(text) is not None


def names_place(text: str) -> bool:
    """Whether a text has the form of a place in a document, `DOCUMENT#PARAGRAPH`."""
    return _PLACE.fullmatch(text) is not None


def names_of_ontologies(graph: Reader) -> list[str]:
    """All of them, in order."""
    return [row["ontology"] for row in graph.read("ontologies/names")]


def unknown_ontology(graph: Reader, ontology: str | Sequence[str]) -> NotFound:
    """The error that says which ontologies are nearest to one that is not there."""
    wanted = [ontology] if isinstance(ontology, str) else ontology
    told = no_ontology(wanted, names_of_ontologies(graph)) + describe_waiting(graph, wanted)
    return NotFound(f"{told}; `kg ontologies` lists the existing ones")


def note_on_ontology(graph: Graph, ontology: str | None) -> list[str]:
    """The note of an empty list: none where the ontology it was filtered by is there."""
    names = names_of_ontologies(graph) if ontology is not None else []
    if ontology is None or ontology in names:
        return []
    return [no_ontology(ontology, names) + describe_waiting(graph, [ontology])]


def describe_waiting(graph: Reader, ontologies: Sequence[str]) -> str:
    """The clause that documents wait for approval in ontologies that are not there yet; or empty."""
    rows = graph.read("waiting/count", ontology=None)
    told = [
        f"; {pluralize(row['waiting'], 'document')} of {row['ontology']} "
        f"{'waits' if row['waiting'] == 1 else 'wait'} for approval (kg documents waiting)"
        for row in rows
        if row["ontology"] in ontologies
    ]
    return "".join(told)


def identify_document(
    graph: Graph, called: str, ontology: str | None = None, *, sought: str = "document"
) -> str:
    """The id of a document that is called by its id, by a beginning of that, or by its name.

    Args:
        graph: where it is.
        called: an id, at least eight digits that only one id begins with, `NAME`, or `ONTOLOGY/NAME`.
        ontology: which it is in; None: any.
        sought: what the message says there is none of.

    Raises:
        NotFound: none is called so; the message names the nearest.
        Conflict: several are.
    """
    within = None if ontology is None else [ontology]
    found = _by_name(graph, called, ontology) or next(iter(by_prefix(graph, called, within)), None)
    if found is None:
        raise _unknown_document(graph, called, ontology, sought)
    return found["document_id"]


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
    rows = graph.read("sources/begin_with", prefix=called, limit=MAX_OFFERED) if _may_begin(called) else []
    if rows:
        return _only("source_id", called, rows)
    place, named = _PLACE.fullmatch(called), _by_name(graph, called, None)
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
    if (count := _sources_of(graph, _by_name(graph, called, None)).total) > 1:
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
    rows = graph.read("jobs/begin_with", prefix=called, limit=MAX_OFFERED) if _may_begin(called) else []
    return _only("job_id", called, rows) or called


def identify_concept(graph: Graph, called: str) -> str | None:
    """The id of the concept that alone begins with some digits, eight at least; None where there is none.

    Raises:
        Conflict: there are several.
    """
    rows = graph.read("concepts/begin_with", prefix=called, limit=MAX_OFFERED) if _may_begin(called) else []
    return _only("concept_id", called, rows)


def identify_proposal(graph: Graph, called: str) -> str:
    """The id of the proposal that alone begins with some digits, eight at least; else what is given.

    Raises:
        Conflict: there are several.
    """
    rows = graph.read("proposals/begin_with", prefix=called, limit=MAX_OFFERED) if _may_begin(called) else []
    return _only("proposal_id", called, rows) or called


def _may_begin(called: str) -> bool:
    return _PREFIX.fullmatch(called) is not None and not is_whole_id(called)


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


def _by_name(graph: Graph, called: str, ontology: str | None) -> Row | None:
    """What has the very id, or the very name: in one ontology, or in any."""
    within = names_of_ontologies(graph) if ontology is None else [ontology]
    forms = spellings(called)
    named = [[document_id(owner, form) for owner in within] for form in forms]
    spelled = [ids_of_full_name(form) for form in forms]
    ways = [[called], *named, *spelled]
    found = graph.read("documents/identify", document_ids=[one for ids in ways for one in ids])
    fitting = [row for row in found if ontology in {None, row["ontology"]}]
    for ids in ways:
        if rows := [row for row in fitting if row["document_id"] in ids]:
            return _one(called, rows)
    return None


def ids_of_full_name(called: str) -> list[str]:
    """The ids that `ONTOLOGY/NAME` may mean; none where it is not of that form."""
    owner, slash, name = called.partition("/")
    return [document_id(owner.strip(), each) for each in (name, name.strip())] if slash else []


def by_prefix(graph: Graph, called: str, ontologies: Sequence[str] | None) -> list[Row]:
    """The one document whose id begins with some digits, eight at least; none where there is none.

    Raises:
        Conflict: there are several; the message lists them.
    """
    if not _may_begin(called):
        return []
    within = None if ontologies is None else list(ontologies)
    rows = graph.read("documents/begin_with", prefix=called, ontologies=within, limit=MAX_OFFERED)
    return [_one(called, rows)] if rows else []


def _one(called: str, rows: Sequence[Row]) -> Row:
    if len(rows) > 1:
        offered = ", ".join(f"{row['ontology']}/{row['document']} ({row['document_id']})" for row in rows)
        raise Conflict(f"several documents are called {called!r}: {offered}; give one's id, or ONTOLOGY/NAME")
    return rows[0]


def name_nearest(graph: Graph, called: Sequence[str], ontology: str | None) -> str:
    """The clause that says which documents are nearest to some that are not there; empty where none is.

    Of one that begins with an ontology that is there, only what that has is looked through. They are named
    with their ontology where what was called seems to name one.
    """
    rows = graph.read("documents/names", ontology=ontology, limit=MAX_NAMES_READ)
    owners = {each.partition("/")[0] for each in called if "/" in each}
    there = {row["ontology"] for row in rows}
    if owned := tuple(f"{owner}/" for owner in sorted(owners & there)):
        return _nearest_within(owned, called, rows)
    full = [_full_name(row) for row in rows]
    if any(nearest(owner, there) for owner in owners):
        return suggestion(called, full)
    return suggestion(called, [row["document"] for row in rows])


def _nearest_within(owned: tuple[str, ...], called: Sequence[str], rows: Sequence[Row]) -> str:
    """Of the ontologies that what is called begins with, or of folders of that name."""
    full = [name for row in rows if (name := _full_name(row)).startswith(owned)]
    folders = [row["document"] for row in rows if row["document"].startswith(owned)]
    wanted = [each.partition("/")[2] for each in called if each.startswith(owned)]
    names = {each.partition("/")[2]: each for each in [*full, *folders]}
    found = [names[name] for each in wanted for name in nearest(each, names)]
    return suggestion(found, found)


def _full_name(row: Row) -> str:
    return f"{row['ontology']}/{row['document']}"


def _unknown_document(graph: Graph, called: str, ontology: str | None, sought: str) -> NotFound:
    if note := note_on_ontology(graph, ontology):
        return NotFound(f"{note[0]}; `kg ontologies` lists the existing ones")
    within = "" if ontology is None else f" in {ontology!r}"
    near = "" if is_whole_id(called) else name_nearest(graph, [called], ontology)
    return NotFound(f"there is no {sought} {called!r}{within}{near}; `kg documents` lists the existing ones")
