"""What to read of the hits: their neighbours, merged where they touch, within a budget of tokens. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from kg_api.models.queries.places import ContextWindow, Place
from kg_api.models.queries.search import Degradation, SourceHit
from kg_api.models.queries.windows import SourceContext, SourceWindow

TokensOf = Callable[[Sequence[str]], Sequence[int]]
"""How many tokens each of some texts has."""


def merge_windows(
    hits: Sequence[SourceHit], tokens_of: TokensOf, budget: int | None
) -> tuple[list[ContextWindow], int]:
    """Merge the contexts of hits into windows of consecutive paragraphs, each of one document.

    Within a budget the paragraphs of the hits themselves come first, the best hit's before all; then what
    else their chunks cover; then neighbours from near to far. A paragraph is taken whole or not at all, and a
    neighbour only when all between it and its hit are.

    Args:
        hits: the best first, each with its context; one without stands alone.
        tokens_of: counts tokens; those of a window are the sum of its paragraphs'.
        budget: most tokens of all windows together; None: no bound.

    Returns:
        The windows, that of the best hit first, and how many of the hits did not fit into the budget.
    """
    ranks: dict[str, int] = {}
    for hit in hits:  # two chunks of one source are one hit
        ranks.setdefault(hit.source_id, len(ranks))
    rooms = [_Room(ranks[hit.source_id], hit, hit.context or (), hit.chunk.source_ids) for hit in hits]
    wanted = {place.source_id: place for room in rooms for place in room.places}
    tokens = dict(zip(wanted, tokens_of([place.full_text for place in wanted.values()]), strict=True))
    taken = set(wanted) if budget is None else _within(rooms, tokens, budget)
    runs = _runs(place for identity, place in wanted.items() if identity in taken)
    windows = [_window(run, ranks, tokens) for run in runs]
    best_first = sorted(windows, key=lambda each: min((ranks[hit] for hit in each.hits), default=len(ranks)))
    return best_first, len(ranks.keys() - taken)


def fit_to_budget(context: SourceContext, tokens_of: TokensOf, budget: int) -> SourceWindow:
    """Keep of a source's neighbours what fits, from near to far; without the source itself there are none."""
    places = context.sources
    counted = tokens_of([place.full_text for place in places])
    tokens = {place.source_id: count for place, count in zip(places, counted, strict=True)}
    own = [_Room(0, place, places) for place in places if place.source_id == context.source_id]
    taken = _within(own, tokens, budget)
    return SourceWindow(
        source_id=context.source_id,
        window_size=context.window_size,
        sources=[place for place in places if place.source_id in taken],
        token_budget=budget,
        tokens=sum(tokens[identity] for identity in taken),
        left_out=len(places) - len(taken),
        degraded=[] if taken else [_none_fits(tokens.get(context.source_id, 0), budget)],
    )


@dataclass(frozen=True, slots=True, order=True)
class _Step:
    """A place on the way from a hit outwards. Steps are taken in this order."""

    distance: int
    """0: what the hit's chunk covers besides; from 1: neighbours."""
    rank: int
    side: int
    number: int
    place: Place = field(compare=False)


class _Room:
    """A hit among its neighbours, as far as they follow each other without a gap."""

    def __init__(
        self, rank: int, place: Place, context: Sequence[Place], covered: Sequence[str] = ()
    ) -> None:
        self.rank = rank
        self._covered = covered
        known = {each.source_id: each for each in context}
        own = (run for run in _runs(known.values()) if any(each.source_id == place.source_id for each in run))
        self.places: list[Place] = next(own, [place])
        self.at = next(at for at, each in enumerate(self.places) if each.source_id == place.source_id)

    @property
    def steps(self) -> Iterator[_Step]:
        """To both sides, from near to far."""
        for side, places in enumerate((self.places[: self.at][::-1], self.places[self.at + 1 :])):
            core = sum(1 for _ in takewhile(lambda place: place.source_id in self._covered, places))
            for number, place in enumerate(places, start=1):
                yield _Step(max(0, number - core), self.rank, side, number, place)


class _Purse:
    """What is taken, and what is left of the budget."""

    def __init__(self, tokens: Mapping[str, int], budget: int) -> None:
        self.taken: set[str] = set()
        self._tokens = tokens
        self._left = budget

    def take(self, place: Place) -> bool:
        """Take a place, if it fits or was taken before."""
        needed = 0 if place.source_id in self.taken else self._tokens[place.source_id]
        if needed > self._left:
            return False
        self.taken.add(place.source_id)
        self._left -= needed
        return True


def _within(rooms: Sequence[_Room], tokens: Mapping[str, int], budget: int) -> set[str]:
    purse = _Purse(tokens, budget)
    inside = [room for room in rooms if purse.take(room.places[room.at])]
    ended = set[tuple[int, int]]()
    for step in sorted(step for room in inside for step in room.steps):
        way = (step.rank, step.side)
        if way not in ended and not purse.take(step.place):
            ended.add(way)
    return purse.taken


def _none_fits(needed: int, budget: int) -> Degradation:
    effect = f"the source alone has {needed} tokens, so nothing fits into {budget}; raise token_budget"
    return Degradation(part="windows", effect=effect)


def _runs(places: Iterable[Place]) -> Iterator[list[Place]]:
    """Places that follow each other in one document without a gap."""
    ordered = sorted(places, key=lambda place: (place.document_id, place.paragraph))
    if not ordered:
        return
    run = [ordered[0]]
    for before, place in pairwise(ordered):
        if _follows(before, place):
            run.append(place)
        else:
            yield run
            run = [place]
    yield run


def _follows(before: Place, place: Place) -> bool:
    """Both count: a document may have changed between two looks at it."""
    own = before.document_id == place.document_id
    return own and before.paragraph + 1 == place.paragraph and before.end == place.start


def _window(run: Sequence[Place], ranks: Mapping[str, int], tokens: Mapping[str, int]) -> ContextWindow:
    first, last = run[0], run[-1]
    ids = [place.source_id for place in run]
    return ContextWindow(
        document_id=first.document_id,
        ontology=first.ontology,
        document=first.document,
        heading=first.heading,
        start=first.start,
        end=last.end,
        text="".join(place.full_text for place in run),
        source_ids=ids,
        hits=sorted((identity for identity in ids if identity in ranks), key=lambda each: ranks[each]),
        tokens=sum(tokens[identity] for identity in ids),
    )
