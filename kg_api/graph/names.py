"""Finds ontologies, documents, and sources by name or id prefix, and suggests other names.

kg never finds or suggests names in ontologies that the caller cannot see.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, LiteralString

from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.graph.client import Graph, Reader, Row
from kg_api.graph.reach import get_visible_ontologies, is_visible, resolve_ontologies, resolve_ontology
from kg_api.schemas.base import ID_DIGITS, build_alias_scope, build_document_id, list_spellings
from kg_api.suggestions import describe_unknown_ontology, find_nearest, format_suggestion
from kg_api.wording import describe_missing_paragraph, pluralize


def list_ontology_names(graph: Reader) -> list[str]:
    return [row["ontology"] for row in graph.read("ontologies/names") if is_visible(row["ontology"])]


def list_searched_ontologies(graph: Reader, ontologies: Sequence[str] | None) -> list[str] | None:
    """List the named ontologies, or all visible ones. None: all."""
    if ontologies is None and (seen := get_visible_ontologies()) is not None:
        return list_ontology_names(graph) or seen
    return resolve_ontologies(ontologies)


def report_unknown_ontology(graph: Reader, ontology: str | Sequence[str]) -> NotFound:
    """Build an error for an ontology without documents. It suggests similar names, or the review."""
    wanted = [ontology] if isinstance(ontology, str) else ontology
    for row in graph.read("waiting/count", ontologies=[each for each in wanted if is_visible(each)]):
        pending = pluralize(row["waiting"], "document waits", "documents wait")
        return NotFound(
            f"ontology {row['ontology']!r} not found: its {pending} for approval. "
            f"See `kg documents waiting --ontology {row['ontology']!r}`"
        )
    message = describe_unknown_ontology(wanted, list_ontology_names(graph))
    return NotFound(f"{message}. `kg ontologies` lists the existing ones")


def require_ontologies(graph: Reader, ontologies: str | Sequence[str] | None) -> None:
    """Raise NotFound if an ontology in a filter does not exist. None: no filter."""
    wanted = [ontologies] if isinstance(ontologies, str) else ontologies
    names = list_ontology_names(graph) if wanted else []
    if missing := [each for each in wanted or () if each not in names]:
        raise report_unknown_ontology(graph, missing)


def describe_missing_ontologies(graph: Graph, ontologies: Sequence[str] | None) -> list[str]:
    """Describe ontologies that do not exist, if this is not an error."""
    names = list_ontology_names(graph) if ontologies else []
    return [describe_unknown_ontology(each, names) for each in ontologies or () if each not in names]


# Documents by id, name, `ONTOLOGY/NAME`, alias, or prefix of the id

MIN_PREFIX_DIGITS = 8
MAX_NAMES_READ = 5000  # document names to compare with an unknown name
MAX_OFFERED = 5
MAX_ALIASED = 1000  # documents of one alias to filter by ontology
MAX_SCOPES = 5000
"""Maximum number of ontologies, or of documents in all searched ontologies, per search: ten full-text
queries."""
MAX_LISTED = 5
_PREFIX = re.compile(rf"[0-9a-f]{{{MIN_PREFIX_DIGITS},{ID_DIGITS}}}")
_ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")


def is_whole_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def identify_document(
    graph: Graph, identifier: str, ontology: str | None = None, *, noun: str = "document"
) -> str:
    """Find the id of a document, given its id, a prefix of the id, its name, or an alias."""
    found = find_by_name(graph, identifier, ontology) or _find_by_prefix(
        graph, identifier, resolve_ontology(ontology)
    )
    if found is not None:
        return found["document_id"]
    seen = resolve_ontology(ontology)
    for row in graph.read("waiting/identify", names=list_spellings(identifier), ontologies=seen):
        raise NotFound(
            f"{noun} {row['document']!r} in {row['ontology']!r} waits for approval. Approve or reject it "
            f"first. See `kg documents waiting --ontology {row['ontology']!r}`"
        )
    require_ontologies(graph, ontology)
    near = "" if is_whole_id(identifier) else suggest_documents(graph, [identifier], seen)
    raise report_unknown_document(noun, [identifier], near, [] if ontology is None else [ontology])


def find_by_name(graph: Graph, identifier: str, ontology: str | None) -> Row | None:
    """Find a document by id, name, or alias, in one ontology or in all that are visible."""
    owners = list_ontology_names(graph) if ontology is None else (resolve_ontology(ontology) or [])
    fitting = _read_named(graph, [identifier], owners)[identifier] or _find_by_alias(
        graph, identifier, resolve_ontology(ontology)
    )
    return _require_one(identifier, fitting) if fitting else None


def find_documents_by_name(
    graph: Graph, identifiers: Sequence[str], ontologies: Sequence[str]
) -> dict[str, list[str]]:
    """Find the documents that are named in a filter. If several have the name, all of them match."""
    # An alias matches one document per ontology.
    if len(ontologies) * len(identifiers) > MAX_SCOPES:
        raise InvalidInput(
            f"documents: {len(identifiers)} names in {len(ontologies)} ontologies are more than "
            f"{MAX_SCOPES:,} documents: name fewer of them, or the ontology they are in"
        )
    found, unknown = dict[str, dict[str, None]](), list[str]()
    for each, named in _read_named(graph, identifiers, ontologies).items():
        fitting = named
        if not fitting:
            aliased = _find_by_alias(graph, each, ontologies)
            owners = dict.fromkeys(row["ontology"] for row in aliased)
            fitting = [_require_one(each, [a for a in aliased if a["ontology"] == owner]) for owner in owners]
        if not fitting and (begun := _find_by_prefix(graph, each, ontologies)):
            fitting = [begun]
        for row in fitting:
            found.setdefault(row["ontology"], {})[row["document_id"]] = None
        unknown += [] if fitting else [each]
    if unknown:
        near = suggest_documents(graph, unknown[:MAX_LISTED], ontologies)
        raise report_unknown_document("document", unknown, near, ontologies)
    return {ontology: [*ids] for ontology, ids in found.items()}


def _read_named(graph: Graph, identifiers: Sequence[str], owners: Sequence[str]) -> dict[str, list[Row]]:
    """Find visible documents for each name: by id, then by name, then by `ONTOLOGY/NAME`."""
    ways = dict[str, list[list[str]]]()
    for each in identifiers:
        forms = list_spellings(each)
        full = [
            (owner.strip(), name) for owner, slash, name in (form.partition("/") for form in forms) if slash
        ]
        ways[each] = [
            [each],
            *([build_document_id(owner, form) for owner in owners] for form in forms),
            [build_document_id(owner, form) for owner, name in full for form in (name, name.strip())],
        ]
    ids = [one for of_each in ways.values() for way in of_each for one in way]
    rows = graph.read("documents/identify", document_ids=ids)
    there = {row["document_id"]: row for row in rows if row["ontology"] in owners}

    def first(of_each: Sequence[Sequence[str]]) -> list[Row]:
        found = ([there[one] for one in dict.fromkeys(way) if one in there] for way in of_each)
        return next((rows for rows in found if rows), list[Row]())

    return {each: first(of_each) for each, of_each in ways.items()}


def _find_by_alias(graph: Graph, identifier: str, ontologies: Sequence[str] | None) -> list[Row]:
    """Find documents that have an alias, `ALIAS` or `ONTOLOGY/ALIAS`."""
    owner, slash, name = identifier.partition("/")
    ways = [(identifier, ontologies), *([(name, [owner.strip()])] if slash else [])]
    for alias, owners in ways:
        query = f"scope:{build_alias_scope(alias)}"
        rows = graph.read("documents/aliased", query=query, ontologies=owners, limit=MAX_ALIASED)
        if found := [row for row in rows if ontologies is None or row["ontology"] in ontologies]:
            return found
    return []


def _find_by_prefix(graph: Graph, prefix: str, ontologies: Sequence[str] | None) -> Row | None:
    if not _may_begin(prefix):
        return None
    seen = None if ontologies is None else list(ontologies)
    rows = graph.read("documents/begin_with", prefix=prefix, ontologies=seen, limit=MAX_OFFERED)
    return _require_one(prefix, rows) if rows else None


def _require_one(identifier: str, rows: Sequence[Row]) -> Row:
    if len(rows) > 1:
        offered = ", ".join(f"{row['ontology']}/{row['document']} ({row['document_id']})" for row in rows)
        raise Conflict(
            f"several documents have the name {identifier!r}: {offered}. Use an id or ONTOLOGY/NAME"
        )
    return rows[0]


def suggest_documents(graph: Graph, identifiers: Sequence[str], ontologies: Sequence[str] | None) -> str:
    """Suggest the nearest documents in a clause. If there are none, this is empty."""
    rows = graph.read("documents/names", ontologies=resolve_ontologies(ontologies), limit=MAX_NAMES_READ)
    full = [f"{row['ontology']}/{row['document']}" for row in rows]
    owners = {each.partition("/")[0] for each in identifiers if "/" in each}
    there = {row["ontology"] for row in rows}
    if owned := tuple(f"{owner}/" for owner in sorted(owners & there)):
        # If the ontology or a folder of that name exists, suggest only its documents
        own = [each for each in (*full, *(row["document"] for row in rows)) if each.startswith(owned)]
        names = {each.partition("/")[2]: each for each in reversed(own)}
        wanted = [each.partition("/")[2] for each in identifiers if each.startswith(owned)]
        found = [names[name] for each in wanted for name in find_nearest(each, names)]
        return format_suggestion(found, found)
    if any(find_nearest(owner, there) for owner in owners):
        return format_suggestion(identifiers, full)
    return format_suggestion(identifiers, [row["document"] for row in rows])


def report_unknown_document(
    noun: str, identifiers: Sequence[str], near: str, ontologies: Sequence[str]
) -> NotFound:
    more = f" nor {len(identifiers) - MAX_LISTED} more" if len(identifiers) > MAX_LISTED else ""
    place = f" in {ontologies[0]!r}" if len(ontologies) == 1 else ""
    message = f"{noun} {', '.join(map(repr, identifiers[:MAX_LISTED]))}{more} not found{place}{near}"
    return NotFound(f"{message}. `kg documents` lists the existing ones")


# Sources, concepts, proposals, and jobs by a prefix of their id, or by position

_PLACE = re.compile(r"(?P<document>.+)#(?P<paragraph>\d{1,9})", re.DOTALL)


def is_source_position(text: str) -> bool:
    """Check if a text can be a place in a document, `DOCUMENT#PARAGRAPH`."""
    return _PLACE.fullmatch(text) is not None


def identify_source(graph: Graph, identifier: str) -> str | None:
    """Find the id of a source, using a prefix of it or its position."""
    # The name is sufficient for a document of one source, such as an image.
    if found := _find_id_by_prefix(graph, "Source", identifier):
        return found
    place, named = _PLACE.fullmatch(identifier), find_by_name(graph, identifier, None)
    if place is not None and named is None:  # a document name may also end with `#` and digits
        document, paragraph = place["document"], int(place["paragraph"])
        row = _read_paragraph(graph, identify_document(graph, document), paragraph)
        if row["source_id"] is None:
            raise NotFound(describe_missing_paragraph(document, paragraph, row["sources"]))
        return row["source_id"]
    row = _read_paragraph(graph, named["document_id"]) if named else None
    return row["source_id"] if row and row["sources"] == 1 else None


def report_unknown_source(graph: Graph, identifier: str) -> NotFound:
    """Build an error for an unknown source, or for a document that has several sources."""
    named = find_by_name(graph, identifier, None)
    if named and (count := _read_paragraph(graph, named["document_id"])["sources"]) > 1:
        many = f"{identifier!r} is a document of {count} sources"
        return NotFound(f"{many}. Choose one from {identifier}#0 to {identifier}#{count - 1}")
    why = (
        "the document may have changed since your search. Name a source by its id from a search "
        "result, or as ONTOLOGY/DOCUMENT#PARAGRAPH"
    )
    return NotFound(f"source {identifier!r} not found: {why}")


def find_first_source(graph: Graph, identifier: str) -> str:
    identity = identify_document(graph, identifier, noun="source or document")
    if (found := _read_paragraph(graph, identity)["source_id"]) is None:
        raise NotFound(f"the document {identifier!r} has no sources")
    return found


def identify_job(graph: Graph, identifier: str) -> str:
    return _find_id_by_prefix(graph, "Job", identifier) or identifier


def identify_concept(graph: Graph, identifier: str) -> str | None:
    return _find_id_by_prefix(graph, "Concept", identifier)


def identify_proposal(graph: Graph, identifier: str) -> str:
    return _find_id_by_prefix(graph, "Proposal", identifier) or identifier


def require_one(key: str, identifier: str, rows: Sequence[Row]) -> Row | None:
    if len(rows) > 1:
        raise Conflict(f"several ids begin with {identifier!r}: {', '.join(row[key] for row in rows)}")
    return rows[0] if rows else None


def _may_begin(prefix: str) -> bool:
    return _PREFIX.fullmatch(prefix) is not None and not is_whole_id(prefix)


def _find_id_by_prefix(graph: Graph, label: LiteralString, prefix: str) -> str | None:
    """Find the only id with this prefix, if it has eight or more digits."""
    if not _may_begin(prefix):
        return None
    parameters: dict[str, Any] = {
        "prefix": prefix,
        "ontologies": get_visible_ontologies(),
        "limit": MAX_OFFERED,
    }
    row = require_one("id", prefix, graph.read("names/begin_with", label=label, **parameters))
    return None if row is None else row["id"]


def _read_paragraph(graph: Graph, identity: str, paragraph: int = 0) -> Row:
    return graph.read("sources/at_paragraph", document_id=identity, paragraph=paragraph)[0]
