"""The evidence of concepts as rows to write, told apart from what is there. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from kg_api.graph.concepts.names import LABEL_CHARACTERS, NamedConcept, Text, clean_name, terms_of, to_named
from kg_api.graph.relations.rows import RelationRow, between, state
from kg_api.models.concepts.extraction import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.models.identity import concept_id, instance_id, name_id, relation_id
from kg_api.wording.folding import fold
from kg_api.wording.named import NamePlaces

QUOTE_CHARACTERS: Final = 1000
TYPE_CHARACTERS: Final = 100
UNVERIFIED: Final = 20
"""Most unverified quotes that are kept of a concept in a source."""
IMPORTED: Final = "imported:"
"""Stands before the mark of what was imported."""


@dataclass(frozen=True, slots=True)
class AppearanceRow:
    """A source carries a concept."""

    source_id: str
    concept_id: str
    confidence: float
    verified: bool
    extracted_with: str
    description: str = ""
    """What the source says of it, as `terms`."""
    terms: tuple[str, ...] = ()
    """Its label first, where that is another name than the concept's."""
    unverified: tuple[str, ...] = ()
    """What was quoted for it and proves nothing."""

    @property
    def key(self) -> tuple[str, ...]:
        return self.source_id, self.concept_id

    @property
    def says(self) -> tuple[str, tuple[str, ...]]:
        """All that the source says of it."""
        return self.description, self.terms


@dataclass(frozen=True, slots=True)
class QuoteRow:
    """A quote of a source proves a concept."""

    source_id: str
    concept_id: str
    instance_id: str = field(compare=False)
    """That of a concept which became this one stays as it was."""
    start: int
    end: int
    quote: str
    score: float
    said: str | None
    extracted_with: str

    @property
    def key(self) -> tuple[str, ...]:
        return self.source_id, self.concept_id, str(self.start), str(self.end)


@dataclass(frozen=True, slots=True)
class EvidenceRows:
    """What ties sources to concepts."""

    appearances: Sequence[AppearanceRow] = ()
    quotes: Sequence[QuoteRow] = ()
    relations: Sequence[RelationRow] = ()

    @property
    def source_ids(self) -> list[str]:
        rows = (*self.appearances, *self.quotes, *self.relations)
        return sorted({row.source_id for row in rows})


@dataclass(frozen=True, slots=True)
class Difference:
    """What is to be written, and what is to go before."""

    write: EvidenceRows
    gone: EvidenceRows


R = TypeVar("R", AppearanceRow, QuoteRow, RelationRow)


def evidence(
    ontology: str,
    extractions: Iterable[Extraction],
    means: Mapping[str, str],
    texts: Mapping[str, str],
    extracted_with: str,
) -> EvidenceRows:
    """The rows of what was found; a quote that is not in its source to the letter is left out.

    Args:
        ontology: whose.
        extractions: what was found.
        means: by the ids of names, the concepts that they mean.
        texts: of the sources.
        extracted_with: the mark of all rows.
    """
    found = _Found(ontology, means, extracted_with)
    for each in extractions:
        found.add(each, texts[each.source_id])
    return EvidenceRows([*found.appearances.values()], [*found.quotes.values()], [*found.relations.values()])


class _Found:
    """Gathers rows; what is found twice is one row."""

    def __init__(self, ontology: str, means: Mapping[str, str], extracted_with: str) -> None:
        self._ontology = ontology
        self._means = means
        self._with = extracted_with
        self.appearances = dict[tuple[str, ...], AppearanceRow]()
        self.quotes = dict[tuple[str, ...], QuoteRow]()
        self.relations = dict[tuple[str, ...], RelationRow]()

    def add(self, extraction: Extraction, text: str) -> None:
        """Gather the rows of one source."""
        here = set[str]()
        for found in extraction.concepts:
            if one := to_named(found):
                concept = self._means[name_id(self._ontology, one.label)]
                here.add(concept)
                self._add_concept(extraction.source_id, concept, found, text, one)
        for row in self._relations(extraction, here, text):
            self.relations.setdefault(row.key, row)

    def _add_concept(
        self, source: str, concept: str, found: ExtractedConcept, text: str, one: NamedConcept
    ) -> None:
        rows = [self._quote(source, concept, quote) for each in found.quotes if (quote := _in(text, each))]
        for row in rows:
            self.quotes.setdefault(row.key, row)
        other = [one.label] if concept_id(self._ontology, one.label) != concept else []
        says = one.description, terms_of(other, one.terms)
        kept = _split_unverified(found.unverified)
        new = AppearanceRow(source, concept, _share(found.confidence), bool(rows), self._with, *says, kept)
        known = self.appearances.get(new.key)
        self.appearances[new.key] = _together(known, new) if known else new

    def _quote(self, source: str, concept: str, quote: Quote) -> QuoteRow:
        identity = instance_id(concept, source, quote.start, quote.end)
        said = None if quote.said is None else clean_name(quote.said, QUOTE_CHARACTERS)
        place = (source, concept, identity, quote.start, quote.end)
        return QuoteRow(*place, quote.text, _share(quote.score), said, self._with)

    def _relations(self, extraction: Extraction, here: Collection[str], text: str) -> Iterator[RelationRow]:
        """Those between two concepts that were found in the same source."""
        places = NamePlaces(partial(fold, text))
        quotes: defaultdict[str, list[QuoteRow]] = defaultdict(list)
        for row in self.quotes.values() if extraction.relations else ():
            if row.source_id == extraction.source_id:
                quotes[row.concept_id].append(row)
        for each in extraction.relations:
            names = [clean_name(label, LABEL_CHARACTERS) for label in (each.subject, each.object)]
            subject, target = (self._means.get(name_id(self._ontology, name), "") for name in names)
            if subject in here and target in here and subject != target:
                own = each.quote and _in(text, each.quote)
                known = (own.text, own.start, own.end) if own else None
                quote = known or between(text, quotes[subject], quotes[target], places.pair(*names))
                if row := self._relation(each, names, (extraction.source_id, subject, target), quote):
                    yield row

    def _relation(
        self,
        stated: ExtractedRelation,
        names: Sequence[str],
        ends: tuple[str, str, str],
        quote: tuple[str, int | None, int | None],
    ) -> RelationRow | None:
        kind = clean_name(stated.type, TYPE_CHARACTERS)
        if not kind:
            return None
        identity = relation_id(self._ontology, names[0], kind, names[1], ends[0])
        said = (kind, _share(stated.confidence), self._with, state(names[0], kind, names[1]))
        return RelationRow(identity, *ends, *said, *quote)


def difference(wanted: EvidenceRows, present: EvidenceRows, *, imported: bool) -> Difference:
    """What makes of the present what is wanted: what has another origin stays, and an import goes before.

    An appearance stays as long as a quote proves it.
    """
    known = {row.key: row.instance_id for row in present.quotes}
    own = [replace(row, instance_id=known.get(row.key, row.instance_id)) for row in wanted.quotes]
    quotes = _join(own, present.quotes, imported=imported)
    relations = _join(wanted.relations, present.relations, imported=imported)
    proven = {(row.source_id, row.concept_id): row.extracted_with for row in quotes.values()}
    appearances = _join(wanted.appearances, present.appearances, imported=imported)
    for row in present.appearances:
        if row.key in proven and row.key not in appearances:
            mark = proven[row.source_id, row.concept_id]
            appearances[row.key] = replace(row, extracted_with=mark, description="", terms=(), unverified=())
    appearances = {key: replace(row, verified=key in proven) for key, row in appearances.items()}
    turned = [row for row in present.relations if _is_turned(row, relations.get(row.key))]
    return Difference(
        EvidenceRows(
            _find_changed(appearances, present.appearances),
            _find_changed(quotes, present.quotes),
            _find_changed(relations, present.relations),
        ),
        EvidenceRows(
            _find_gone(appearances, present.appearances),
            _find_gone(quotes, present.quotes),
            [*_find_gone(relations, present.relations), *turned],
        ),
    )


def unsaid(found: Difference, present: EvidenceRows) -> set[str]:
    """The concepts of which a source does not say any more what it said."""
    after = {row.key: row.says for row in found.write.appearances}
    changed = {row.concept_id for row in present.appearances if row.says != after.get(row.key, row.says)}
    lost = changed.union(row.concept_id for row in found.gone.appearances)
    return lost.intersection(row.concept_id for row in present.appearances if any(row.says))


def find_changed_texts(
    before: Mapping[str, Text], known: Mapping[str, Text], said: Iterable[AppearanceRow]
) -> dict[str, Text]:
    """By concept, in the order of the ids: what is to be said of those that are new, or better known now.

    Args:
        before: of each concept, what was said without this.
        known: those that are stored.
        said: what is said since.
    """
    now = dict(before)
    for row in said:
        text = now[row.concept_id]
        now[row.concept_id] = text.with_more(NamedConcept(text.label, row.description, row.terms))
    return {identity: text for identity, text in sorted(now.items()) if known.get(identity) != text}


def _together(one: AppearanceRow, other: AppearanceRow) -> AppearanceRow:
    """Of one concept in one source."""
    return replace(
        one,
        confidence=max(one.confidence, other.confidence),
        verified=one.verified or other.verified,
        description=one.description or other.description,
        terms=terms_of(one.terms, other.terms),
        unverified=_split_unverified((*one.unverified, *other.unverified)),
    )


def _join(wanted: Sequence[R], present: Sequence[R], *, imported: bool) -> dict[tuple[str, ...], R]:
    own = {row.key: row for row in wanted}
    others = {row.key: row for row in present if row.extracted_with.startswith(IMPORTED) != imported}
    return others | own if imported else own | others


def _find_changed(final: Mapping[tuple[str, ...], R], present: Sequence[R]) -> list[R]:
    known = {row.key: row for row in present}
    return [row for key, row in sorted(final.items()) if known.get(key) != row]


def _find_gone(final: Mapping[tuple[str, ...], R], present: Sequence[R]) -> list[R]:
    return [row for row in present if row.key not in final]


def _is_turned(before: RelationRow, now: RelationRow | None) -> bool:
    """Whether a relationship goes between other concepts now."""
    return now is not None and (before.subject, before.object) != (now.subject, now.object)


def _in(text: str, quote: Quote) -> Quote | None:
    """A quote without blanks at its end and no longer than allowed, if it is in the text to the letter."""
    kept = quote.text[:QUOTE_CHARACTERS].rstrip()
    if not kept or quote.start < 0 or text[quote.start : quote.end] != quote.text:
        return None
    return replace(quote, text=kept, end=quote.start + len(kept))


def _split_unverified(said: Iterable[str]) -> tuple[str, ...]:
    cleaned_up = (clean_name(each, QUOTE_CHARACTERS) for each in said)
    return tuple(dict.fromkeys(each for each in cleaned_up if each))[:UNVERIFIED]


def _share(number: float) -> float:
    """From 0 to 1, whatever a model says."""
    return min(max(float(number), 0.0), 1.0) if math.isfinite(number) else 0.0
