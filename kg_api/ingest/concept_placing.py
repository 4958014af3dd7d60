"""Where in a document's sources concepts stand that somebody brings. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kg_api.extract.quotes import CASE_ONLY, find_quote
from kg_api.graph.due import SourceText
from kg_api.models.concept_import import ConceptGiven, ConceptRow
from kg_api.models.extraction import Extraction, FoundConcept, FoundRelation, Quote
from kg_api.models.identity import concept_name
from kg_api.parse.sentences import sentence_borders

_LONGEST_QUOTE = 1000
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Placed:
    """What was found for one source."""

    source: SourceText
    concepts: list[FoundConcept] = field(default_factory=list[FoundConcept])
    relations: list[FoundRelation] = field(default_factory=list[FoundRelation])
    names: set[str] = field(default_factory=set[str])
    """Of its concepts."""
    folded: str = ""

    def __post_init__(self) -> None:
        """Fold the text once: most concepts of a document stand in few of its sources."""
        self.folded = self.source.full_text.casefold()

    def add(self, given: ConceptGiven, quotes: Sequence[Quote]) -> None:
        """Take a concept that this source carries."""
        self.names.add(concept_name(given.label))
        terms = tuple(given.search_terms)
        self.concepts.append(FoundConcept(given.label, tuple(quotes), given.description, terms))

    def extraction(self) -> Extraction:
        """As it is written."""
        source = self.source
        return Extraction(source.source_id, source.content_hash, tuple(self.concepts), tuple(self.relations))


@dataclass(frozen=True, slots=True)
class Missing:
    """A quote that is in none of the sources."""

    label: str
    quote: str


def place(row: ConceptRow, sources: Sequence[Placed]) -> Iterator[Missing]:
    """Put a row's concepts and relations where they stand; what stands nowhere goes to the first source.

    Args:
        row: what somebody brings.
        sources: those it may stand in, at least one, in reading order; they grow.

    Returns:
        Quotes that are in none of them.
    """
    for given in _all_concepts(row):
        yield from _place(given, sources)
    for subject, kind, target in row.relations:
        _relate(FoundRelation(subject, kind, target), sources)


def _all_concepts(row: ConceptRow) -> Iterator[ConceptGiven]:
    """Those given, then what is only named in a relation."""
    yield from row.concepts
    known = {concept_name(each.label) for each in row.concepts}
    for subject, _, target in row.relations:
        for label in (subject, target):
            if (name := concept_name(label)) not in known:
                known.add(name)
                yield ConceptGiven(label=label)


def _place(given: ConceptGiven, sources: Sequence[Placed]) -> Iterator[Missing]:
    found: dict[int, list[Quote]] = {}
    for quote in given.quotes:
        places = [
            (at, hit) for at, each in enumerate(sources) if (hit := find_quote(each.source.full_text, quote))
        ]
        if not places:
            yield Missing(given.label, quote)
        best = max(places, key=lambda each: each[1].score, default=None)
        if best is not None:
            found.setdefault(best[0], []).append(best[1])
    if not found:
        found = {at: [hit] for at, each in enumerate(sources) if (hit := _says(each, given))}
    for at in found or {0: []}:
        sources[at].add(given, found.get(at, []))


def _says(placed: Placed, given: ConceptGiven) -> Quote | None:
    """The sentence in which a source names a concept."""
    text = placed.source.full_text
    for name in (given.label, *given.search_terms):
        first = _WORD.search(name.casefold())
        hit = find_quote(text, name) if first and first[0] in placed.folded else None
        if hit is not None and hit.score >= CASE_ONLY:
            return _sentence(text, hit)
    return None


def _sentence(text: str, hit: Quote) -> Quote:
    """The sentence around a hit; the hit alone when it is too long or reaches over its border."""
    lead = max(0, hit.start - _LONGEST_QUOTE)
    borders = [lead, *sentence_borders(text, lead, min(len(text), hit.end + _LONGEST_QUOTE))]
    start = max(each for each in borders if each <= hit.start)
    end = min((each for each in borders if each >= hit.end), default=min(len(text), hit.end + _LONGEST_QUOTE))
    said = text[start:end]
    start, end = start + len(said) - len(said.lstrip()), start + len(said.rstrip())
    if end - start > _LONGEST_QUOTE or (lead and start <= lead):
        return hit
    return Quote(text[start:end], start, end, hit.score)


def _relate(relation: FoundRelation, sources: Sequence[Placed]) -> None:
    """State it where both stand; else where the subject does, which then carries the other too, unproved."""
    subject, target = concept_name(relation.subject), concept_name(relation.object)
    both = [each for each in sources if {subject, target} <= each.names]
    stated = both or [each for each in sources if subject in each.names][:1]
    for each in stated:
        each.relations.append(relation)
        if target not in each.names:
            each.add(ConceptGiven(label=relation.object), ())
