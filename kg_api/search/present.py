"""Presentation: texts, context windows within a token budget, and explanations for hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile

from kg_api.graph.client import Graph
from kg_api.graph.fulltext import QuestionWords, parse_question_words
from kg_api.graph.library import read_neighbours
from kg_api.graph.search import TEXT_INDEX, read_chunk_texts, read_concepts_of_sources
from kg_api.schemas.search import (
    CarriedConcept,
    ContextWindow,
    Degradation,
    DescribedPlace,
    Explanation,
    LanePart,
    Place,
    SourceContext,
    SourceHit,
    SourceHits,
    SourceWindow,
    WordMatch,
)
from kg_api.search.fusion import UNKNOWN, count_left_out, judge_nearness
from kg_api.search.plan import SearchPlan
from kg_api.search.rank import KEPT, PlaceReader
from kg_api.search.retrieve import (
    CONCEPTS,
    PICTURES,
    TEXT,
    VECTOR,
    Candidates,
    Hit,
    Ranking,
    Texts,
    find_needed_texts,
    to_matched_chunk,
    to_parent_chunk,
)
from kg_api.spaces.registry import ModelTokenCounter, SpaceRegistry, build_space_token_counter

# Context windows within a token budget

TokensOf = Callable[[Sequence[str]], Sequence[int]]  # returns the token count of each text
Room = tuple[int, list[Place], int, Sequence[str]]
"""Rank of a hit, its adjacent neighbours, its index among them, and the sources of its chunk."""


def merge_windows(
    hits: Sequence[SourceHit], tokens_of: TokensOf, budget: int | None
) -> tuple[list[ContextWindow], int]:
    """Merge the contexts of hits to get windows with consecutive paragraphs, each from one document.

    Within a budget, the hits come first (best hit first), then other paragraphs of their chunks, then
    neighbours from near to far.
    Paragraphs are never split. A neighbour is included only if all paragraphs between it and its hit are.

    Args:
        hits: Best first, each with its context. A hit without context forms its own window.
        tokens_of: Token counter. The tokens of a window are the sum over its paragraphs.
        budget: Maximum total tokens. None: unlimited.

    Returns:
        The windows, starting with the best hit's, and the number of hits that exceed the budget.
    """
    ranks: dict[str, int] = {}
    for hit in hits:  # two chunks of one source are one hit
        ranks.setdefault(hit.source_id, len(ranks))
    rooms = [_count_room(ranks[hit.source_id], hit, hit.context or (), hit.chunk.source_ids) for hit in hits]
    wanted = {place.source_id: place for _, places, _, _ in rooms for place in places}
    tokens = dict(zip(wanted, tokens_of([place.full_text for place in wanted.values()]), strict=True))
    taken = set(wanted) if budget is None else _take(rooms, tokens, budget)
    runs = _runs(place for identity, place in wanted.items() if identity in taken)
    windows = [_build_window(run, ranks, tokens) for run in runs]
    best_first = sorted(windows, key=lambda each: min((ranks[hit] for hit in each.hits), default=len(ranks)))
    return best_first, len(ranks.keys() - taken)


def fit_to_budget(context: SourceContext, tokens_of: TokensOf, budget: int) -> SourceWindow:
    """Keep neighbours that fit into the budget, the nearest first.

    If the source itself exceeds the budget, the result is empty.
    """
    places = context.sources
    counted = tokens_of([place.full_text for place in places])
    tokens = {place.source_id: count for place, count in zip(places, counted, strict=True)}
    own = [_count_room(0, place, places) for place in places if place.source_id == context.source_id]
    taken, degraded = _take(own, tokens, budget), list[Degradation]()
    if not taken:
        alone = f"the source has {tokens.get(context.source_id, 0)} tokens"
        effect = f"{alone}, so no result fits into {budget}. Raise token_budget"
        degraded.append(Degradation(part="windows", effect=effect))
    return SourceWindow(
        source_id=context.source_id,
        window_size=context.window_size,
        sources=[place for place in places if place.source_id in taken],
        token_budget=budget,
        tokens=sum(tokens[identity] for identity in taken),
        left_out=len(places) - len(taken),
        degraded=degraded,
    )


def _count_room(rank: int, place: Place, context: Sequence[Place], covered: Sequence[str] = ()) -> Room:
    known = {each.source_id: each for each in context}
    for run in _runs(known.values()):
        for at, each in enumerate(run):
            if each.source_id == place.source_id:
                return rank, run, at, covered
    return rank, [place], 0, covered


def _take(rooms: Sequence[Room], tokens: Mapping[str, int], budget: int) -> set[str]:
    """Select hits, and then neighbours by distance. In the hit's chunk, the distance is 0."""
    taken, left = set[str](), budget

    def take(place: Place) -> bool:
        nonlocal left
        needed = 0 if place.source_id in taken else tokens[place.source_id]
        if needed > left:
            return False
        taken.add(place.source_id)
        left -= needed
        return True

    steps: list[tuple[tuple[int, int, int, int], Place]] = []
    for rank, places, at, covered in rooms:
        if take(places[at]):
            for side, way in enumerate((places[:at][::-1], places[at + 1 :])):
                core = sum(1 for _ in takewhile(set(covered).__contains__, (each.source_id for each in way)))
                steps += [((max(0, n - core), rank, side, n), each) for n, each in enumerate(way, start=1)]
    ended = set[tuple[int, int]]()
    for (_, rank, side, _), place in sorted(steps, key=lambda step: step[0]):
        if (rank, side) not in ended and not take(place):
            ended.add((rank, side))
    return taken


def _runs(places: Iterable[Place]) -> Iterator[list[Place]]:
    """Yield runs of consecutive paragraphs from a document.

    Both paragraph numbers and offsets must match, because the document may change between two reads.
    """
    ordered = sorted(places, key=lambda place: (place.document_id, place.paragraph))
    run = ordered[:1]
    for before, place in pairwise(ordered):
        follows = before.paragraph + 1 == place.paragraph and before.end == place.start
        if follows and before.document_id == place.document_id:
            run.append(place)
        else:
            yield run
            run = [place]
    if run:
        yield run


def _build_window(run: Sequence[Place], ranks: Mapping[str, int], tokens: Mapping[str, int]) -> ContextWindow:
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


def read_windows(
    graph: Graph, hits: list[SourceHit], counter: ModelTokenCounter, window: int, token_budget: int | None
) -> tuple[list[ContextWindow], int]:
    """Add neighbours to each hit, to get windows. Count the hits that do not fit into the budget."""
    places: dict[str, Place] = {hit.source_id: hit for hit in hits}  # two chunks may share a source
    around = read_neighbours(graph, [*places.values()], window)
    for hit in hits:
        hit.context = around[hit.source_id]
    return merge_windows(hits, counter, token_budget)


# Responses

CarriedSources = Mapping[str, Sequence[CarriedConcept]]  # concepts by source id
EXACT = "exact"
NO_CONCEPTS: CarriedSources = {}


class Presenter:
    """Reads the texts of hits, and converts hits to the format for the response."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces

    def present(
        self, plan: SearchPlan, ranking: Ranking, places: PlaceReader, candidates: Candidates
    ) -> SourceHits:
        request, found = plan.request, [hit.found for hit in ranking.hits]
        with plan.watch.stage("tell"):
            ids = [each.source.source_id for each in found]
            carried = read_concepts_of_sources(self._graph, ids) if request.include_concepts else {}
            texts = read_chunk_texts(self._graph, find_needed_texts(found))
            hits = present_hits(plan, ranking.hits, places.read(ids), texts, carried)
        told = UNKNOWN if plan.wording.prefix else judge_nearness(plan, candidates, hits)
        windows = self._add_windows(plan, hits) if request.expand_context else []
        spaces = [vector.space.slug for vector in plan.vectors if vector.vector is not None]
        hypothetical = (list(each.hypothetical) for each in plan.vectors if each.hypothetical)
        # A cursor after an empty first page returns the same page again
        goes_on = ranking.more and plan.page.may_follow and (ranking.hits or plan.page.given)
        return SourceHits(
            query_text=request.query_text,
            mode=plan.mode,
            space=spaces[0] if len(spaces) == 1 else None,
            spaces=spaces,
            picture_spaces=[each.space.slug for each in plan.pictured],
            hypothetical=next(hypothetical, list[str]()),
            sources=hits,
            next_cursor=plan.page.build_next_cursor(hit.identity for hit in ranking.hits)
            if goes_on
            else None,
            left_out=count_left_out(ranking),
            near=told.near,
            note=told.note,
            windows=windows,
            did_you_mean=plan.notes.respelt,
            degraded=plan.notes.all,
            timings_ms=plan.watch.get_milliseconds(),
        )

    def _add_windows(self, plan: SearchPlan, hits: list[SourceHit]) -> list[ContextWindow]:
        """Add neighbours to each hit, to get windows that fit into the budget."""
        request = plan.request
        with plan.watch.stage("context"):
            counter = build_space_token_counter(self._spaces.get_open(plan.scope.models[0]))
            windows, left_out = read_windows(
                self._graph, hits, counter, request.window_size, request.token_budget
            )
        notes = [counter.problem] if counter.problem else []
        if left_out:
            notes.append(f"token_budget: the windows have no room for {left_out} of the hits")
        plan.notes.record("context", (Degradation(part="windows", effect=note) for note in notes))
        return windows


def present_hits(
    plan: SearchPlan,
    hits: Sequence[Hit],
    places: Mapping[str, DescribedPlace],
    texts: Texts,
    carried: CarriedSources = NO_CONCEPTS,
) -> list[SourceHit]:
    """Convert hits to the format for the response. If a source was deleted, it is omitted.

    `texts` contains the texts of the chunks from `find_needed_texts`.
    """
    words = parse_question_words(plan.text, plan.wording.prefix)
    shown: list[SourceHit] = []
    for hit in hits:
        found, place = hit.found, places.get(hit.found.source.source_id)
        if place is not None:
            given = SourceHit(
                **vars(place),
                similarity=found.similarity,
                space=None if found.similarity is None else plan.scope.get_space(place.ontology),
                score=hit.score,
                ranks=hit.ranks,
                chunk=to_matched_chunk(found, place, texts),
                parent=to_parent_chunk(found, texts),
                duplicates=list(hit.duplicates),
                concepts=list(carried.get(place.source_id, ())),
                through=list(found.through),
                matches=match_words(words, place.full_text),
                explanation=_explain(plan, hit) if plan.request.explain else None,
            )
            shown.append(given)
    return shown


def match_words(words: QuestionWords, text: str) -> list[WordMatch]:
    return [WordMatch(start=start, end=end) for start, end in words.find(text)]


def _explain(plan: SearchPlan, hit: Hit) -> Explanation:
    request = plan.request
    indexes = {TEXT: TEXT_INDEX, CONCEPTS: "concepts"}
    for slug, vector in plan.usable.items():
        indexes[f"{VECTOR}{slug}"] = (
            EXACT if request.exact else ", ".join(plan.scope.list_indexes(vector.space))
        )
    for each in plan.pictured:
        indexes[f"{PICTURES}{each.space.slug}"] = each.space.image_index_name
    steps: list[str] = [request.fusion] if plan.lanes > 1 else []
    if with_them := [*(["concepts"] if request.concepts else []), *(["pictures"] if plan.pictured else [])]:
        steps.append(f"rrf with {' and '.join(with_them)}")
    if request.graph:
        steps.append(f"rrf with concepts behind the first {KEPT}")
    return Explanation(
        lanes=[LanePart(**part._asdict(), index=indexes.get(part.lane, "")) for part in hit.parts],
        fusion=", then ".join(steps) or "none",
        fused_rank=hit.fused_rank,
        passage_rank=hit.passage_rank,
        fused_score=hit.fused_score,
        rerank_score=hit.rerank_score,
        rerank_rank=hit.rerank_rank,
        mmr_score=hit.mmr_score,
        mmr_rank=hit.mmr_rank,
    )
