"""Augmentation: text -> Markdown -> pieces -> a search for each -> the best passages -> context block."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import structlog

from kg_api.augment.asking import Asking, PieceResults, together
from kg_api.augment.context import PackedContext, context_of
from kg_api.augment.merge import Choices, PassageSelection, PieceHit, select
from kg_api.augment.plan import MAX_PIECES, Pieces, consolidate_request, pieces_of
from kg_api.augment.scope import AugmentScope, resolve_scope
from kg_api.augment.tokens import TokenCounter, counter_of
from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.augment import (
    AugmentCounts,
    AugmentDegradation,
    Augmented,
    AugmentPiece,
    AugmentRequest,
)
from kg_api.search.service import SearchService
from kg_api.search.timing import Stopwatch
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.plans import PlanWatch
from kg_api.spaces.registry import SpaceRegistry

log = structlog.get_logger()

THREADS = 4
"""Searches at once, of all augmentations of the process: each has lanes of its own."""


class AugmentService:
    """Finds the passages that go with a long text or a conversation."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry, search: SearchService) -> None:
        self._spaces = spaces
        self._search = search
        self._plans = PlanWatch(graph)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="augment")

    def close(self) -> None:
        self._pool.shutdown()

    def augment(self, request: AugmentRequest) -> Augmented:
        """Find passages. What could not be done is told in `degraded`, never left out silently.

        Raises:
            InvalidInput: the text holds no word, or the filters name too many documents.
            Unavailable: no lane that was asked for can answer.
        """
        watch = Stopwatch("augment")
        where = resolve_scope(request, self._plans.known(request.ontologies or ()))
        with watch.stage("cut"):
            text, notes = consolidate_request(request)
            counter = self._counter(where.spaces[0])
            pieces = pieces_of(text, request, counter)
        with watch.stage("search"):
            asking = Asking(request, where, self._spaces, self._search.search)
            asked = self._ask(asking, pieces)
        with watch.stage("select"):
            selection = select(_collect_hits(asked), _choices(request))
            context = context_of(selection.passages, counter.count, request.token_budget)
        counts = _counts(text, pieces, asked, selection, context)
        log.info("augmented", **counts.model_dump(), ms=watch.milliseconds()["total"])
        return Augmented(
            context=context.text,
            context_tokens=context.tokens,
            tokens_estimated=counter.estimated,
            records=context.records,
            order=selection.order,
            thresholds=[where.thresholds[space.slug] for space in where.spaces],
            pieces=_present_pieces(asked),
            counts=counts,
            notes=[*notes, *_nothing_near(asked, selection, where)],
            degraded=[
                *_describe_left_out(pieces),
                *together(note for each in asked for note in each.degradations),
            ],
            timings_ms=watch.milliseconds(),
        )

    def _counter(self, space: Space) -> TokenCounter:
        try:
            return counter_of(self._spaces.of(space).embedder())
        except FAULTS:  # the searches tell it
            return counter_of(None)

    def _ask(self, asking: Asking, pieces: Pieces) -> list[PieceResults]:
        """Search for all pieces side by side, as many as there are threads for."""
        waiting = [self._pool.submit(copy_context().run, asking.ask, piece) for piece in pieces.pieces]
        try:
            return [each.result() for each in waiting]
        finally:
            for each in waiting:
                each.cancel()


def _choices(request: AugmentRequest) -> Choices:
    return Choices(
        per_piece=request.per_piece,
        per_document=request.per_document,
        limit=request.limit,
        deduplicate=request.deduplicate,
        by_rank=request.mmr_lambda is not None,
    )


def _collect_hits(asked: Sequence[PieceResults]) -> list[PieceHit]:
    return [
        PieceHit(each.piece.number, rank, hit)
        for each in asked
        for answer in each.answers
        for rank, hit in enumerate(answer.sources, start=1)
    ]


def _present_pieces(asked: Sequence[PieceResults]) -> list[AugmentPiece]:
    return [
        AugmentPiece(
            number=each.piece.number,
            whole=each.piece.whole,
            start=each.piece.start,
            end=each.piece.end,
            tokens=each.piece.tokens,
            hits=sum(len(answer.sources) for answer in each.answers),
        )
        for each in asked
    ]


def _counts(
    text: str,
    pieces: Pieces,
    asked: Sequence[PieceResults],
    selection: PassageSelection,
    context: PackedContext,
) -> AugmentCounts:
    left_out = selection.left_out
    answers = [answer for each in asked for answer in each.answers]
    below = sum(answer.left_out.below_similarity for answer in answers)
    without = sum(answer.left_out.without_vector for answer in answers)
    return AugmentCounts(
        characters=len(text),
        tokens=pieces.tokens,
        pieces=len(pieces.pieces),
        pieces_left_out=pieces.left_out,
        searches=len(answers),
        candidates=sum(len(answer.sources) for answer in answers) + below + without,
        below_similarity=below,
        without_vector=without,
        beyond_per_piece=left_out["beyond_per_piece"],
        found_again=left_out["found_again"],
        duplicates=left_out["duplicates"],
        beyond_per_document=left_out["beyond_per_document"],
        beyond_limit=left_out["beyond_limit"],
        beyond_budget=context.left_out,
        records=len(context.records),
    )


def _nothing_near(
    asked: Sequence[PieceResults], selection: PassageSelection, where: AugmentScope
) -> list[str]:
    left_out = (answer.left_out.nearest for each in asked for answer in each.answers)
    nearest = max((each for each in left_out if each is not None), default=None)
    if selection.passages or nearest is None:
        return []
    bounds = {each.min_similarity for each in where.thresholds.values() if each.min_similarity is not None}
    least = " or ".join(f"{each:.2f}" for each in sorted(bounds))
    note = (
        f"nothing is similar enough: {least} is asked for, and the nearest passage has {nearest:.2f}; a "
        "lower min_similarity takes it (kg augment --min-similarity)"
    )
    return [note]


def _describe_left_out(pieces: Pieces) -> list[AugmentDegradation]:
    if not pieces.left_out:
        return []
    effect = (
        f"the text has {MAX_PIECES + pieces.left_out} pieces: {MAX_PIECES} spread evenly were searched for"
    )
    return [AugmentDegradation(part="query", effect=effect, pieces=[])]
