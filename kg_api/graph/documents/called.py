"""The documents that a filter calls by names, `ONTOLOGY/NAME`, aliases, ids or beginnings of those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.database import Graph, Row
from kg_api.graph.naming.documents import by_alias, by_prefix, ids_of_full_name, name_nearest, require_one
from kg_api.models.identity import document_id, spellings

MAX_SCOPES = 5000
"""Ontologies, or documents of all ontologies searched, that one search may name: ten full-text queries."""
MAX_TOLD = 5


def documents_called(graph: Graph, called: Sequence[str], ontologies: Sequence[str]) -> dict[str, list[str]]:
    """Find what a filter names; a name is of all documents that have it in the ontologies looked into.

    An alias is of one document in each ontology.

    Args:
        graph: where they are.
        called: names, `ONTOLOGY/NAME`, aliases, ids, or at least eight digits that only one id begins with.
        ontologies: those looked into.

    Returns:
        The ids of the documents, by ontology.

    Raises:
        NotFound: one is not there; the message suggests the closest names.
        InvalidInput: they are more than one search can take.
        Conflict: several ids begin with the digits given, or several documents of an ontology have the alias.
    """
    if len(ontologies) * len(called) > MAX_SCOPES:
        raise InvalidInput(
            f"documents: {len(called)} names in {len(ontologies)} ontologies are more than {MAX_SCOPES:,} "
            "documents: name fewer of them, or the ontology they are in"
        )
    ways = {each: [*_ways(each, ontologies)] for each in called}
    ids = [one for of_each in ways.values() for way in of_each for one in way]
    rows = graph.read("documents/identify", document_ids=ids)
    there = {row["document_id"]: row for row in rows if row["ontology"] in ontologies}
    found: dict[str, Row] = {}
    unknown: list[str] = []
    for each, of_each in ways.items():
        fitting = _first(of_each, there) or _aliased(graph, each, ontologies)
        fitting = fitting or by_prefix(graph, each, ontologies)
        found.update((row["document_id"], row) for row in fitting)
        unknown += [] if fitting else [each]
    if unknown:
        raise _unknown_documents(graph, unknown, ontologies)
    return _by_ontology(found)


def _ways(called: str, ontologies: Sequence[str]) -> Iterator[list[str]]:
    """The ids that are meant, by what it is taken for, in the order of preference."""
    yield [called]
    forms = spellings(called)
    yield [document_id(ontology, form) for ontology in ontologies for form in forms]
    yield [one for form in forms for one in ids_of_full_name(form)]


def _aliased(graph: Graph, called: str, ontologies: Sequence[str]) -> list[Row]:
    """The document of each ontology that has an alias."""
    rows = by_alias(graph, called, ontologies)
    return [
        require_one(called, [row for row in rows if row["ontology"] == ontology])
        for ontology in dict.fromkeys(row["ontology"] for row in rows)
    ]


def _first(ways: Sequence[Sequence[str]], there: Mapping[str, Row]) -> list[Row]:
    for way in ways:
        if rows := [there[one] for one in way if one in there]:
            return rows
    return []


def _by_ontology(found: Mapping[str, Row]) -> dict[str, list[str]]:
    of: dict[str, list[str]] = {}
    for identity, row in found.items():
        of.setdefault(row["ontology"], []).append(identity)
    return of


def _unknown_documents(graph: Graph, unknown: Sequence[str], ontologies: Sequence[str]) -> NotFound:
    told = unknown[:MAX_TOLD]
    near = name_nearest(graph, told, ontologies)
    more = f" nor {len(unknown) - MAX_TOLD} more" if len(unknown) > MAX_TOLD else ""
    place = f" in {ontologies[0]!r}" if len(ontologies) == 1 else ""
    there_is_none = f"there is no document {', '.join(map(repr, told))}{more}{place}{near}"
    return NotFound(f"{there_is_none}; `kg documents` lists the existing ones")
