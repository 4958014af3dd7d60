"""Which document is meant: by its id, a beginning of that, a name, or an alias."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kg_api.errors import Conflict, NotFound
from kg_api.graph.database import Graph, Row
from kg_api.graph.naming.ontologies import names_of_ontologies, require_ontologies
from kg_api.graph.naming.reach import looked_into, reaches, within
from kg_api.models.identity import ID_DIGITS, document_id, scope_of_alias, spellings
from kg_api.wording.nearest import nearest, suggestion

MIN_PREFIX_DIGITS = 8
MAX_NAMES_READ = 5000
"""Names of documents that are looked through for one that is like a wrong one."""
MAX_OFFERED = 5
MAX_ALIASED = 1000
"""Documents of one alias that are looked through for those of an ontology."""
_PREFIX = re.compile(rf"[0-9a-f]{{{MIN_PREFIX_DIGITS},{ID_DIGITS}}}")
_ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")


def is_whole_id(text: str) -> bool:
    """Whether a text has the form of an id."""
    return _ID.fullmatch(text) is not None


def may_begin(called: str) -> bool:
    """Whether a text can be the beginning of an id."""
    return _PREFIX.fullmatch(called) is not None and not is_whole_id(called)


def identify_document(
    graph: Graph, called: str, ontology: str | None = None, *, sought: str = "document"
) -> str:
    """The id of a document that is called by its id, by a beginning of that, by its name, or by an alias.

    Args:
        graph: where it is.
        called: an id, at least eight digits that only one id begins with, `NAME`, or `ONTOLOGY/NAME`; in the
            place of a name, an alias that only one document has.
        ontology: which it is in; None: any.
        sought: what the message says there is none of.

    Raises:
        NotFound: none is called so; the message names the nearest.
        Conflict: several are.
    """
    found = by_name(graph, called, ontology)
    found = found or next(iter(by_prefix(graph, called, within(ontology))), None)
    if found is None:
        raise _unknown_document(graph, called, ontology, sought)
    return found["document_id"]


def by_name(graph: Graph, called: str, ontology: str | None) -> Row | None:
    """What has the very id, the very name, or the alias: in one ontology, or in any that can be seen.

    Raises:
        Conflict: several have the name, or no name fits and several have the alias.
    """
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
    """The ids that `ONTOLOGY/NAME` may mean; none where it is not of that form."""
    owner, slash, name = called.partition("/")
    return [document_id(owner.strip(), each) for each in (name, name.strip())] if slash else []


def by_alias(graph: Graph, called: str, ontologies: Sequence[str] | None) -> list[Row]:
    """The documents that have an alias, or of an ontology where it stands in front: `ONTOLOGY/ALIAS`."""
    owner, slash, name = called.partition("/")
    ways = [(called, ontologies), *([(name, [owner.strip()])] if slash else [])]
    for alias, owners in ways:
        query = f"scope:{scope_of_alias(alias)}"
        rows = graph.read("documents/aliased", query=query, ontologies=owners, limit=MAX_ALIASED)
        if found := [row for row in rows if ontologies is None or row["ontology"] in ontologies]:
            return found
    return []


def by_prefix(graph: Graph, called: str, ontologies: Sequence[str] | None) -> list[Row]:
    """The one document whose id begins with some digits, eight at least; none where there is none.

    Raises:
        Conflict: there are several; the message lists them.
    """
    if not may_begin(called):
        return []
    looked_into = None if ontologies is None else list(ontologies)
    rows = graph.read("documents/begin_with", prefix=called, ontologies=looked_into, limit=MAX_OFFERED)
    return [require_one(called, rows)] if rows else []


def require_one(called: str, rows: Sequence[Row]) -> Row:
    """The only one of some documents.

    Raises:
        Conflict: there are several.
    """
    if len(rows) > 1:
        offered = ", ".join(f"{row['ontology']}/{row['document']} ({row['document_id']})" for row in rows)
        raise Conflict(f"several documents are called {called!r}: {offered}; give one's id, or ONTOLOGY/NAME")
    return rows[0]


def name_nearest(graph: Graph, called: Sequence[str], ontologies: Sequence[str] | None) -> str:
    """The clause that says which documents are nearest to some that are not there; empty where none is.

    Of one that begins with an ontology that is there, only what that has is looked through. They are named
    with their ontology where what was called seems to name one.
    """
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
    require_ontologies(graph, ontology)
    place = "" if ontology is None else f" in {ontology!r}"
    near = "" if is_whole_id(called) else name_nearest(graph, [called], within(ontology))
    return NotFound(f"there is no {sought} {called!r}{place}{near}; `kg documents` lists the existing ones")
