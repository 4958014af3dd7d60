"""Retrieving: the lanes, then what goes on from their best hits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace

from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.graph.search.carried import Seed
from kg_api.graph.search.passages import LaneHits
from kg_api.models.queries.search import Degradation
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.retrieve.candidates import Candidates
from kg_api.search.retrieve.concept_lane import ConceptLane
from kg_api.search.retrieve.hits import TEXT, Hit
from kg_api.search.retrieve.lanes import Lane, lanes_of, merge, word_lanes
from kg_api.search.retrieve.spelling import describe_respelling, respell

THREADS = 16
MAX_TOLD = 10


Fuse = Callable[[SearchPlan, Candidates], Sequence[Hit]]
"""Brings what the lanes found into one order, the best first."""


class Retriever:
    """Asks the lanes, in the caller's thread; the question's own concepts beside them."""

    def __init__(self, graph: Graph, indexes: IndexWatch, fuse: Fuse) -> None:
        self._graph = graph
        self._fuse = fuse
        self._concepts = ConceptLane(graph, indexes)
        self._progress = EmbeddingWatch(graph)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="seeds")

    def close(self) -> None:
        self._pool.shutdown()

    def retrieve(self, plan: SearchPlan, before: Candidates | None = None) -> Candidates:
        """Ask all lanes for as many as the plan is deep.

        Args:
            plan: what to ask where.
            before: what a plan found that was less deep.

        Raises:
            Unavailable: no lane that was asked for can answer.
        """
        seeds = self._seeds(plan, before) if plan.request.follows_concepts else None
        if before is not None and before.wording is not None:
            plan = plan.worded(before.wording)
        candidates = self._lanes(plan, respelt=before is not None)
        if before is not None:  # a still deeper look is worded as this one
            candidates = replace(candidates, wording=before.wording)
        if not plan.concepts_alone:
            plan.notes.record("lanes", self._degradations(plan, candidates))
        return candidates if seeds is None else self._follow(plan, candidates, seeds())

    def _seeds(self, plan: SearchPlan, before: Candidates | None) -> Callable[[], Sequence[Seed]]:
        """Look for the question's own concepts beside the lanes, once a search."""
        if before is not None:
            return lambda: before.seeds
        return self._pool.submit(copy_context().run, self._concepts.seeds, plan).result

    def _lanes(self, plan: SearchPlan, *, respelt: bool) -> Candidates:
        """What the plan's lanes find, all asked at once; words that no text has are then asked otherwise."""
        lanes = [*lanes_of(plan)]
        if not lanes and not plan.concepts_alone and not plan.asks_text:
            raise Unavailable("the search indexes are still being filled; try again in a moment")
        with plan.watch.stage("retrieve"):
            found = self._ask(lanes)
        if respelt or not any(name == TEXT for name, _ in found):
            return _candidates(plan, found)
        with plan.watch.stage("spelling"):
            return self._respell(plan, found)

    def _ask(self, lanes: Sequence[Lane]) -> list[tuple[str, LaneHits]]:
        rows = self._graph.look_up([lane.passages.lookup for lane in lanes])
        both = zip(lanes, rows, strict=True)
        return [(lane.name, lane.passages.hits(self._graph, each)) for lane, each in both]

    def _respell(self, plan: SearchPlan, found: list[tuple[str, LaneHits]]) -> Candidates:
        """The lane of words once more where what may be meant is found, and the others as they are."""
        seen = {word for name, each in found if name == TEXT for word in each.seen}
        wording = respell(self._graph, plan.wording, seen)
        if not wording.respelt:
            return _candidates(plan, found)
        plan.notes.respelt = [*wording.respelt]
        others = [each for each in found if each[0] != TEXT]
        again = self._ask([*word_lanes(plan.worded(wording))])
        return replace(_candidates(plan, [*others, *again]), wording=wording)

    def _follow(self, plan: SearchPlan, candidates: Candidates, seeds: Sequence[Seed]) -> Candidates:
        """With what concepts lead to from the question and from the best hits."""
        fused = self._fuse(plan, candidates)
        with plan.watch.stage("concepts"):
            carried = self._concepts.retrieve(plan, seeds, [hit.found for hit in fused])
        cut = candidates.cut or (plan.concepts_alone and len(carried) >= plan.depth)
        return replace(candidates, cut=cut, seeds=seeds, fused=fused, carried=carried)

    def _degradations(self, plan: SearchPlan, candidates: Candidates) -> Iterator[Degradation]:
        """What the lanes cannot find."""
        yield from describe_respelling(plan.notes.respelt)
        words = candidates.lanes.get(TEXT)
        missing = sum(found.without_vector for found in words or ())
        if missing and plan.usable:
            of_words = f"{missing} of the passages found by words have no vector yet"
            effect = f"{of_words}: they are found by full text only"
            yield Degradation(part="vectors", effect=effect)
        if words is None:  # else they tell it by what they find
            yield from self._under_way(plan)

    def _under_way(self, plan: SearchPlan) -> Iterator[Degradation]:
        within = {name for each in plan.scope.spaces for name in each.filters.ontologies or ()}
        progress = {name: at for name, at in self._progress.read().items() if not within or name in within}
        for name, at in list(progress.items())[:MAX_TOLD]:
            far = f"{at.done} of {at.total} sources"
            effect = f"{name}: embedding is under way ({far}); what is not embedded is not found by meaning"
            yield Degradation(part="vectors", effect=effect)


def _candidates(plan: SearchPlan, found: Sequence[tuple[str, LaneHits]]) -> Candidates:
    merged = merge(found)
    if plan.asks_text:
        merged.setdefault(TEXT, ())  # a question without a word finds nothing by words, and has looked
    return Candidates(merged, any(each.cut for _, each in found))
