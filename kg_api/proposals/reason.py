"""Why a link is proposed, in words. Pure."""

from __future__ import annotations

from typing import Final

import regex

from kg_api.extract.keyphrase.background import zipf
from kg_api.models.vocabulary import ProposalKind

MAX_WORDS: Final = 6
COMMON: Final = 5.0
"""Words that are more common at large than this (once in ten thousand words) say nothing of a text."""
_WORD = regex.compile(r"[\p{L}\p{N}_]{3,}")
_NOUNS: Final[dict[ProposalKind, str]] = {"source": "passage", "concept": "concept"}


def reason_of(
    kind: ProposalKind, similarity: float, *, within: int, hops: int, contrast: float, shared: list[str]
) -> str:
    """The reason as a reader takes it.

    Args:
        kind: of what is linked.
        similarity: cosine of the two.
        within: each is among so many that are nearest to the other.
        hops: nothing connects them within so many steps.
        contrast: by how much that is over their cosines with what else is near.
        shared: words that both have.
    """
    noun = _NOUNS[kind]
    nearest = f"the nearest {noun}" if within == 1 else f"one of the {within} nearest {noun}s"
    steps = f"{hops} step{'s' if hops > 1 else ''}"
    near = f"cosine {similarity:.2f}, {contrast:.2f} over what else is near"
    parts = [
        f"Each is to the other {nearest} of another document ({near})",
        f"no link, concept or relationship connects them within {steps}",
    ]
    if shared:
        parts.append(f"both say {', '.join(shared)}")
    return "; ".join(parts) + "."


def shared_words(one: str, other: str) -> list[str]:
    """The rarest words of both texts, at most six, the rarest first."""
    a, b = (dict.fromkeys(each.casefold() for each in _WORD.findall(text)) for text in (one, other))
    rarity = {each: zipf(each, "en") or 0.0 for each in a if each in b and not each.isdigit()}
    telling = [each for each, common in rarity.items() if common < COMMON]
    return sorted(telling, key=lambda each: (rarity[each], each))[:MAX_WORDS]
