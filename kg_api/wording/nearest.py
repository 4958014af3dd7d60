"""The names that are most like one that is not there. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rapidfuzz import fuzz, process, utils
from rapidfuzz.distance import OSA

MAX_SUGGESTIONS = 3
MAX_NAMED = 10
"""Names that are not there which one sentence repeats."""
MIN_SCORE = 60
"""Of 100: one word of several, or a word with a slip of the finger, is above it."""


MIN_SPELT_ALIKE = 0.75
"""Letters that are the same, of the longer word's: one slip in four."""


def spelt_nearly(wanted: str, names: Iterable[str]) -> list[str]:
    """Names of which one is the one wanted with a slip of the finger, the most similar first."""
    found = process.extract(
        wanted,
        list(dict.fromkeys(names)),
        scorer=OSA.normalized_similarity,
        processor=utils.default_process,
        limit=MAX_SUGGESTIONS,
        score_cutoff=MIN_SPELT_ALIKE,
    )
    return [name for name, _, _ in found]


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """Up to three names that are like the one wanted, the most similar first; case does not count."""
    found = process.extract(
        wanted,
        list(dict.fromkeys(names)),
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        limit=MAX_SUGGESTIONS,
        score_cutoff=MIN_SCORE,
    )
    return [name for name, _, _ in found]


def suggestion(wanted: str | Sequence[str], names: Iterable[str]) -> str:
    """The clause of a message that names what is nearest; empty where nothing is like it."""
    known = list(names)
    wanted = [wanted] if isinstance(wanted, str) else wanted
    found = list(dict.fromkeys(name for each in wanted for name in nearest(each, known)))
    return f"; the nearest: {', '.join(map(repr, found[:MAX_SUGGESTIONS]))}" if found else ""


def not_searched(wanted: Sequence[str], there: Collection[str]) -> str | None:
    """The sentence that ontologies a search names are not there; None where all are."""
    unknown = [name for name in wanted if name not in there]
    if not unknown:
        return None
    searched = "nothing was searched" if len(unknown) == len(wanted) else "not all was searched"
    return f"{searched}: {no_ontology(unknown[:MAX_NAMED], there)}"


def no_ontology(wanted: str | Sequence[str], names: Iterable[str]) -> str:
    """The sentence that one or several ontologies are not there, with those that may be meant."""
    wanted = [wanted] if isinstance(wanted, str) else wanted
    return f"there is no ontology {', '.join(map(repr, wanted))}{suggestion(wanted, names)}"
