"""What extraction found, cleaned, and which concepts its names mean. Pure.

All texts come from strangers: models, files, documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final

from kg_api.models.cleaning import one_line
from kg_api.models.concepts.extraction import ExtractedConcept, Extraction
from kg_api.models.identity import concept_id, concept_name, concept_text_hash, name_id

LABEL_CHARACTERS: Final = 200
DESCRIPTION_CHARACTERS: Final = 1000
TERM_CHARACTERS: Final = 200
TERMS: Final = 20


def clean_name(text: str, characters: int) -> str:
    """A text of one line without unseen characters, no longer than that."""
    return one_line(text)[:characters].strip()


@dataclass(frozen=True, slots=True)
class NamedConcept:
    """A concept that was found, cleaned."""

    label: str
    description: str
    terms: tuple[str, ...]
    names: tuple[str, ...] = ()
    """All that it is called: its label, and other forms of it."""


@dataclass(frozen=True, slots=True)
class Text:
    """What is said of a concept."""

    label: str
    description: str = ""
    terms: tuple[str, ...] = ()

    def with_more(self, found: NamedConcept) -> Text:
        """The same with what was found since: a description if it had none, terms while there is room."""
        known = {concept_name(each): each for each in (self.label, *self.terms)}
        for each in (found.label, *found.terms):
            known.setdefault(concept_name(each), each)
        terms = tuple(known.values())[1 : TERMS + 1]
        return replace(self, description=self.description or found.description, terms=terms)

    @property
    def text_hash(self) -> str:
        """Changes when what is embedded does."""
        return concept_text_hash(self.label, self.description, self.terms)


@lru_cache(maxsize=4096)  # each step of writing a batch asks for all of it
def to_named(found: ExtractedConcept) -> NamedConcept | None:
    """A concept that was found, cleaned; None when nothing is left of its label."""
    label = clean_name(found.label, LABEL_CHARACTERS)
    own = concept_name(label)
    forms = [clean_name(form, TERM_CHARACTERS) for form in found.forms[:TERMS]]
    cut = [*forms, *(clean_name(term, TERM_CHARACTERS) for term in found.search_terms)]
    terms = {name: term for term in cut if (name := concept_name(term)) not in {"", own}}
    names = (label, *(form for form in forms if concept_name(form) in terms))
    description = clean_name(found.description, DESCRIPTION_CHARACTERS)
    return NamedConcept(label, description, tuple(terms.values())[:TERMS], names) if own else None


def all_named(extractions: Iterable[Extraction]) -> Iterator[NamedConcept]:
    """All concepts that were found, cleaned."""
    for each in extractions:
        for found in each.concepts:
            if one := to_named(found):
                yield one


def names_of(ontology: str, extractions: Iterable[Extraction]) -> dict[str, str]:
    """By id, in the order of the ids: all names of what was found.

    A search term is none. It may be broader, "Python" for "CPython": whether a concept of that label is the
    same is for merging to judge, by their vectors too.
    """
    names = [name for one in all_named(extractions) for name in one.names]
    return dict(sorted((name_id(ontology, name), concept_name(name)) for name in names))


def resolve_names(
    ontology: str, extractions: Sequence[Extraction], known: Mapping[str, str]
) -> dict[str, str]:
    """By the name's id, the concept that it means: what is known already, then labels, then other forms.

    Args:
        ontology: whose.
        extractions: what was found.
        known: concepts by the id of their names, as they are stored.
    """
    means = dict(known)
    for one in all_named(extractions):
        means.setdefault(name_id(ontology, one.label), concept_id(ontology, one.label))
    for one in all_named(extractions):
        for name in one.names:
            means.setdefault(name_id(ontology, name), means[name_id(ontology, one.label)])
    return means


def terms_of(*lists: Iterable[str]) -> tuple[str, ...]:
    """Terms together, each name once, no more than allowed."""
    known = dict[str, str]()
    for each in chain(*lists):
        known.setdefault(concept_name(each), each)
    return tuple(known.values())[:TERMS]


def first_texts(
    ontology: str, extractions: Iterable[Extraction], means: Mapping[str, str]
) -> dict[str, Text]:
    """By concept, the label under which it was found first, and nothing more."""
    first = dict[str, Text]()
    for found in all_named(extractions):
        first.setdefault(means[name_id(ontology, found.label)], Text(found.label))
    return first
