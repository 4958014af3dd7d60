"""Ontologies, documents and sources by the names that people use, with suggestions.

Names of ontologies that the caller cannot see are never found or suggested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph, Reader, Row
from kg_api.graph.reach import looked_into, reach, reaches, within
from kg_api.schemas.base import ID_DIGITS, document_id, scope_of_alias, spellings
from kg_api.suggestions import nearest, no_ontology, suggestion
from kg_api.wording import pluralize


def names_of_ontologies(graph: Reader) -> list[str]:
    return [row["ontology"] for row in graph.read("ontologies/names") if reaches(row["ontology"])]


def searched(graph: Reader, ontologies: Sequence[str] | None) -> list[str] | None:
    """Return the ontologies to search: the named or the visible ones; None: all."""
    if ontologies is None and (seen := reach()) is not None:
        return names_of_ontologies(graph) or seen
    return looked_into(ontologies)


def unknown_ontology(graph: Reader, ontology: str | Sequence[str]) -> NotFound:
    """Return the error that says which ontologies are nearest to one that is not there."""
    wanted = [ontology] if isinstance(ontology, str) else ontology
    told = no_ontology(wanted, names_of_ontologies(graph)) + describe_waiting(graph, wanted)
    return NotFound(f"{told}; `kg ontologies` lists the existing ones")


def require_ontologies(graph: Reader, ontologies: str | Sequence[str] | None) -> None:
    """Require that every ontology which a list or a deletion is filtered by exists; None: no filter."""
    wanted = [ontologies] if isinstance(ontologies, str) else ontologies
    names = names_of_ontologies(graph) if wanted else []
    if missing := [each for each in wanted or () if each not in names]:
        raise unknown_ontology(graph, missing)


def note_on_ontologies(graph: Graph, ontologies: Sequence[str] | None) -> list[str]:
    """Describe the ontologies that do not exist, for requests to which that is no error."""
    names = names_of_ontologies(graph) if ontologies else []
    missing = [each for each in ontologies or () if each not in names]
    return [no_ontology(each, names) + describe_waiting(graph, [each]) for each in missing]


def describe_waiting(graph: Reader, ontologies: Sequence[str]) -> str:
    """Return the clause that documents wait for approval in ontologies that are not there yet; or empty."""
    rows = graph.read("waiting/count", ontologies=reach())
    told = [
        f"; {pluralize(row['waiting'], 'document')} of {row['ontology']} "
        f"{'waits' if row['waiting'] == 1 else 'wait'} for approval (kg documents waiting)"
        for row in rows
        if row["ontology"] in ontologies
    ]
    return "".join(told)


# Which document is meant: by its id, a beginning of that, a name, or an alias.

MIN_PREFIX_DIGITS = 8
MAX_NAMES_READ = 5000
"""Names of documents that are looked through for one that is like a wrong one."""
MAX_OFFERED = 5
MAX_ALIASED = 1000
"""Documents of one alias that are looked through for those of an ontology."""
_PREFIX = re.compile(rf"[0-9a-f]{{{MIN_PREFIX_DIGITS},{ID_DIGITS}}}")
_ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")


def is_whole_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def may_begin(called: str) -> bool:
    """Return whether a text can be the beginning of an id."""
    return _PREFIX.fullmatch(called) is not None and not is_whole_id(called)


def identify_document(
    graph: Graph, called: str, ontology: str | None = None, *, sought: str = "document"
) -> str:
    """Return the id of a document that is called by its id, a beginning of that, its name, or an alias."""
    found = by_name(graph, called, ontology)
    found = found or next(iter(by_prefix(graph, called, within(ontology))), None)
    if found is None:
        raise _unknown_document(graph, called, ontology, sought)
    return found["document_id"]


def by_name(graph: Graph, called: str, ontology: str | None) -> Row | None:
    """Return the document with that id, name, or alias, in one ontology or any visible one."""
    owners = names_of_ontologies(graph) if ontology is None else [ontology]
    forms = spellings(called)
    named = [[document_id(owner, form) for owner in owners] for form in forms]
    spelled = [ids_of_full_name(form) for form in forms]
    ways = [[called], *named, *spelled]
    found = graph.read("documents/identify", document_ids=[one for ids in ways for one in ids])
    fitting = [row for row in found if ontology in {None, row["ontology"]} and reaches(row["ontology"])]
    for ids in ways:
        if rows := [row for row in fitting if row["document_id"] in ids]:
            return require_one(called, rows)
    aliased = by_alias(graph, called, within(ontology))
    return require_one(called, aliased) if aliased else None


def ids_of_full_name(called: str) -> list[str]:
    """Return the ids that `ONTOLOGY/NAME` may mean; none where it is not of that form."""
    owner, slash, name = called.partition("/")
    return [document_id(owner.strip(), each) for each in (name, name.strip())] if slash else []


def by_alias(graph: Graph, called: str, ontologies: Sequence[str] | None) -> list[Row]:
    """Return the documents that have an alias: `ALIAS` or `ONTOLOGY/ALIAS`."""
    owner, slash, name = called.partition("/")
    ways = [(called, ontologies), *([(name, [owner.strip()])] if slash else [])]
    for alias, owners in ways:
        query = f"scope:{scope_of_alias(alias)}"
        rows = graph.read("documents/aliased", query=query, ontologies=owners, limit=MAX_ALIASED)
        if found := [row for row in rows if ontologies is None or row["ontology"] in ontologies]:
            return found
    return []


def by_prefix(graph: Graph, called: str, ontologies: Sequence[str] | None) -> list[Row]:
    """Return the one document whose id begins with some digits, eight at least; none where there is none."""
    if not may_begin(called):
        return []
    looked_into = None if ontologies is None else list(ontologies)
    rows = graph.read("documents/begin_with", prefix=called, ontologies=looked_into, limit=MAX_OFFERED)
    return [require_one(called, rows)] if rows else []


def require_one(called: str, rows: Sequence[Row]) -> Row:
    if len(rows) > 1:
        offered = ", ".join(f"{row['ontology']}/{row['document']} ({row['document_id']})" for row in rows)
        raise Conflict(f"several documents are called {called!r}: {offered}; give one's id, or ONTOLOGY/NAME")
    return rows[0]


def name_nearest(graph: Graph, called: Sequence[str], ontologies: Sequence[str] | None) -> str:
    """Return the clause that suggests the nearest documents, or an empty text."""
    rows = graph.read("documents/names", ontologies=looked_into(ontologies), limit=MAX_NAMES_READ)
    owners = {each.partition("/")[0] for each in called if "/" in each}
    there = {row["ontology"] for row in rows}
    if owned := tuple(f"{owner}/" for owner in sorted(owners & there)):
        return _nearest_within(owned, called, rows)
    full = [_full_name(row) for row in rows]
    if any(nearest(owner, there) for owner in owners):
        return suggestion(called, full)
    return suggestion(called, [row["document"] for row in rows])


def _nearest_within(owned: tuple[str, ...], called: Sequence[str], rows: Sequence[Row]) -> str:
    full = [name for row in rows if (name := _full_name(row)).startswith(owned)]
    folders = [row["document"] for row in rows if row["document"].startswith(owned)]
    wanted = [each.partition("/")[2] for each in called if each.startswith(owned)]
    names = {each.partition("/")[2]: each for each in [*full, *folders]}
    found = [names[name] for each in wanted for name in nearest(each, names)]
    return suggestion(found, found)


def _full_name(row: Row) -> str:
    return f"{row['ontology']}/{row['document']}"


def _unknown_document(graph: Graph, called: str, ontology: str | None, sought: str) -> NotFound:
    require_ontologies(graph, ontology)
    place = "" if ontology is None else f" in {ontology!r}"
    near = "" if is_whole_id(called) else name_nearest(graph, [called], within(ontology))
    return NotFound(f"there is no {sought} {called!r}{place}{near}; `kg documents` lists the existing ones")


# Which source, concept, proposal or job is meant: by a beginning of its id, or by where it stands.

_PLACE = re.compile(r"(?P<document>.+)#(?P<paragraph>\d{1,9})", re.DOTALL)


def names_place(text: str) -> bool:
    """Return whether a text has the form of a place in a document, `DOCUMENT#PARAGRAPH`."""
    return _PLACE.fullmatch(text) is not None


def identify_source(graph: Graph, called: str) -> str | None:
    """Return the id of a source that is called by the beginning of it, or by where it stands."""
    rows = graph.read("sources/begin_with", **_beginning(called)) if may_begin(called) else []
    if rows:
        return _only("source_id", called, rows)
    place, named = _PLACE.fullmatch(called), by_name(graph, called, None)
    if place is not None and named is None:  # a name may end so, too
        document = place["document"]
        paragraph = int(place["paragraph"])
        identity = identify_document(graph, document)
        row = graph.read("sources/at_paragraph", document_id=identity, paragraph=paragraph)[0]
        if row["source_id"] is None:
            last = row["sources"] - 1
            raise NotFound(f"{document!r} has no paragraph {paragraph}: they go from 0 to {last}")
        return row["source_id"]
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
    """Return the error that no source is called so; or that a document is, which has several."""
    if (count := _sources_of(graph, by_name(graph, called, None)).total) > 1:
        many = f"{called!r} is a document of {count} sources"
        return NotFound(f"{many}: say which, {called}#0 to {called}#{count - 1}")
    why = (
        "its document may have changed since you saw it; sources go by their id, as a search gives it, "
        "or by ONTOLOGY/DOCUMENT#PARAGRAPH"
    )
    return NotFound(f"there is no source {called!r}: {why}")


def first_source(graph: Graph, called: str) -> str:
    identity = identify_document(graph, called, sought="source or document")
    rows = graph.read("sources/first_of_document", document_id=identity)
    if not rows:
        raise NotFound(f"the document {called!r} has no sources")
    return rows[0]["source_id"]


def identify_job(graph: Graph, called: str) -> str:
    rows = graph.read("jobs/begin_with", **_beginning(called)) if may_begin(called) else []
    return _only("job_id", called, rows) or called


def identify_concept(graph: Graph, called: str) -> str | None:
    rows = graph.read("concepts/begin_with", **_beginning(called)) if may_begin(called) else []
    return _only("concept_id", called, rows)


def identify_proposal(graph: Graph, called: str) -> str:
    rows = graph.read("proposals/begin_with", **_beginning(called)) if may_begin(called) else []
    return _only("proposal_id", called, rows) or called


def _beginning(called: str) -> dict[str, Any]:
    return {"prefix": called, "ontologies": reach(), "limit": MAX_OFFERED}


def only_one(key: str, called: str, rows: Sequence[Row]) -> Row | None:
    if len(rows) > 1:
        raise Conflict(f"several ids begin with {called!r}: {', '.join(row[key] for row in rows)}")
    return rows[0] if rows else None


def _only(key: str, called: str, rows: Sequence[Row]) -> str | None:
    row = only_one(key, called, rows)
    return None if row is None else row[key]
