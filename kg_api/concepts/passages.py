"""Where a concept stands: its sources among their neighbours, windows that touch merged. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kg_api.graph.concepts.reads import Appearance
from kg_api.models.concepts.queries import ConceptPassage, UnverifiedQuote
from kg_api.models.queries.places import Place


@dataclass(slots=True)
class _Window:
    """Places of one document in reading order, and what appears in them."""

    places: list[Place]
    carrying: list[tuple[int, Appearance]]
    """With the rank of each."""


def merge_passages(
    found: Sequence[Appearance], around: Mapping[str, Sequence[Place]]
) -> list[ConceptPassage]:
    """Put the sources that carry a concept among their neighbours.

    Args:
        found: the best first.
        around: by the id of each its neighbours and itself, in reading order, of the same document.

    Returns:
        Passages that have no source in common and do not follow each other, that of the best source first.
    """
    ranked = [(rank, each) for rank, each in enumerate(found) if around.get(each.place.source_id)]
    in_order = sorted(ranked, key=lambda each: (each[1].place.document_id, each[1].place.paragraph))
    windows: list[_Window] = []
    for rank, each in in_order:
        places = around[each.place.source_id]
        if windows and _touch(windows[-1].places[-1], places[0]):
            last = windows[-1].places[-1].paragraph
            windows[-1].places += [place for place in places if place.paragraph > last]
            windows[-1].carrying.append((rank, each))
        else:
            windows.append(_Window(list(places), [(rank, each)]))
    return [_passage(window) for window in sorted(windows, key=lambda each: min(each.carrying)[0])]


def _touch(before: Place, behind: Place) -> bool:
    return before.document_id == behind.document_id and behind.paragraph <= before.paragraph + 1


def _passage(window: _Window) -> ConceptPassage:
    best = min(window.carrying, key=lambda each: each[0])[1]
    return ConceptPassage(
        source_id=best.place.source_id,
        carried_by=[each.place.source_id for _, each in window.carrying],
        quotes=[quote for _, each in window.carrying for quote in each.quotes],
        unverified=[quote for _, each in window.carrying for quote in _to_unverified(each)],
        sources=window.places,
    )


def _to_unverified(each: Appearance) -> list[UnverifiedQuote]:
    place = each.place
    return [
        UnverifiedQuote(
            quote=quote, source_id=place.source_id, document=place.document, paragraph=place.paragraph
        )
        for quote in each.unverified
    ]
