"""What an import of concepts reads: the documents it names, and their sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from kg_api.graph.database import Graph
from kg_api.graph.spaces.due import SourceText, source_text
from kg_api.models.identity import document_name, spellings


@dataclass(frozen=True, slots=True)
class KnownDocuments:
    """Documents by what they are called."""

    by_name: dict[str, str] = field(default_factory=dict[str, str])
    by_title: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Several may have one title."""


def documents_called(graph: Graph, ontology: str, names: Iterable[str]) -> KnownDocuments:
    """The ids of an ontology's documents that have one of these names or titles, by their composed form."""
    known = KnownDocuments()
    wanted = sorted({form for name in names for form in spellings(name)})
    for row in graph.read("concepts/import_documents", ontology=ontology, names=wanted):
        name = document_name(row["wanted"])
        if not row["by_name"]:
            known.by_title.setdefault(name, []).append(row["document_id"])
        elif row["wanted"] == name or name not in known.by_name:
            known.by_name[name] = row["document_id"]
    return known


def sources_to_carry(
    graph: Graph, ontology: str, document_ids: Collection[str], source_ids: Collection[str]
) -> list[SourceText]:
    """The sources of some documents and some others of the ontology, in reading order."""
    ids = {"document_ids": sorted(set(document_ids)), "source_ids": sorted(set(source_ids))}
    rows = graph.read("concepts/import_sources", ontology=ontology, **ids)
    return [source_text(row) for row in rows]
