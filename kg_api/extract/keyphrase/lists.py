"""Words that make no concept of their own, whatever a document says how often: the files in words/."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Lists:
    """All of them folded."""

    headings: frozenset[str]
    """Of parts of a document; of one or several words."""
    nouns: frozenset[str]
    """They say something only with another word beside them."""
    weak: frozenset[str]
    """Adjectives that stand before anything."""
    dates: frozenset[str]
    links: frozenset[str]
    """They stand within a name, such as "of"."""
    articles: frozenset[str]
    """Those of `links` that need another one before them."""
    name_starts: frozenset[str]
    """A name may begin with them, such as "new"."""
    verbs: frozenset[str]
    """English ones that look like nouns at the end of a phrase."""
    data_fields: frozenset[str]
    """Of a document's head, whose values are no text."""
    es_heads: frozenset[str]
    """Spanish nouns that head no term."""
    es_openers: frozenset[str]
    """Spanish words behind which a noun stands."""
    es_objects: frozenset[str]
    """Spanish words behind a verb."""
    han_edges: frozenset[str]
    """Chinese characters with which no word begins or ends that no dictionary has."""
    zh_weak: frozenset[str]
    """Chinese nouns that end no term."""
    zh_openers: frozenset[str]
    """Chinese words that begin none."""
    zh_verbs: frozenset[str]
    """Chinese verbs that stand before objects and begin no name."""
    zh_suffixes: frozenset[str]
    """Chinese characters that make a noun of the word before them."""
    zh_sounds: frozenset[str]
    """Chinese characters that write foreign names."""


@cache
def lists() -> Lists:
    """The lists, read once."""
    words = {each.name: frozenset(_read(each.name).split()) for each in fields(Lists)}
    return Lists(**{**words, "headings": frozenset(_read("headings").split("\n"))})


def _read(name: str) -> str:
    text = files("kg_api.extract.keyphrase").joinpath("words", f"{name}.txt").read_text(encoding="utf-8")
    return text.partition("\n")[2].strip().casefold()
