"""What a source states of two concepts, as a row to write: its sentence, and the quote it stands in. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Protocol

from kg_api.models.identity import concept_name, digest, relation_type_id
from kg_api.wording.named import UNNAMED, NamedPair

MAX_QUOTE: Final = 500
"""Code points from the first to the last word of both concepts; further apart, one of them is quoted."""


class Span(Protocol):
    """A quote of a source."""

    @property
    def start(self) -> int:
        """In code points of the source's text, as `end`."""
        ...

    @property
    def end(self) -> int:
        """Behind its last one."""
        ...


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A source states something of two concepts."""

    relation_id: str
    source_id: str
    subject: str
    object: str
    type: str
    """As the source says it: what a vocabulary makes of it is not told here."""
    confidence: float
    extracted_with: str
    statement: str = ""
    """Subject, type and object in the source's words: what is embedded, with the quote behind it."""
    quote: str = ""
    """The source's words between both concepts; none where no quote proves them."""
    start: int | None = None
    """In code points of the source's text, as `end`."""
    end: int | None = None

    @property
    def key(self) -> tuple[str, ...]:
        return (self.relation_id,)

    def parameters(self, ontology: str) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.__slots__}
        return own | {
            "ontology": ontology,
            "type_id": relation_type_id(ontology, self.type),
            "type_key": concept_name(self.type),
            "text_hash": edge_text_hash(edge_text(self.statement, self.quote)),
        }


def state(subject: str, kind: str, target: str) -> str:
    """A relationship as a sentence; a type may be written as programs name things."""
    return f"{subject} {kind.replace('_', ' ')} {target}"


def edge_text(statement: str, quote: str) -> str:
    """What is embedded of a relationship: what it says, and where the source says so."""
    return f"{statement}: {quote}" if quote else statement


def edge_text_hash(text: str) -> str:
    """Changes when the text does that is embedded."""
    return digest("edge text", text)


def between(
    text: str, subject: Iterable[Span], target: Iterable[Span], named: NamedPair = UNNAMED
) -> tuple[str, int | None, int | None]:
    """The source's words in which two concepts are nearest to each other, from which to which code point.

    Args:
        text: of the source.
        subject: quotes of one of them.
        target: quotes of the other.
        named: where the text names both; a quote of one that has both in it stands for both.
    """
    ones, others = [*subject], [*target]
    alone = [(each.start, each.end) for each in (*ones, *others)]
    both = [each for each in alone if named.is_within(*each)]
    pairs = [*both, *(_cover(one, other) for one, other in product(ones, others))]
    near = [each for each in pairs if each[1] - each[0] <= MAX_QUOTE]
    chosen = min(near, key=lambda each: (each[1] - each[0], each), default=None) or next(iter(alone), None)
    return ("", None, None) if chosen is None else (text[chosen[0] : chosen[1]], *chosen)


def _cover(one: Span, other: Span) -> tuple[int, int]:
    return min(one.start, other.start), max(one.end, other.end)
