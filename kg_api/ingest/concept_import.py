"""Importing concepts: rows that name documents -> their sources -> one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kg_api.graph.concepts.extraction_config import read_extraction
from kg_api.graph.concepts.imports import KnownDocuments, documents_called, sources_to_carry
from kg_api.graph.concepts.vectors import want_concepts
from kg_api.graph.concepts.writes import write_extractions
from kg_api.graph.database import Graph
from kg_api.ingest.concept_placing import Allowance, Missing, PlacedConcepts, place
from kg_api.models.concepts.extraction import Extraction
from kg_api.models.concepts.imports import MAX_PROBLEMS, ConceptRow, ConceptsImported, ImportProblem
from kg_api.models.identity import concept_name

MARK = "import"
_SHOWN = 200
"""Characters of a quote in a message."""


@dataclass(slots=True)
class _Import:
    """What one request brings."""

    sources: dict[str, PlacedConcepts]
    by_document: dict[str, list[PlacedConcepts]]
    touched: dict[str, PlacedConcepts] = field(default_factory=dict[str, PlacedConcepts])
    problems: list[ImportProblem] = field(default_factory=list[ImportProblem])
    rows: int = 0
    emptied: int = 0
    allowance: Allowance = field(default_factory=Allowance)

    def extractions(self) -> list[Extraction]:
        """Of all sources that rows name, those without a concept too: what was imported before goes."""
        return [each.extraction() for each in self.touched.values()]


def import_concepts(graph: Graph, ontology: str, rows: Sequence[ConceptRow]) -> ConceptsImported:
    """Tie concepts to the sources that say them; what was imported for these sources before is replaced.

    Raises:
        NotFound: there is no such ontology.
        DatabaseUnavailable: nothing was stored.
        TooBusy: too many jobs wait; nothing was stored.
    """
    read_extraction(graph, ontology)  # it must be there
    known = documents_called(graph, ontology, [name for row in rows for name in _names(row)])
    documents = [_document(row, known) for row in rows]
    stored = sources_to_carry(
        graph,
        ontology,
        [each for each in documents if each is not None],
        [row.source_id for row in rows if row.source_id is not None],
    )
    found = _Import({each.source_id: PlacedConcepts(each) for each in stored}, {})
    for each in found.sources.values():
        found.by_document.setdefault(each.source.document_id, []).append(each)
    for at, (row, document) in enumerate(zip(rows, documents, strict=True)):
        _take(found, at, row, _sources(found, row, document), known)
    extractions = found.extractions()
    if extractions:  # who brings concepts wants them by meaning: those of a single source, too
        graph.transaction(lambda tx: want_concepts(tx, ontology))
        written = graph.transaction(
            lambda tx: write_extractions(tx, ontology, extractions, MARK, imported=True)
        )
        found.emptied = written.emptied
    return _present(ontology, found, extractions)


def _names(row: ConceptRow) -> Iterator[str]:
    yield from (name for name in (row.document, row.title) if name is not None)


def _document(row: ConceptRow, known: KnownDocuments) -> str | None:
    """The document of this name, unless only another has the row's title; else the only one of the title."""
    named = known.by_name.get(row.document or "")
    titled = [known.by_title.get(name, []) for name in (row.title, row.document) if name is not None]
    if named is not None and (row.title is None or named in titled[0] or len(titled[0]) != 1):
        return named
    return next((alike[0] for alike in titled if len(alike) == 1), None)


def _sources(found: _Import, row: ConceptRow, document: str | None) -> list[PlacedConcepts]:
    if row.source_id is not None:
        return [found.sources[row.source_id]] if row.source_id in found.sources else []
    sources = found.by_document.get(document or "", [])
    return [each for each in sources if row.paragraph in (None, each.source.paragraph)]


def _take(
    found: _Import, at: int, row: ConceptRow, sources: Sequence[PlacedConcepts], known: KnownDocuments
) -> None:
    where = next(_names(row), None) or row.source_id or ""
    if not sources:
        found.problems.append(ImportProblem(row=at, place=where, reason=_why_not(row, known)))
        return
    found.rows += 1
    found.touched.update((each.source.source_id, each) for each in sources)
    for missing in place(row, sources, found.allowance):
        reason = f"{_why_missing(missing)}: {missing.quote[:_SHOWN]}"
        found.problems.append(ImportProblem(row=at, place=where, label=missing.label, reason=reason))


def _why_missing(missing: Missing) -> str:
    if not missing.unsought:
        return "the quote is not in the text"
    return (
        "the quote is not in the text to the letter, and the request has no time left to look for the like "
        "of it; send fewer rows at a time, or name the paragraph"
    )


def _why_not(row: ConceptRow, known: KnownDocuments) -> str:
    if row.source_id is not None:
        return "the ontology has no such source"
    if row.paragraph is not None and _document(row, known) is not None:
        return f"the document has no paragraph {row.paragraph}"
    alike = max((len(known.by_title.get(name, ())) for name in _names(row)), default=0)
    if alike > 1:
        return f"{alike} documents have this title: name the document itself"
    return "the ontology has no document of this name or title"


def _present(ontology: str, found: _Import, extractions: Sequence[Extraction]) -> ConceptsImported:
    proved: dict[tuple[str, str], bool] = {}
    for each in extractions:
        for concept in each.concepts:
            key = each.source_id, concept_name(concept.label)
            proved[key] = proved.get(key, False) or bool(concept.quotes)
    return ConceptsImported(
        ontology=ontology,
        rows=found.rows,
        sources=len({source for source, _ in proved}),
        concepts=len({name for _, name in proved}),
        appearances=len(proved),
        unverified=sum(not each for each in proved.values()),
        emptied=found.emptied,
        relations=sum(len(each.relations) for each in extractions),
        problems=found.problems[:MAX_PROBLEMS],
        more_problems=max(0, len(found.problems) - MAX_PROBLEMS),
    )
