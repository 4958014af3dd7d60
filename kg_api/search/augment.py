"""Augmentation: find passages for a long text, and join them to a block that can be used in a prompt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import chain
from math import ceil
from typing import Any, Literal

import structlog

from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.spaces import Space
from kg_api.ingest.conversations import consolidate, format_heading, quote_block
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.answers import (
    AugmentCounts,
    AugmentDegradation,
    Augmented,
    AugmentPiece,
    AugmentRecord,
    AugmentRequest,
    Threshold,
)
from kg_api.schemas.search import Degradation, DescribedPlace, SourceHit, SourceHits, SourceSearch
from kg_api.schemas.vocabulary import MAX_LIMIT, MAX_QUERY_CHARACTERS
from kg_api.search.notes import Stopwatch
from kg_api.search.question import SimilarityFilter, build_similarity_filter
from kg_api.search.rank import group_near_duplicates, limit_per_group
from kg_api.search.service import SearchService
from kg_api.spaces.open_spaces import FAULTS
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import OntologySnapshot, get_snapshots
from kg_api.text.borders import divide, split_sentences, trim
from kg_api.text.cutting import Measure, count_words
from kg_api.text.documents import parse
from kg_api.text.lines import is_blank
from kg_api.text.sources import split
from kg_api.wording import describe_ocr

# Cut a Markdown text into queries

Span = tuple[int, int]
Sized = tuple[Span, int]


def cut(text: str, count: Callable[[str], int], most: int, overlap: int) -> list[Span]:
    """Cut a text at paragraphs, so that each piece can be used as a query.

    A piece has at most `most` tokens and `MAX_QUERY_CHARACTERS` characters.
    A paragraph that exceeds the limit is cut at sentences, then clauses, then words.
    Each piece repeats the end of the previous piece: whole paragraphs if they fit into `overlap`, otherwise
    sentences.

    Args:
        text: Markdown or plain text.
        count: Token counter. A joined text must not have more tokens than its parts together.
        most: Maximum tokens per piece.
        overlap: Maximum repeated tokens, at most half of `most`.

    Returns:
        (start, end) in code points, in order. The pieces cover every visible character and are never blank.
    """
    characters = most / MAX_QUERY_CHARACTERS  # some tokenizers make one token of 1,000 characters

    def measure(text: str, start: int, end: int) -> int:
        return max(count(text[start:end]), ceil((end - start) * characters))

    paragraphs = split(parse(text, "text", "markdown"))
    room = most - overlap
    parts = (part for each in paragraphs for part in divide(text, (each.start, each.end), measure, room))
    sized = [(part, measure(text, *part)) for part in parts]
    pieces = (trim(text, *piece) for piece in _cut_pieces(text, sized, measure, most, overlap))
    return [piece for piece in pieces if piece]


def _cut_pieces(
    text: str, parts: Sequence[Sized], measure: Measure, most: int, overlap: int
) -> Iterator[Span]:
    begin, filled = 0, 0
    for at, ((start, _), size) in enumerate(parts):
        if at and filled + size > most:
            yield begin, start
            before = _walk_backwards(text, parts[:at], measure, overlap)
            begin, filled = _find_tail(before, start, min(overlap, most - size))
        filled += size
    if parts:
        yield begin, parts[-1][0][1]


def _find_tail(backwards: Iterator[Sized], end: int, most: int) -> tuple[int, int]:
    """Find the longest text before `end` that has up to `most` tokens, to get its start and size."""
    begin, filled = end, 0
    for (start, _), size in backwards:
        if filled + size > most:
            break
        begin, filled = start, filled + size
    return begin, filled


def _walk_backwards(text: str, parts: Sequence[Sized], measure: Measure, most: int) -> Iterator[Sized]:
    """Yield the parts from last to first. If the last part with text is too long, split it."""
    last = next(at for at in reversed(range(len(parts))) if not at or not is_blank(text, *parts[at][0]))
    if parts[last][1] <= most:
        return reversed(parts)
    spans = list(split_sentences(text, *parts[last][0]))
    return chain(reversed(parts[last + 1 :]), ((span, measure(text, *span)) for span in reversed(spans)))


# Select passages from the hits of all pieces

Order = Literal["similarity", "rank"]


@dataclass(frozen=True, slots=True)
class PieceHit:
    piece: int
    rank: int  # from 1, within the piece
    hit: SourceHit


@dataclass(frozen=True, slots=True)
class MergedPassage:
    """Source with all hits, the most similar first."""

    found: tuple[PieceHit, ...]
    duplicates: tuple[str, ...] = ()

    @property
    def nearest(self) -> PieceHit:
        """Hit to use for the similarity and the text."""
        return self.found[0]

    @property
    def rank(self) -> int:
        """The best rank among all hits."""
        return min(each.rank for each in self.found)


@dataclass(frozen=True, slots=True)
class PassageSelection:
    """Passages that were selected, best first, and how many hits were dropped in each step."""

    passages: list[MergedPassage]
    order: Order
    left_out: Counter[str]


def select(found: Sequence[PieceHit], request: AugmentRequest) -> PassageSelection:
    """Select passages from hits that have reached the similarity threshold.

    The steps: limit hits per piece, merge hits of the same passage, collapse near-duplicates, limit hits per
    document, apply the total limit.
    If all hits have a similarity from the same space, passages are ordered by similarity, otherwise by rank.
    Diversified results are also ordered by rank.
    """
    left_out: Counter[str] = Counter()
    by_rank = sorted(found, key=lambda each: each.rank)
    best = limit_per_group(by_rank, lambda each: each.piece, request.per_piece)
    left_out["beyond_per_piece"] = len(found) - len(best)
    comparable = all(each.hit.similarity is not None for each in best)
    order = (
        "rank"
        if request.mmr_lambda is not None or not comparable or len({each.hit.space for each in best}) > 1
        else "similarity"
    )
    passages = _merge(best, order)
    left_out["found_again"] = len(best) - len(passages)
    if request.deduplicate:
        left_out["duplicates"], passages = _count_dropped(passages, _without_duplicates(passages))
    if request.per_document is not None:
        kept = limit_per_group(passages, lambda each: each.nearest.hit.document_id, request.per_document)
        left_out["beyond_per_document"], passages = _count_dropped(passages, kept)
    left_out["beyond_limit"], passages = _count_dropped(passages, passages[: request.limit])
    return PassageSelection(passages, order, left_out)


def _merge(found: Iterable[PieceHit], order: Order) -> list[MergedPassage]:
    together: dict[tuple[str | int, ...], list[PieceHit]] = {}
    for each in sorted(found, key=_get_nearness):
        together.setdefault(_build_merge_key(each.hit), []).append(each)
    passages = [MergedPassage(tuple(several)) for several in together.values()]
    if order == "similarity":
        return passages
    return sorted(passages, key=lambda passage: (passage.rank, *_get_nearness(passage.nearest)))


def _build_merge_key(hit: SourceHit) -> tuple[str | int, ...]:
    """Build the key to merge a hit. Children use the same key if they have the same parent chunk."""
    parent = hit.parent
    return (hit.document_id, parent.start, parent.end) if parent else (hit.source_id,)


def _get_nearness(each: PieceHit) -> tuple[float, int, int, str]:
    """Build the key to sort by similarity, the highest first. This is stable for equal values."""
    similarity = each.hit.similarity
    return 2.0 if similarity is None else -similarity, each.rank, each.piece, each.hit.source_id


def _without_duplicates(passages: Sequence[MergedPassage]) -> list[MergedPassage]:
    groups = group_near_duplicates([passage.nearest.hit.full_text for passage in passages])
    return [
        MergedPassage(passages[first].found, tuple(passages[at].nearest.hit.source_id for at in others))
        for first, *others in groups
    ]


def _count_dropped(
    before: Sequence[MergedPassage], after: list[MergedPassage]
) -> tuple[int, list[MergedPassage]]:
    return len(before) - len(after), after


# Context block in Markdown

Block = tuple[AugmentRecord, str]


@dataclass(frozen=True, slots=True)
class PackedContext:
    text: str
    tokens: int
    records: list[AugmentRecord]
    left_out: int  # passages that exceed the budget


def render_context(
    passages: Sequence[MergedPassage], count: Callable[[str], int], budget: int | None
) -> PackedContext:
    """Render passages as Markdown. If a passage does not fit into the budget, it is skipped.

    Args:
        passages: Best first.
        count: Token counter.
        budget: Maximum total tokens. None: unlimited.
    """
    kept: list[Block] = []
    tokens = 0
    for passage in passages:
        record, block = _build_block(passage, len(kept) + 1, count)
        if budget is None or tokens + record.tokens <= budget:
            tokens += record.tokens
            kept.append((record, block))
    text = "".join(block for _, block in kept)
    return PackedContext(text, tokens, [record for record, _ in kept], len(passages) - len(kept))


def build_citation(source_id: str, start: int, end: int) -> str:
    """Build the citation from the source id and the range of code points."""
    return f"{source_id}#{start}-{end}"


def _build_block(passage: MergedPassage, number: int, count: Callable[[str], int]) -> Block:
    hit = passage.nearest.hit
    text, start, end = _to_read(hit)
    cited = build_citation(hit.source_id, start, end)
    page = f", {position}" if (position := hit.position) else ""
    page += f", {describe_ocr(hit.ocr_confidence)}" if hit.ocr else ""
    near = page if hit.similarity is None else f"{page}, similarity {hit.similarity:.2f}"
    place = format_heading(f"{number}. {' > '.join([hit.ontology + ' / ' + hit.document, *hit.heading])}", 3)
    block = f"{place}[{cited}]{near}\n\n{quote_block(text)}\n\n"
    return _record(passage, text, cited, count(block)), block


def _to_read(hit: SourceHit) -> tuple[str, int, int]:
    """Get the parent chunk to read. If there is none, use the source without whitespace at the end."""
    if hit.parent is not None:
        return hit.parent.text, hit.parent.start, hit.parent.end
    text = hit.full_text.rstrip()
    return text, hit.start, hit.start + len(text)


def _record(passage: MergedPassage, text: str, cited: str, tokens: int) -> AugmentRecord:
    hit = passage.nearest.hit
    return AugmentRecord(
        **hit.model_dump(include=set(DescribedPlace.model_fields)),
        citation=cited,
        text=text,
        similarity=hit.similarity,
        space=hit.space,
        rank=passage.rank,
        pieces=list(dict.fromkeys(each.piece for each in passage.found)),
        tokens=tokens,
        matches=hit.matches,
        duplicates=list(passage.duplicates),
    )


# Spaces and similarity thresholds of a request
#
# Similarity scales differ between models, so each model needs its own threshold.

DEFAULT = 0.7
MEASURED = {"bge-small-en-v1.5": 0.70, "all-MiniLM-L6-v2": 0.50, "e5-small-v2": 0.85}
"""Threshold to use for a model. 62 % of related passages reach it, as for 0.7 with bge-small-en-v1.5.

The share of unrelated passages that pass is 0.1 to 0.6 % in an encyclopedia and 3 to 17 % within one
technical subject.
"""


@dataclass(frozen=True, slots=True)
class AugmentScope:
    """Ontologies for the request with their spaces, and the threshold to use in each space."""

    of_ontology: dict[str, Space]
    new: Space  # space of new ontologies
    thresholds: dict[str, Threshold]  # by space

    @property
    def spaces(self) -> list[Space]:
        """Spaces with different models, those with a low token limit first."""
        found = {space.slug: space.at("") for space in self.of_ontology.values() or [self.new]}
        return sorted(found.values(), key=lambda space: (space.identity.max_tokens, space.slug))

    def list_ontologies(self, space: Space) -> list[str]:
        return [name for name, own in self.of_ontology.items() if own.slug == space.slug]

    @property
    def similar(self) -> SimilarityFilter:
        return build_similarity_filter(self.thresholds)


def resolve_scope(request: AugmentRequest, known: OntologySnapshot) -> AugmentScope:
    names = known.embedding_states if request.ontologies is None else request.ontologies
    of_ontology = {name: known.get_space(name) for name in names}
    spaces = {space.slug: space for space in (*of_ontology.values(), known.new)}
    thresholds = {
        slug: choose_threshold(slug, space.identity.model, request) for slug, space in spaces.items()
    }
    return AugmentScope(of_ontology, known.new, thresholds)


def choose_threshold(space: str, model: str, request: AugmentRequest) -> Threshold:
    """Choose the minimum similarity from the request. If it is not set, use a measured value or 0.7."""
    if request.mode == "text":
        return Threshold(space=space, min_similarity=None, source="none")
    if request.min_similarity is not None:
        return Threshold(space=space, min_similarity=request.min_similarity, source="request")
    if model in MEASURED:
        return Threshold(space=space, min_similarity=MEASURED[model], source="model")
    return Threshold(space=space, min_similarity=DEFAULT, source="default")


# Token counts, estimated if no model is available

TOKENS_A_WORD = 2
"""Estimate that is high on purpose: bge needs 1.7 tokens for a word in the PEPs, with markup."""


@dataclass(frozen=True, slots=True)
class TokenCounter:
    count: Callable[[str], int]
    most: int | None  # token limit of the model without the query prefix. None: unknown
    estimated: bool


def build_token_counter(embedder: Embedder | None) -> TokenCounter:
    """Build a counter that uses the model's tokenizer. If there is no model, estimate from words."""
    if embedder is None:
        return TokenCounter(lambda text: TOKENS_A_WORD * count_words(text), None, estimated=True)
    identity = embedder.identity
    prefix = embedder.count_tokens([identity.query_prefix]) if identity.query_prefix else 0
    return TokenCounter(
        lambda text: embedder.count_tokens([text]), identity.max_tokens - prefix, estimated=False
    )


# Pieces of the text to search for

MAX_PIECES = 64
"""Maximum number of pieces to search for a text. For a longer text, use pieces at even distances."""
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Piece:
    """Text to search for: text[start:end] from the whole text."""

    number: int  # from 1
    text: str
    start: int
    end: int
    tokens: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Pieces:
    pieces: list[Piece]
    left_out: int
    tokens: int  # of the whole text


def consolidate_request(request: AugmentRequest) -> tuple[str, tuple[str, ...]]:
    """Get the text from a request as Markdown, with notes to show to the user.

    Raises:
        InvalidInput: The text contains no word.
    """
    if request.messages is not None:
        return consolidate(request.messages)
    text = request.text or ""
    if not _WORD.search(text):
        raise InvalidInput("text: no word to search for")
    return text, ()


def split_into_pieces(text: str, request: AugmentRequest, counter: TokenCounter) -> Pieces:
    """Cut the text into pieces that can be used with the model.

    The vector of a longer text is an average, which finds less.
    """
    tokens = counter.count(text)
    most = get_chunk_token_limit(request, counter)
    one = most if request.one_query_tokens is None else request.one_query_tokens
    only = trim(text, 0, len(text))
    if only and tokens <= one and len(text) <= MAX_QUERY_CHARACTERS:
        return Pieces([_build_piece(1, text, only, counter)], 0, tokens)
    overlap = request.overlap_tokens * most // request.chunk_tokens  # scales with a smaller piece
    spans = cut(text, counter.count, most, overlap)
    kept = _spread(spans)
    pieces = [_build_piece(number, text, span, counter) for number, span in enumerate(kept, start=1)]
    if request.whole and only and len(spans) > 1:
        pieces.append(Piece(len(pieces) + 1, text[slice(*only)], *only, tokens, whole=True))
    return Pieces(pieces, len(spans) - len(kept), tokens)


def get_chunk_token_limit(request: AugmentRequest, counter: TokenCounter) -> int:
    return request.chunk_tokens if counter.most is None else min(request.chunk_tokens, counter.most)


def _build_piece(number: int, text: str, span: Span, counter: TokenCounter) -> Piece:
    piece_text = text[slice(*span)]
    return Piece(number, piece_text, *span, counter.count(piece_text))


def _spread(spans: Sequence[Span]) -> list[Span]:
    if len(spans) <= MAX_PIECES:
        return list(spans)
    step = (len(spans) - 1) / (MAX_PIECES - 1)
    return [spans[round(at * step)] for at in range(MAX_PIECES)]


# Search for pieces

SPARE = 4
"""Factor to get more hits from each search, to see how many results exceed the limit."""

_NUMBER = re.compile(r"\d+")
Search = Callable[[SourceSearch, SimilarityFilter], SourceHits]


@dataclass(frozen=True, slots=True)
class PieceResults:
    """Results for a piece. If a whole text is too long for a query, there is a search for each space."""

    piece: Piece
    answers: list[SourceHits]
    degraded: list[Degradation] = field(default_factory=list[Degradation])

    @property
    def degradations(self) -> list[tuple[int, Degradation]]:
        effects = [*self.degraded, *(each for answer in self.answers for each in answer.degraded)]
        return [(self.piece.number, each) for each in effects]


@dataclass(frozen=True, slots=True)
class Asking:
    """Context to use for all searches in a request."""

    request: AugmentRequest
    where: AugmentScope
    spaces: SpaceRegistry
    search: Search

    def ask(self, piece: Piece) -> PieceResults:
        """Search for a piece.

        Raises:
            InvalidInput: The filters match too many documents.
            Unavailable: No requested retriever is available.
        """
        if len(piece.text) <= MAX_QUERY_CHARACTERS or self.request.mode == "text":
            return PieceResults(piece, [self._search(piece, ontology=self.request.ontology)])
        searches = [self._search_by_vector(piece, space) for space in self.where.spaces]
        return PieceResults(
            piece,
            [each for each in searches if isinstance(each, SourceHits)],
            [each for each in searches if isinstance(each, Degradation)],
        )

    def _search_by_vector(self, piece: Piece, space: Space) -> SourceHits | Degradation:
        """Search using the vector for the full text, and the start of the text as keywords.

        The full text exceeds the length limit of a query.
        """
        try:
            vector = [float(value) for value in self.spaces.get_open(space).embed_query(piece.text)]
            names = (
                self.request.ontology if len(self.where.spaces) == 1 else self.where.list_ontologies(space)
            )
            return self._search(piece, ontology=names, query_vector=vector, space=space.slug)
        except (*FAULTS, InvalidInput, Conflict) as error:  # Conflict: a switch just activated another space
            effect = f"vector search for the whole text failed ({error}). kg searched its parts"
            return Degradation(part="embedding", effect=effect)

    def _search(self, piece: Piece, **more: Any) -> SourceHits:
        request = self.request
        search = SourceSearch(
            query_text=piece.text[:MAX_QUERY_CHARACTERS],
            documents=request.documents,
            where=request.where,
            mode=request.mode,
            limit=min(MAX_LIMIT, request.per_piece * SPARE),
            per_document=request.per_document or None,
            mmr_lambda=request.mmr_lambda,
            exact=request.exact,
            **more,
        )
        return self.search(search, self.where.similar)


def merge_degradations(told: Iterable[tuple[int, Degradation]]) -> list[AugmentDegradation]:
    """Merge equal degradations, and list their pieces. Effects are equal if only numbers are different."""
    first: dict[tuple[str, str], tuple[Degradation, list[int]]] = {}
    for piece, each in told:
        key = (each.part, _NUMBER.sub("#", each.effect))
        pieces = first.setdefault(key, (each, []))[1]
        if piece not in pieces:
            pieces.append(piece)
    return [
        AugmentDegradation(part=each.part, effect=each.effect, pieces=pieces)
        for each, pieces in first.values()
    ]


# Service

log = structlog.get_logger()

THREADS = 4
"""Maximum number of searches to run in parallel in a process. Each search uses several retrievers."""


class AugmentService:
    def __init__(self, graph: Graph, spaces: SpaceRegistry, search: SearchService) -> None:
        self._spaces = spaces
        self._search = search
        self._snapshots = get_snapshots(graph)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="augment")

    def close(self) -> None:
        self._pool.shutdown()

    def augment(self, request: AugmentRequest) -> Augmented:
        """Find passages. `degraded` lists the parts of the search that did not work.

        Raises:
            InvalidInput: The text contains no word, or the filters match too many documents.
            Unavailable: No requested retriever is available.
        """
        watch = Stopwatch("augment")
        where = resolve_scope(request, self._snapshots.get(request.ontologies or ()))
        with watch.stage("cut"):
            text, notes = consolidate_request(request)
            counter = self._get_counter(where.spaces[0])
            pieces = split_into_pieces(text, request, counter)
        with watch.stage("search"):
            asking = Asking(request, where, self._spaces, self._search.search)
            results = self._ask(asking, pieces)
        with watch.stage("select"):
            selection = select(_collect_hits(results), request)
            context = render_context(selection.passages, counter.count, request.token_budget)
        counts = _count_pieces(text, pieces, results, selection, context)
        log.info("augmented", **counts.model_dump(), ms=watch.get_milliseconds()["total"])
        return Augmented(
            context=context.text,
            context_tokens=context.tokens,
            tokens_estimated=counter.estimated,
            records=context.records,
            order=selection.order,
            thresholds=[where.thresholds[space.slug] for space in where.spaces],
            pieces=_present_pieces(results),
            counts=counts,
            notes=[*notes, *_describe_nothing_near(results, selection, where)],
            degraded=[
                *_describe_skipped_pieces(pieces),
                *merge_degradations(note for each in results for note in each.degradations),
            ],
            timings_ms=watch.get_milliseconds(),
        )

    def _get_counter(self, space: Space) -> TokenCounter:
        try:
            return build_token_counter(self._spaces.get_open(space).get_embedder())
        except FAULTS:  # the searches report the fault
            return build_token_counter(None)

    def _ask(self, asking: Asking, pieces: Pieces) -> list[PieceResults]:
        waiting = [self._pool.submit(copy_context().run, asking.ask, piece) for piece in pieces.pieces]
        try:
            return [each.result() for each in waiting]
        finally:
            for each in waiting:
                each.cancel()


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


def _count_pieces(
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


def _describe_nothing_near(
    asked: Sequence[PieceResults], selection: PassageSelection, where: AugmentScope
) -> list[str]:
    left_out = (answer.left_out.nearest for each in asked for answer in each.answers)
    nearest = max((each for each in left_out if each is not None), default=None)
    if selection.passages or nearest is None:
        return []
    bounds = {each.min_similarity for each in where.thresholds.values() if each.min_similarity is not None}
    least = " or ".join(f"{each:.2f}" for each in sorted(bounds))
    note = (
        f"no relevant result: the nearest passage has a similarity of {nearest:.2f}, below {least}. "
        "Lower min_similarity to include it (kg augment --min-similarity)"
    )
    return [note]


def _describe_skipped_pieces(pieces: Pieces) -> list[AugmentDegradation]:
    if not pieces.left_out:
        return []
    effect = (
        f"the text has {MAX_PIECES + pieces.left_out} pieces: {MAX_PIECES} spread evenly were searched for"
    )
    return [AugmentDegradation(part="query", effect=effect, pieces=[])]
