"""Words that make no concept of their own, whatever a document says how often: the files in words/."""

from __future__ import annotations

from dataclasses import dataclass
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
    han_edges: frozenset[str]
    """Chinese characters with which no phrase begins or ends."""


@cache
def lists() -> Lists:
    """The lists, read once."""
    return Lists(
        headings=frozenset(_read("headings").split("\n")),
        nouns=frozenset(_read("nouns").split()),
        weak=frozenset(_read("weak").split()),
        dates=frozenset(_read("dates").split()),
        links=frozenset(_read("links").split()),
        articles=frozenset(_read("articles").split()),
        name_starts=frozenset(_read("name_starts").split()),
        verbs=frozenset(_read("verbs").split()),
        data_fields=frozenset(_read("data_fields").split()),
        han_edges=frozenset(_read("han_edges").split()),
    )


def _read(name: str) -> str:
    text = files("kg_api.extract.keyphrase").joinpath("words", f"{name}.txt").read_text(encoding="utf-8")
    return text.partition("\n")[2].strip().casefold()
