"""Concept import: locate concepts in the sources of documents."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from kg_api.extraction.replies import QuotedText, QuoteSearch
from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import want_concepts
from kg_api.graph.concept_writes import (
    KnownDocuments,
    find_named_documents,
    list_sources_to_link,
    read_extraction,
    write_extractions,
)
from kg_api.graph.relations import MAX_QUOTE
from kg_api.graph.vectors import SourceText
from kg_api.schemas.base import normalize_concept_name
from kg_api.schemas.concepts import (
    MAX_PROBLEMS,
    ConceptGiven,
    ConceptRow,
    ConceptsImported,
    ExtractedConcept,
    ExtractedRelation,
    Extraction,
    ImportProblem,
    Quote,
)
from kg_api.suggestions import NamePlaces
from kg_api.text.sentences import sentence_borders

# Placement of imported concepts in sources

_MAX_QUOTE_LENGTH = 1000


@dataclass(slots=True)
class PlacedConcepts:
    source: SourceText
    concepts: list[ExtractedConcept] = field(default_factory=list[ExtractedConcept])
    relations: list[ExtractedRelation] = field(default_factory=list[ExtractedRelation])
    names: set[str] = field(default_factory=set[str])
    text: QuoteSearch = field(init=False)
    _named: NamePlaces = field(init=False)
    _sentences: list[tuple[int, int]] = field(init=False, default_factory=list[tuple[int, int]])
    _quotes: dict[str, list[Quote]] = field(init=False, default_factory=dict[str, list[Quote]])

    def __post_init__(self) -> None:
        """Create one search per source, so that its text is normalized at most once."""
        self.text = QuoteSearch(self.source.full_text)
        self._named = NamePlaces(lambda: self.text.folded)

    def add(self, given: ConceptGiven, quotes: Sequence[Quote], unverified: Sequence[str] = ()) -> None:
        """Add a concept with its quotes, and with quotes that no source contains."""
        self.names.add(normalize_concept_name(given.label))
        self._quotes.setdefault(normalize_concept_name(given.label), []).extend(quotes)
        terms = tuple(given.search_terms)
        self.concepts.append(
            ExtractedConcept(
                given.label, tuple(quotes), given.description, terms, unverified=tuple(unverified)
            )
        )

    def quote_naming(self, subject: str, target: str) -> Quote | None:
        """Return the shortest quote that names both concepts, otherwise the first such sentence."""
        named = self._named.pair(subject, target)
        known = chain.from_iterable(
            self._quotes.get(normalize_concept_name(each), ()) for each in (subject, target)
        )
        quotes = [each for each in known if named.is_within(each.start, each.end)]
        if quotes:
            return min(quotes, key=lambda each: (each.end - each.start, each.start))
        sentences = (self._find_sentence(start) for start, _ in named.ones)
        naming = next((each for each in sentences if named.is_within(*each)), None)
        return naming and Quote(self.source.full_text[slice(*naming)], *naming)

    def _find_sentence(self, place: int) -> tuple[int, int]:
        """Return the sentence at an offset, or an empty span if it exceeds the length limit of a quote."""
        # Split the sentences once, at first use
        if not self._sentences:
            text = self.source.full_text
            borders = [0, *sentence_borders(text, 0, len(text)), len(text)]
            self._sentences = [_trim(text, *each) for each in pairwise(borders)]
        sentences = self._sentences
        start, end = sentences[max(0, bisect_left(sentences, (place + 1, 0)) - 1)]
        return (start, end) if end - start <= MAX_QUOTE else (start, start)

    def extraction(self) -> Extraction:
        source = self.source
        return Extraction(source.source_id, source.content_hash, tuple(self.concepts), tuple(self.relations))


@dataclass(frozen=True, slots=True)
class Missing:
    """A quote that no source contains."""

    label: str
    quote: str


def place(row: ConceptRow, sources: Sequence[PlacedConcepts]) -> Iterator[Missing]:
    """Assign a row to its sources. Unlocated concepts go to the first. Yield quotes without a source."""
    for concept in _all_concepts(row):
        yield from _place(concept, sources)
    for subject, kind, target in row.relations:
        _relate(ExtractedRelation(subject, kind, target), sources)


def _all_concepts(row: ConceptRow) -> Iterator[ConceptGiven]:
    """Yield the given concepts, then concepts that only relations name."""
    yield from row.concepts
    known = {normalize_concept_name(each.label) for each in row.concepts}
    for subject, _, target in row.relations:
        for label in (subject, target):
            if (name := normalize_concept_name(label)) not in known:
                known.add(name)
                yield ConceptGiven(label=label)


def _place(given: ConceptGiven, sources: Sequence[PlacedConcepts]) -> Iterator[Missing]:
    found: dict[int, list[Quote]] = {}
    lost: list[str] = []
    for given_quote in given.quotes:
        quote = QuotedText(given_quote)
        as_it_is = ((at, each.text.find_exact(quote)) for at, each in enumerate(sources))
        best = _best(as_it_is) or _best(
            (at, each.text.find_ignoring_form(quote)) for at, each in enumerate(sources)
        )
        if best is None:
            lost.append(given_quote)
            yield Missing(given.label, given_quote)
        else:
            found.setdefault(best[0], []).append(best[1])
    if not found:
        names = [QuotedText(name) for name in (given.label, *given.search_terms)]
        named = {at: hit for at, each in enumerate(sources) if (hit := _says(each, names))}
        # A name match does not replace a missing quote
        found = {at: [] if lost else [hit] for at, hit in named.items()}
    for number, at in enumerate(found or {0: []}):
        sources[at].add(given, found.get(at, []), () if number else lost)


def _best(hits: Iterable[tuple[int, Quote | None]]) -> tuple[int, Quote] | None:
    """Return the first hit with the highest score. Stop at an exact hit."""
    best: tuple[int, Quote] | None = None
    for at, hit in hits:
        if hit is not None and (best is None or hit.score > best[1].score):
            best = at, hit
            if hit.score >= 1:
                break
    return best


def _says(placed: PlacedConcepts, names: Iterable[QuotedText]) -> Quote | None:
    for name in names:
        hit = placed.text.find_exact(name) or placed.text.find_ignoring_form(name)
        if hit is not None:
            # Return the sentence around a hit, or the hit if the sentence is too long or the hit crosses its
            # boundary
            lead = max(0, hit.start - _MAX_QUOTE_LENGTH)
            borders = [
                lead,
                *sentence_borders(
                    placed.source.full_text,
                    lead,
                    min(len(placed.source.full_text), hit.end + _MAX_QUOTE_LENGTH),
                ),
            ]
            start = max(each for each in borders if each <= hit.start)
            end = min(
                (each for each in borders if each >= hit.end),
                default=min(len(placed.source.full_text), hit.end + _MAX_QUOTE_LENGTH),
            )
            start, end = _trim(placed.source.full_text, start, end)
            if end - start > _MAX_QUOTE_LENGTH or (lead and start <= lead):
                return hit
            return Quote(placed.source.full_text[start:end], start, end, hit.score)
    return None


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    quoted = text[start:end]
    return start + len(quoted) - len(quoted.lstrip()), start + len(quoted.rstrip())


def _relate(relation: ExtractedRelation, sources: Sequence[PlacedConcepts]) -> None:
    """Add a relation to each source with both concepts, or unverified to the first source of the subject."""
    subject, target = normalize_concept_name(relation.subject), normalize_concept_name(relation.object)
    both = [each for each in sources if {subject, target} <= each.names]
    stated = both or [each for each in sources if subject in each.names][:1]
    for each in stated:
        quote = each.quote_naming(relation.subject, relation.object)
        each.relations.append(replace(relation, quote=quote))
        if target not in each.names:
            each.add(ConceptGiven(label=relation.object), ())


# Import service

MARK = "import"
_SHOWN = 200


@dataclass(slots=True)
class _Import:
    sources: dict[str, PlacedConcepts]
    by_document: dict[str, list[PlacedConcepts]]
    touched: dict[str, PlacedConcepts] = field(default_factory=dict[str, PlacedConcepts])
    problems: list[ImportProblem] = field(default_factory=list[ImportProblem])
    rows: int = 0
    emptied: int = 0

    def extractions(self) -> list[Extraction]:
        """Return the extractions of named sources. A source without concepts loses its previous import."""
        return [each.extraction() for each in self.touched.values()]


def import_concepts(graph: Graph, ontology: str, rows: Sequence[ConceptRow]) -> ConceptsImported:
    """Assign concepts to sources, and replace previous imports of these sources."""
    read_extraction(graph, ontology)  # raises NotFound for an unknown ontology
    known = find_named_documents(graph, ontology, [name for row in rows for name in _names(row)])
    documents = [_document(row, known) for row in rows]
    stored = list_sources_to_link(
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
    if extractions:  # imported concepts need vectors, even if they have only one source
        graph.transaction(lambda tx: want_concepts(tx, ontology))
        written = graph.transaction(
            lambda tx: write_extractions(tx, ontology, extractions, MARK, imported=True)
        )
        found.emptied = written.emptied
    return _present(ontology, found, extractions)


def _names(row: ConceptRow) -> Iterator[str]:
    yield from (name for name in (row.document, row.title) if name is not None)


def _document(row: ConceptRow, known: KnownDocuments) -> str | None:
    """Return the document by name. If exactly one other document has the row's title, the title wins."""
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
        found.problems.append(ImportProblem(row=at, place=where, reason=_describe_rejection(row, known)))
        return
    found.rows += 1
    found.touched.update((each.source.source_id, each) for each in sources)
    for missing in place(row, sources):
        reason = f"the quote is not in the text: {missing.quote[:_SHOWN]}"
        found.problems.append(ImportProblem(row=at, place=where, label=missing.label, reason=reason))


def _describe_rejection(row: ConceptRow, known: KnownDocuments) -> str:
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
            key = each.source_id, normalize_concept_name(concept.label)
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
