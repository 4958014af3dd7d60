"""Whether two concepts are one: by how they are called, and how near their vectors are. Pure.

A wrong merge hides one of two things, and nobody finds out; a double is found twice. So every rule asks for
both. The thresholds are measured (adr/0022).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, product
from typing import Final, Literal

from kg_api.concepts.merging.spelling import Spelling, alike, words
from kg_api.graph.concepts.names import Text
from kg_api.models.embedding.spaces import SimilarityCalibration
from kg_api.models.identity import concept_name

Reason = Spelling | Literal["alias", "mutual alias"]
"""Why two concepts are one: they are spellings of one name, or one is said to be a name of the other."""

MIN_LIKENESS: Final[dict[Reason, float]] = {
    "mark": 0.6,
    "plural": 0.75,
    "plural of one word": 0.8,
    "order": 0.8,
    "hyphen": 0.65,
    "acronym": 0.85,
    "acronym alone": 0.74,
    "alias": 0.75,
    "mutual alias": 0.6,
}
"""How alike two concepts must be at least, on the scale of `likeness`."""
_ROUNDING: Final = 1e-6
"""Of cosines: what is left out before names are compared would not be the same by any rule."""
UNKNOWN: Final = 0.76
"""Taken for the cosine of unrelated texts where it was not measured: that of the most crowded model known."""
_NUMBER = re.compile(r"\d")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_NOT = ("non", "un", "in", "im", "ir", "il", "dis", "anti", "a", "de", "pre", "post", "sub", "super")
_OPPOSITES = (
    {"north", "south", "east", "west", "northern", "southern", "eastern", "western"},
    {"upper", "lower", "inner", "outer", "left", "right", "top", "bottom"},
    {"old", "new", "former", "early", "late", "first", "last"},
    {"senior", "junior", "sr", "jr", "major", "minor", "maximum", "minimum"},
    {"not", "no", "with", "without"},
)
"""What one of them is said of is not what another is said of, or none."""
_OTHERS = (
    {"male", "female"},
    {"men", "women"},
    {"king", "queen"},
    {"prince", "princess"},
)
"""They may be left out."""


def least_cosine(calibration: SimilarityCalibration | None) -> float:
    """Concepts whose vectors are farther from each other than that are two, however they are called."""
    unrelated = _unrelated(calibration)
    return unrelated + min(MIN_LIKENESS.values()) * (1 - unrelated) - _ROUNDING


def likeness(cosine: float, calibration: SimilarityCalibration | None) -> float:
    """A cosine on a scale that models share: 0 for unrelated texts, 1 for equal ones.

    Args:
        cosine: of two concepts in one space.
        calibration: what the cosines of that space mean; None when it was not measured.
    """
    unrelated = _unrelated(calibration)
    return (cosine - unrelated) / (1 - unrelated)


def _unrelated(calibration: SimilarityCalibration | None) -> float:
    return UNKNOWN if calibration is None else calibration.unrelated


def same(a: Text, b: Text, alikeness: float) -> Reason | None:
    """Why two concepts are one; None when they are not, or when it cannot be told.

    Labels are compared with labels: what merged into a concept before is a name of it, and counts as an
    alias. And none of their names may be counterparts, such as "Article 5" and "Article 6".

    Args:
        a: how one is called.
        b: how the other is.
        alikeness: of their vectors, as `likeness` gives it.
    """
    for reason in (alike(a.label, b.label), _alias(a, b)):
        if reason is not None and alikeness >= MIN_LIKENESS[reason]:
            return None if _have_counterparts(a, b) else reason
    return None


def _alias(a: Text, b: Text) -> Reason | None:
    """Whether the label of one is said to be a name of the other."""
    said = [_has(a.terms, b.label), _has(b.terms, a.label)]
    if not any(said) or _contrary(a.label, b.label):
        return None
    return "mutual alias" if all(said) else "alias"


def _has(terms: Sequence[str], label: str) -> bool:
    return concept_name(label) in map(concept_name, terms)


def _contrary(one: str, other: str) -> bool:
    """Whether labels differ by a number, a negation or an opposite: then they are two, whatever is said."""
    more, less = _differences(one, other)
    numbers = [{word for word in words(label) if _is_number(word)} for label in (one, other)]
    if all(numbers) and numbers[0] != numbers[1]:
        return True
    return any(_are_opposed(p, q) for p, q in product(more or {""}, less or {""}))


def _have_counterparts(a: Text, b: Text) -> bool:
    """Whether a name of one is a name of the other but for a number, a negation or an opposite."""
    pairs = product(a.terms, (b.label, *b.terms)), product((a.label,), b.terms)
    return any(_are_counterparts(p, q) for p, q in chain(*pairs))


def _are_counterparts(one: str, other: str) -> bool:
    more, less = _differences(one, other)
    if not (more or less) or max(len(more), len(less)) > 1:
        return False
    p, q = (next(iter(each), "") for each in (more, less))
    return (_is_number(p) and _is_number(q)) or _are_opposed(p, q)


def _differences(one: str, other: str) -> tuple[set[str], set[str]]:
    """The words of one label that the other lacks, and the other way round."""
    a, b = ({_ORDINAL.sub("", word.casefold()) for word in words(label)} for label in (one, other))
    return a - b, b - a


def _is_number(word: str) -> bool:
    return _NUMBER.search(word) is not None


def _are_opposed(p: str, q: str) -> bool:
    if any({p, q} & group and {p, q} <= group | {""} for group in _OPPOSITES):
        return True
    return bool(p and q) and (any({p, q} <= group for group in _OTHERS) or _denies(p, q) or _denies(q, p))


def _denies(p: str, q: str) -> bool:
    return any(p.replace("-", "") == f"{each}{q}" for each in _NOT)
