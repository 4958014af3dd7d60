"""Reads concepts, and prepares rows to write an extraction.

Labels and quotes come from models and files, so kg cleans all of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Final, TypeVar

from kg_api.errors import NotFound
from kg_api.graph.client import Graph, Row, drop_deleted_rows
from kg_api.graph.names import identify_concept
from kg_api.graph.reach import is_visible
from kg_api.graph.relations import RelationRow, find_text_between, state
from kg_api.schemas.base import (
    build_concept_id,
    build_instance_id,
    build_name_id,
    build_relation_id,
    hash_concept_text,
    normalize_concept_name,
    normalize_spaces,
)
from kg_api.schemas.concepts import (
    APPEARS_WITH,
    Concept,
    Evidence,
    ExtractedConcept,
    Extraction,
    PathStep,
    Quote,
    RelatedConcept,
    UnverifiedQuote,
)
from kg_api.schemas.search import Place
from kg_api.suggestions import NamePlaces, fold

LABEL_CHARACTERS: Final = 200
DESCRIPTION_CHARACTERS: Final = 1000
TERM_CHARACTERS: Final = 200
TERMS: Final = 20


def clean_name(text: str, characters: int) -> str:
    """Clean a text as one line without invisible characters, cut to a maximum length."""
    return normalize_spaces(text)[:characters].strip()


@dataclass(frozen=True, slots=True)
class Text:
    label: str
    description: str = ""
    terms: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)
    """Names that are used for the concept in the source: its label and other forms."""

    def merge_text(self, found: Text) -> Text:
        """Add a description if it is missing, and terms up to the limit."""
        known = {normalize_concept_name(each): each for each in (self.label, *self.terms)}
        for each in (found.label, *found.terms):
            known.setdefault(normalize_concept_name(each), each)
        terms = tuple(known.values())[1 : TERMS + 1]
        return replace(self, description=self.description or found.description, terms=terms)

    @property
    def text_hash(self) -> str:
        """Hash that changes with the embedded text."""
        return hash_concept_text(self.label, self.description, self.terms)


@lru_cache(maxsize=4096)  # each step of writing a batch reads all concepts
def to_named(found: ExtractedConcept) -> Text | None:
    """Clean a concept that was extracted. If its label is empty, return None."""
    label = clean_name(found.label, LABEL_CHARACTERS)
    own = normalize_concept_name(label)
    forms = [clean_name(form, TERM_CHARACTERS) for form in found.forms[:TERMS]]
    cut = [*forms, *(clean_name(term, TERM_CHARACTERS) for term in found.search_terms)]
    terms = {name: term for term in cut if (name := normalize_concept_name(term)) not in {"", own}}
    names = (label, *(form for form in forms if normalize_concept_name(form) in terms))
    description = clean_name(found.description, DESCRIPTION_CHARACTERS)
    return Text(label, description, tuple(terms.values())[:TERMS], names) if own else None


def iterate_all_names(extractions: Iterable[Extraction]) -> Iterator[Text]:
    for each in extractions:
        for found in each.concepts:
            if one := to_named(found):
                yield one


def collect_concept_names(ontology: str, extractions: Iterable[Extraction]) -> dict[str, str]:
    """Collect all names of concepts by id, sorted by id."""
    # No search terms, because one may be broader, such as "Python" for "CPython". Merging checks them with
    # vectors
    names = [name for one in iterate_all_names(extractions) for name in one.names]
    return dict(sorted((build_name_id(ontology, name), normalize_concept_name(name)) for name in names))


def resolve_names(
    ontology: str, extractions: Sequence[Extraction], known: Mapping[str, str]
) -> dict[str, str]:
    """Resolve the concept of each name id: a known concept first, then by label, then by other forms."""
    means = dict(known)
    for one in iterate_all_names(extractions):
        means.setdefault(build_name_id(ontology, one.label), build_concept_id(ontology, one.label))
    for one in iterate_all_names(extractions):
        for name in one.names:
            means.setdefault(build_name_id(ontology, name), means[build_name_id(ontology, one.label)])
    return means


def merge_terms(*lists: Iterable[str]) -> tuple[str, ...]:
    known = dict[str, str]()
    for each in chain(*lists):
        known.setdefault(normalize_concept_name(each), each)
    return tuple(known.values())[:TERMS]


def collect_first_texts(
    ontology: str, extractions: Iterable[Extraction], means: Mapping[str, str]
) -> dict[str, Text]:
    """Get the label that is used first, by concept."""
    first = dict[str, Text]()
    for found in iterate_all_names(extractions):
        first.setdefault(means[build_name_id(ontology, found.label)], Text(found.label))
    return first


# Evidence of concepts, and its difference to the stored evidence

QUOTE_CHARACTERS: Final = 1000
TYPE_CHARACTERS: Final = 100
UNVERIFIED: Final = 20  # unverified quotes of a concept to store per source


@dataclass(frozen=True, slots=True)
class AppearanceRow:
    source_id: str
    concept_id: str
    confidence: float
    verified: bool
    extracted_with: str
    description: str = ""  # description in this source
    terms: tuple[str, ...] = ()  # terms in this source, its label first if it differs from the concept's
    unverified: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        return self.source_id, self.concept_id

    @property
    def says(self) -> tuple[str, tuple[str, ...]]:
        """Description and terms that this source contributes."""
        return self.description, self.terms


@dataclass(frozen=True, slots=True)
class QuoteRow:
    source_id: str
    concept_id: str
    instance_id: str = field(compare=False)  # the id stays when the concept is merged into another
    start: int
    end: int
    quote: str
    score: float
    said: str | None
    extracted_with: str

    @property
    def key(self) -> tuple[str, ...]:
        return self.source_id, self.concept_id, str(self.start), str(self.end)


def to_row(row: AppearanceRow | QuoteRow) -> Row:
    """Get the fields as a row. This is ten times faster than `asdict`."""
    return {name: getattr(row, name) for name in row.__slots__}


@dataclass(frozen=True, slots=True)
class EvidenceRows:
    appearances: Sequence[AppearanceRow] = ()
    quotes: Sequence[QuoteRow] = ()
    relations: Sequence[RelationRow] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    write: EvidenceRows
    gone: EvidenceRows


R = TypeVar("R", AppearanceRow, QuoteRow, RelationRow)


def build_evidence_rows(
    ontology: str,
    extractions: Iterable[Extraction],
    means: Mapping[str, str],
    texts: Mapping[str, str],
    extracted_with: str,
) -> EvidenceRows:
    """Build rows to write extractions. Quotes that are not verbatim in the source are omitted."""
    appearances = dict[tuple[str, ...], AppearanceRow]()
    quotes = dict[tuple[str, ...], QuoteRow]()
    relations = dict[tuple[str, ...], RelationRow]()
    for each in extractions:
        source, text = each.source_id, texts[each.source_id]
        here: defaultdict[str, list[QuoteRow]] = defaultdict(list)
        for found in each.concepts:
            one = to_named(found)
            if one is None:
                continue
            concept = means[build_name_id(ontology, one.label)]
            rows = here[concept]
            for given_quote in found.quotes:
                if quote := _locate_quote(text, given_quote):
                    row = QuoteRow(
                        source,
                        concept,
                        build_instance_id(concept, source, quote.start, quote.end),
                        quote.start,
                        quote.end,
                        quote.text,
                        _share(quote.score),
                        None if quote.said is None else clean_name(quote.said, QUOTE_CHARACTERS),
                        extracted_with,
                    )
                    rows.append(quotes.setdefault(row.key, row))
            other = [one.label] if build_concept_id(ontology, one.label) != concept else []
            unverified = _clean_unverified(found.unverified)
            says = one.description, merge_terms(other, one.terms), unverified
            new = AppearanceRow(source, concept, _share(found.confidence), bool(rows), extracted_with, *says)
            known = appearances.get(new.key)
            appearances[new.key] = _join_appearances(known, new) if known else new
        # Relationships between two concepts of the same source
        places = NamePlaces(partial(fold, text))
        for stated in each.relations:
            names = [clean_name(label, LABEL_CHARACTERS) for label in (stated.subject, stated.object)]
            subject, target = (means.get(build_name_id(ontology, name), "") for name in names)
            kind = clean_name(stated.type, TYPE_CHARACTERS)
            if subject not in here or target not in here or subject == target or not kind:
                continue
            own = stated.quote and _locate_quote(text, stated.quote)
            known_quote = (own.text, own.start, own.end) if own else None
            ones, others = ([(row.start, row.end) for row in here[end]] for end in (subject, target))
            proof = known_quote or find_text_between(text, ones, others, places.pair(*names))
            row = RelationRow(
                build_relation_id(ontology, names[0], kind, names[1], source),
                source,
                subject,
                target,
                kind,
                _share(stated.confidence),
                extracted_with,
                state(names[0], kind, names[1]),
                *proof,
            )
            relations.setdefault(row.key, row)
    return EvidenceRows([*appearances.values()], [*quotes.values()], [*relations.values()])


def compute_difference(wanted: EvidenceRows, present: EvidenceRows) -> Difference:
    """Find what has to be changed to get the wanted rows."""
    known = {row.key: row.instance_id for row in present.quotes}
    quotes = {row.key: replace(row, instance_id=known.get(row.key, row.instance_id)) for row in wanted.quotes}
    relations = {row.key: row for row in wanted.relations}
    appearances = {row.key: row for row in wanted.appearances}
    turned = [  # relationships that now connect other concepts
        row
        for row in present.relations
        if (now := relations.get(row.key)) and (row.subject, row.object) != (now.subject, now.object)
    ]
    return Difference(
        EvidenceRows(
            _find_changed(appearances, present.appearances),
            _find_changed(quotes, present.quotes),
            _find_changed(relations, present.relations),
        ),
        EvidenceRows(
            [row for row in present.appearances if row.key not in appearances],
            [row for row in present.quotes if row.key not in quotes],
            [*(row for row in present.relations if row.key not in relations), *turned],
        ),
    )


def find_changed_concepts(found: Difference, present: EvidenceRows) -> set[str]:
    """Find the concepts with a changed or deleted description or terms in a source."""
    after = {row.key: row.says for row in found.write.appearances}
    changed = {row.concept_id for row in present.appearances if row.says != after.get(row.key, row.says)}
    lost = changed.union(row.concept_id for row in found.gone.appearances)
    return lost.intersection(row.concept_id for row in present.appearances if any(row.says))


def find_changed_texts(
    before: Mapping[str, Text], known: Mapping[str, Text], said: Iterable[AppearanceRow]
) -> dict[str, Text]:
    """Find the new or extended texts, by concept."""
    now = dict(before)
    for row in said:
        text = now[row.concept_id]
        now[row.concept_id] = text.merge_text(Text(text.label, row.description, row.terms))
    return {identity: text for identity, text in sorted(now.items()) if known.get(identity) != text}


def _join_appearances(one: AppearanceRow, other: AppearanceRow) -> AppearanceRow:
    return replace(
        one,
        confidence=max(one.confidence, other.confidence),
        verified=one.verified or other.verified,
        description=one.description or other.description,
        terms=merge_terms(one.terms, other.terms),
        unverified=_clean_unverified((*one.unverified, *other.unverified)),
    )


def _find_changed(final: Mapping[tuple[str, ...], R], present: Sequence[R]) -> list[R]:
    known = {row.key: row for row in present}
    return [row for key, row in sorted(final.items()) if known.get(key) != row]


def _locate_quote(text: str, quote: Quote) -> Quote | None:
    """Find a quote in the text, to cut it. If it is not verbatim, return None."""
    kept = quote.text[:QUOTE_CHARACTERS].rstrip()
    if not kept or quote.start < 0 or text[quote.start : quote.end] != quote.text:
        return None
    return replace(quote, text=kept, end=quote.start + len(kept))


def _clean_unverified(said: Iterable[str]) -> tuple[str, ...]:
    cleaned_up = (clean_name(each, QUOTE_CHARACTERS) for each in said)
    return tuple(dict.fromkeys(each for each in cleaned_up if each))[:UNVERIFIED]


def _share(number: float) -> float:
    return min(max(float(number), 0.0), 1.0) if math.isfinite(number) else 0.0


# Reads of concepts, their evidence, and related concepts, without vectors
#
# A concept in many sources has many neighbours. So every step limits the relationships and neighbours per
# concept, and reports if there are more.

SCANNED = 10_000  # relationships of one concept to scan per step
SCANNED_IN_ALL = 50_000  # relationships of all concepts to scan per step
MAX_SOURCES = 100  # sources to name per relationship

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Appearance:
    place: Place
    quotes: list[Evidence]
    unverified: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class ReachedConcept:
    neighbours: list[str]
    cut: bool


def read_concepts(graph: Graph, concept_ids: Iterable[str]) -> dict[str, Concept]:
    """Read concepts by id. If a concept is unknown, it is missing."""
    ids = list(dict.fromkeys(concept_ids))
    rows = graph.read("concepts/read_by_ids", concept_ids=ids) if ids else []
    there = [row for row in drop_deleted_rows(rows, Concept) if is_visible(row["ontology"])]
    return {row["concept_id"]: Concept.model_validate(row) for row in there}


def find_concept(graph: Graph, concept_id: str) -> Concept:
    """Find a concept by its id or by a unique prefix of at least eight digits."""
    found = read_concepts(graph, [concept_id])
    if not found and (whole := identify_concept(graph, concept_id)):
        found = read_concepts(graph, [whole])
    if not found:
        raise NotFound(
            f"concept {concept_id!r} not found. The concept may have been merged, or its documents "
            "have changed: `kg concepts search` finds it"
        )
    return next(iter(found.values()))


def read_concepts_page(graph: Graph, ontology: str, offset: int, limit: int) -> tuple[list[Concept], int]:
    rows = graph.read("concepts/read_page", ontology=ontology, offset=offset, limit=limit)
    total = graph.read("concepts/read_count", ontology=ontology)[0]["total"]
    return [Concept.model_validate(row) for row in drop_deleted_rows(rows, Concept)], total


def read_evidence(graph: Graph, concept_id: str, limit: int) -> list[Evidence]:
    rows = drop_deleted_rows(graph.read("concepts/read_evidence", concept_id=concept_id, limit=limit), Place)
    return [
        _build_evidence(Place.model_validate(row), row, row["quote_start"], row["quote_end"]) for row in rows
    ]


def count_evidence(graph: Graph, concept_id: str) -> int:
    rows = graph.read("concepts/count_evidence", concept_id=concept_id)
    return rows[0]["quotes"] if rows else 0


def read_unverified(graph: Graph, concept_id: str, limit: int) -> tuple[list[UnverifiedQuote], int]:
    rows = graph.read("concepts/read_unverified", concept_id=concept_id, limit=limit)
    whole = drop_deleted_rows(rows, UnverifiedQuote)
    return [UnverifiedQuote.model_validate(row) for row in whole], rows[0]["total"] if rows else 0


def read_appearances(graph: Graph, concept_id: str, limit: int) -> list[Appearance]:
    """Read the sources that contain a concept. Those that have a verified quote are first."""
    rows = graph.read("concepts/appearances", concept_id=concept_id, limit=limit)
    found = list[Appearance]()
    for row in drop_deleted_rows(rows, Place):
        place = Place.model_validate(row)
        quotes = [_build_evidence(place, each, each["start"], each["end"]) for each in row["quotes"]]
        found.append(Appearance(place, quotes, row["unverified"]))
    return found


def read_related_concepts(
    graph: Graph, concept_ids: Sequence[str], limit: int, hop: int
) -> list[RelatedConcept]:
    """Read up to `limit` related concepts of each concept, by number of sources."""
    rows = graph.read(
        "concepts/related",
        concept_ids=list(concept_ids),
        scanned=_share_reads(concept_ids),
        limit=limit,
        most_sources=MAX_SOURCES,
    )
    return _build_related(rows, hop)


def read_co_occurring_concepts(graph: Graph, concept_id: str, limit: int) -> list[RelatedConcept]:
    rows = graph.read(
        "concepts/appearing_with",
        concept_id=concept_id,
        scanned=SCANNED,
        limit=limit,
        most_sources=MAX_SOURCES,
    )
    known = {"type": APPEARS_WITH, "outgoing": True, "confidence": 1.0}
    return _build_related([{**row, **known} for row in rows])


def _build_related(rows: Sequence[Row], hop: int = 1) -> list[RelatedConcept]:
    return [
        RelatedConcept(
            concept=Concept.model_validate(row),
            type=row["type"],
            outgoing=row["outgoing"],
            confidence=row["confidence"],
            sources=row["stated"],
            hops=hop,
            via=row["of"] if hop > 1 else None,
        )
        for row in drop_deleted_rows(rows, Concept)
    ]


def expand_related(graph: Graph, concept_ids: Sequence[str], fan_out: int) -> dict[str, ReachedConcept]:
    rows = graph.read(
        "concepts/expand_related",
        concept_ids=list(concept_ids),
        fan_out=fan_out,
        scanned=_share_reads(concept_ids),
    )
    return _to_reached(rows)


def expand_appearing(graph: Graph, concept_ids: Sequence[str], fan_out: int) -> dict[str, ReachedConcept]:
    rows = graph.read(
        "concepts/expand_appearing",
        concept_ids=list(concept_ids),
        fan_out=fan_out,
        scanned=_share_reads(concept_ids),
    )
    return _to_reached(rows)


def read_statements_between(graph: Graph, pairs: Sequence[Pair]) -> dict[Pair, PathStep]:
    """Read the statement that is in most sources, for each pair. If there is none, the pair is missing."""
    rows = graph.read(
        "concepts/statements_between",
        pairs=[[*pair] for pair in pairs],
        scanned=SCANNED,
        most_sources=MAX_SOURCES,
    )
    steps = dict[Pair, PathStep]()
    for row in rows:
        pair = row["first"], row["second"]
        subject, target = pair if row["forward"] else pair[::-1]
        steps[pair] = PathStep(subject=subject, type=row["type"], object=target, sources=row["stated"])
    return steps


def read_shared_sources(graph: Graph, pairs: Sequence[Pair]) -> dict[Pair, list[str]]:
    rows = graph.read("concepts/sources_shared", pairs=[[*pair] for pair in pairs], most_sources=MAX_SOURCES)
    return {(row["first"], row["second"]): sorted(row["shared"]) for row in rows}


def _share_reads(concept_ids: Sequence[str]) -> int:
    return max(1, min(SCANNED, SCANNED_IN_ALL // max(1, len(concept_ids))))


def _build_evidence(place: Place, quote: Mapping[str, Any], start: int, end: int) -> Evidence:
    """Build a quote with its position in the document, from the position in the source."""
    return Evidence(
        instance_id=quote["instance_id"],
        quote=quote["quote"],
        start=place.start + start,
        end=place.start + end,
        score=quote["score"],
        source=place,
    )


def _to_reached(rows: Iterable[Row]) -> dict[str, ReachedConcept]:
    return {row["concept_id"]: ReachedConcept(row["neighbours"], row["cut"]) for row in rows}
