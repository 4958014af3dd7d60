"""What a language model's answer is worth: nothing of it is believed but what its passage bears out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from kg_api.extract.quotes import MAX_QUOTE_LENGTH, find_quote, says_enough
from kg_api.graph.spaces.due import SourceText
from kg_api.llm.replies import as_list
from kg_api.models.cleaning import one_line
from kg_api.models.concepts.extraction import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.models.identity import concept_name

LABEL, DESCRIPTION, TERM, TYPE = 200, 1000, 200, 100
"""Most characters."""
MAX_TERMS, MAX_QUOTES = 20, 5
RELATIONS_A_CONCEPT = 3
MAX_ENTRY_LENGTH = 50_000
"""Characters of what is said of one passage."""
READING = "2"
"""Of how answers are believed; another one makes all sources due again. What was answered before is kept."""
SHORT_LETTERS = 3
"""Of a name in capitals that is nothing but its letters: "IT" is not "it"."""

Entry = Mapping[str, object]


class Unusable(Exception):
    """What is said of a passage cannot be used; why is its message."""


def serialize(entry: Entry) -> str:
    """What is remembered of an entry, in JSON: the fields that are asked for.

    Raises:
        Unusable: it is longer than any honest one.
    """
    text = json.dumps({name: entry.get(name) for name in ("concepts", "relations")})
    if len(text) > MAX_ENTRY_LENGTH:
        raise Unusable("more is said of it than of any passage can be")
    return text


def extraction_of(source: SourceText, entry: Entry, per_source: int) -> Extraction:
    """Believe of an entry what its passage bears out.

    A quote proves a concept when it is in the passage and says more than a word or two; one that only repeats
    a name of the concept proves nothing, unless the passage is no more than that. A concept counts when a
    quote proves it, or a name of it is in the passage: then nothing proves it, and what was quoted is kept as
    unverified. A relation counts when both its ends are proved. What is no concept, or no relation, is passed
    over.

    Raises:
        Unusable: there is no list of concepts, or none of them counts.
    """
    said = entry.get("concepts")
    if not isinstance(said, list):
        raise Unusable("there is no list of concepts")
    found = [_concept(source.full_text, each) for each in cast("list[object]", said)]
    concepts = _merge([concept for concept, _ in found if concept is not None])
    if found and not concepts:
        raise Unusable("none of its quotes is in the text")
    chosen = _most_sure(concepts, per_source)
    return Extraction(
        source.source_id,
        source.content_hash,
        tuple(chosen),
        tuple(_relations(entry.get("relations"), [each for each in chosen if each.quotes])),
        unverified=sum(lost for _, lost in found),
    )


def clean(value: object, longest: int) -> str:
    """One line without unseen characters; empty when it is no text."""
    return one_line(value)[:longest].strip() if isinstance(value, str) else ""


def _concept(text: str, said: object) -> tuple[ExtractedConcept | None, int]:
    """A concept if it counts, and how many quotes of it are not in the text, or prove nothing."""
    if not isinstance(said, dict):
        return None, 0
    entry = cast("Entry", said)
    label, confidence = clean(entry.get("label"), LABEL), _confidence(entry.get("confidence"))
    quoted = [each for each in as_list(entry.get("quotes")) if isinstance(each, str)][:MAX_QUOTES]
    terms = _terms(entry, label)
    found = [_proof(text, each, (label, *terms)) for each in quoted]
    proof = [quote for quote in found if quote and not _is_name(quote, text, (label, *terms))]
    known = any(found) or _find_name(text, label) is not None
    lost = len(quoted) - len(proof)
    if confidence is None or not concept_name(label) or not known:
        return None, lost
    others = (
        clean(each, MAX_QUOTE_LENGTH) for each, quote in zip(quoted, found, strict=True) if quote not in proof
    )
    unverified = tuple(dict.fromkeys(each for each in others if each))
    description = clean(entry.get("description"), DESCRIPTION)
    return ExtractedConcept(label, _distinct(proof), description, terms, confidence, unverified), lost


def _terms(entry: Entry, label: str) -> tuple[str, ...]:
    terms = (clean(each, TERM) for each in as_list(entry.get("search_terms")))
    known = dict.fromkeys(term for term in terms if term and concept_name(term) != concept_name(label))
    return tuple(known)[:MAX_TERMS]


def _proof(text: str, quoted: str, names: Sequence[str]) -> Quote | None:
    """What was quoted, if it says enough, or names the concept: any word is in some text."""
    quote = find_quote(text, quoted)
    if quote is None or says_enough(quote.text, text) or any(_find_name(quote.text, each) for each in names):
        return quote
    return None


def _is_name(quote: Quote, text: str, names: Sequence[str]) -> bool:
    """Whether a quote is a name alone: it is in the text, but says nothing of what it names."""
    alone = concept_name(quote.text) in {concept_name(each) for each in names}
    return alone and quote.text.strip() != text.strip()


def _find_name(text: str, name: str) -> Quote | None:
    """Where a text has a name in whole words; a short one in capitals, as it is written."""
    found = find_quote(text, name)
    short = name.isupper() and sum(each.isalpha() for each in name) <= SHORT_LETTERS
    return None if found is not None and found.score < 1 and short else found


def _relations(said: object, concepts: Sequence[ExtractedConcept]) -> list[ExtractedRelation]:
    labels = {concept_name(each.label): each.label for each in concepts}
    found = dict.fromkeys(
        relation for each in as_list(said) if (relation := _relation(each, labels)) is not None
    )
    return list(found)[: RELATIONS_A_CONCEPT * len(concepts)]


def _relation(said: object, labels: Mapping[str, str]) -> ExtractedRelation | None:
    if not isinstance(said, dict):
        return None
    entry = cast("Entry", said)
    ends = [labels.get(concept_name(clean(entry.get(name), LABEL))) for name in ("subject", "object")]
    kind, confidence = clean(entry.get("type"), TYPE), _confidence(entry.get("confidence"))
    subject, target = ends
    if subject is None or target is None or subject == target or not concept_name(kind) or confidence is None:
        return None
    return ExtractedRelation(subject, kind, target, confidence)


def _confidence(said: object) -> float | None:
    """From 0 to 1; None when it is no number."""
    if isinstance(said, bool) or not isinstance(said, int | float) or math.isnan(said):
        return None
    return float(min(max(said, 0.0), 1.0))


def _merge(found: Sequence[ExtractedConcept]) -> list[ExtractedConcept]:
    """One for each name."""
    by_name: dict[str, ExtractedConcept] = {}
    for each in found:
        name = concept_name(each.label)
        known = by_name.get(name)
        by_name[name] = each if known is None else _join(known, each)
    return list(by_name.values())


def _join(one: ExtractedConcept, other: ExtractedConcept) -> ExtractedConcept:
    terms = tuple(dict.fromkeys((*one.search_terms, *other.search_terms)))[:MAX_TERMS]
    return replace(
        one,
        quotes=_distinct((*one.quotes, *other.quotes)),
        unverified=tuple(dict.fromkeys((*one.unverified, *other.unverified))),
        description=one.description or other.description,
        search_terms=terms,
        confidence=max(one.confidence, other.confidence),
    )


def _distinct(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    places = {(quote.start, quote.end): quote for quote in reversed(quotes)}
    return tuple(places[place] for place in sorted(places))


def _most_sure(concepts: Sequence[ExtractedConcept], most: int) -> list[ExtractedConcept]:
    """In their order; those that a quote proves come before others."""
    chosen = sorted(concepts, key=lambda each: (not each.quotes, -each.confidence))[:most]
    return [each for each in concepts if each in chosen]
