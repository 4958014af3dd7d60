"""Retrieval: run all retrievers in one request to Neo4j, then search by concept, and suggest spellings."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

import regex
from cachetools import TTLCache

from kg_api.concepts.search import (
    EMBEDDING,
    EXTRACTION,
    describe_missing_concepts,
    describe_running_jobs,
    start_embedding,
)
from kg_api.errors import Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import get_min_neighbour_cosine
from kg_api.graph.search import (
    ChunkText,
    ConceptLaneHit,
    ConceptNearness,
    Filters,
    KeywordPassages,
    LaneHit,
    LaneHits,
    Meaning,
    NearestPassages,
    Seed,
    SeedPassage,
    build_name_lookup,
    build_vector_lookup,
    build_word_lookup,
    find_sources_by_concepts,
    find_texts_with_similar_words,
    look_up_concepts,
)
from kg_api.graph.similar import NearestPictures
from kg_api.graph.text_analysis import suggest_words
from kg_api.providers.embedding_port import knows_language
from kg_api.schemas.base import build_name_id, normalize_concept_name
from kg_api.schemas.search import Degradation, MatchedChunk, Place, Ranks, Respelling
from kg_api.schemas.spaces import USUAL, SimilarityCalibration
from kg_api.schemas.vocabulary import GroupBy
from kg_api.search.notes import describe_embedding_progress
from kg_api.search.plan import SearchPlan, Wording
from kg_api.spaces.snapshot import Snapshots
from kg_api.suggestions import UNSPACED

# Hits

TEXT = "text"
VECTOR = "vector:"
CONCEPTS = "concepts"
PICTURES = "pictures:"

Texts = Mapping[str, ChunkText]
"""Texts for chunks, by chunk id."""


class LaneContribution(NamedTuple):
    """How much a retriever has added to a fused score."""

    lane: str
    rank: int | None  # from 1. None: the retriever did not return the hit
    score: float
    weight: float
    contribution: float


class Hit(NamedTuple):
    """Search hit, with scores and ranks from each stage."""

    found: LaneHit
    identity: str
    score: float  # current sort key
    parts: tuple[LaneContribution, ...] = ()
    fused_rank: int = 0
    fused_score: float = 0.0
    rerank_score: float | None = None
    rerank_rank: int | None = None
    mmr_score: float | None = None
    mmr_rank: int | None = None
    duplicates: tuple[str, ...] = ()
    passage_rank: int | None = None  # rank from vectors and keywords, before concepts were merged

    @property
    def ranks(self) -> Ranks:
        """Ranks by retriever. A source has one vector rank, because its ontology has one space."""
        ranks = {part.lane: part.rank for part in self.parts}
        vector = [rank for lane, rank in ranks.items() if lane.startswith(VECTOR) and rank is not None]
        seen = [rank for lane, rank in ranks.items() if lane.startswith(PICTURES) and rank is not None]
        return Ranks(
            vector=min(vector, default=None),
            text=ranks.get(TEXT),
            concepts=ranks.get(CONCEPTS),
            pictures=min(seen, default=None),
        )


def scale_below(least: float, hits: Iterable[Hit]) -> list[Hit]:
    """Change the scores, so that they are below `least`. The order stays the same."""
    return [hit._replace(score=least - number * 1e-6) for number, hit in enumerate(hits, start=1)]


def get_hit_key(found: LaneHit, group_by: GroupBy) -> str:
    """Get the key that is used to find copies of a hit: its source id, or its chunk id."""
    return found.chunk.chunk_id if group_by == "chunk" and found.chunk else found.source.source_id


def find_needed_texts(found: Iterable[LaneHit]) -> list[str]:
    """List ids for chunks that are needed, because their text is not in the hit's source."""
    chunks = [each.chunk for each in found if each.chunk]
    return [
        *(chunk.chunk_id for chunk in chunks if len(chunk.covers) > 1),
        *dict.fromkeys(chunk.parent_id for chunk in chunks if chunk.parent_id),
    ]


def to_matched_chunk(found: LaneHit, place: Place, texts: Texts) -> MatchedChunk:
    """Get the text that was matched, without whitespace around it.

    Args:
        found: Hit to present.
        place: Source of the hit.
        texts: Texts of the chunks from `find_needed_texts`.
    """
    chunk = found.chunk
    if chunk is not None and chunk.chunk_id in texts:
        return strip_chunk(texts[chunk.chunk_id])
    if chunk is None or len(chunk.covers) > 1:  # the chunk was deleted after retrieval, so return the source
        return strip_chunk(ChunkText(place.full_text, place.start, place.end, (place.source_id,)))
    part = place.full_text[chunk.offset : chunk.end_offset]
    start = place.start + chunk.offset
    return strip_chunk(ChunkText(part, start, start + len(part), chunk.covers))


def to_parent_chunk(found: LaneHit, texts: Texts) -> MatchedChunk | None:
    parent = texts.get(found.chunk.parent_id) if found.chunk and found.chunk.parent_id else None
    return strip_chunk(parent) if parent else None


def strip_chunk(part: ChunkText) -> MatchedChunk:
    """Remove whitespace around a chunk, and change the range."""
    start = part.start + len(part.text) - len(part.text.lstrip())
    text = part.text.strip()
    return MatchedChunk(text=text, start=start, end=start + len(text), source_ids=list(part.source_ids))


# Candidates and rankings


@dataclass(frozen=True, slots=True)
class Candidates:
    """Results from all retrievers."""

    lanes: Mapping[str, Sequence[LaneHit]] = field(default_factory=dict[str, Sequence[LaneHit]])
    """Results by retriever, best first. Each model has its own retriever (`vector:` and the space), because
    similarities
    of two models are not comparable.
    """
    cut: bool = False  # a retriever reached its limit, so more results may exist
    seeds: Sequence[Seed] = ()  # concepts that match the question
    fused: Sequence[Hit] | None = None
    """Fused hits, if the best were used to find more by concept."""
    carried: Sequence[LaneHit] = ()  # sources from the concept retriever, best first
    wording: Wording | None = None  # respelled query, if it differs from the plan's


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits to show, best first, and hits that were dropped."""

    hits: Sequence[Hit]
    lost: Sequence[Hit] = ()  # hits below the similarity threshold
    more: bool = False  # more hits may follow


# Retrievers, all in one round trip. To add a retriever, extend `list_lanes`.

Passages = NearestPassages | KeywordPassages | NearestPictures
"""Way to find sources: a lookup, and a function to convert its rows to hits."""
Lane = tuple[str, Passages]
"""Retriever, with its name and its lookup.

Results under the same name share a scale and form one list. Examples: both index slots of a space, and the
batches of a full-text search that filters by many documents.
"""


def list_lanes(plan: SearchPlan) -> Iterator[Lane]:
    """List the retrievers in a plan.

    For a hit from several retrievers, the first retriever provides the chunk.
    """
    request, sources = plan.request, plan.filters.sources
    for each in plan.scope.spaces if not plan.concepts_alone else ():
        known = plan.usable.get(each.space.slug)
        if known is not None and known.vector is not None:
            yield (
                f"{VECTOR}{each.space.slug}",
                NearestPassages(
                    known.vector,
                    each.space,
                    replace(each.filters, sources=sources),
                    plan.depth,
                    wanted=plan.depth if sources else request.limit,
                    exact=request.exact,
                    each_chunk=request.group_by == "chunk",
                    candidates=plan.count_candidates(each.filters),
                ),
            )
    yield from list_word_lanes(plan)
    for each in plan.pictured:
        if each.vector is not None:
            yield (
                f"{PICTURES}{each.space.slug}",
                NearestPictures(
                    each.vector,
                    each.space,
                    each.ontologies,
                    plan.filters.document_ids,
                    plan.depth,
                    plan.space_vectors,
                    sources,
                ),
            )


def list_word_lanes(plan: SearchPlan) -> Iterator[Lane]:
    """List the retrievers in a plan that use full text."""
    if plan.asks_text:
        asked, pairs, sources = plan.space_vectors, plan.wording.compared_pairs, plan.filters.sources
        for query in plan.wording.queries:
            yield (
                TEXT,
                KeywordPassages(
                    query, asked, plan.depth, pairs, plan.words_among, sources, plan.compared_by_words
                ),
            )


def merge(found: Iterable[tuple[str, LaneHits]]) -> dict[str, Sequence[LaneHit]]:
    """Merge the results by retriever. You can compare scores from both index slots in a space."""
    lanes: dict[str, Sequence[LaneHit]] = {}
    for name, hits in found:
        both = [*lanes.get(name, ()), *hits.found]
        best_first = sorted(both, key=lambda each: (-each.score, each.source.source_id))
        lanes[name] = best_first if name in lanes else hits.found
    return lanes


# Candidate names in a question: n-grams of words, or of characters in scripts without spaces

MAX_NAME_WORDS = 6
"""Maximum number of words in a name that may be a concept."""
MIN_NAME_CHARACTERS = 3
MAX_WORDS = 100
"""Number of words to use from the question, to find names."""
UNSPACED_NAME = range(2, 13)
"""Characters of a candidate name in a script without spaces. Foreign names keep the space from
`normalize_concept_name`."""
MAX_UNSPACED = 100
"""Number of characters to use from the question, to find names."""

_UNSPACED = regex.compile(rf"[{UNSPACED}ー]")
_RUN = regex.compile(rf"[{UNSPACED}ー]+(?: [{UNSPACED}ー]+)*")


def iterate_candidate_names(text: str) -> Iterator[str]:
    """Iterate over names in a question that may be concepts, the longest first.

    A name has up to 6 words, or up to 12 characters in a script without spaces.
    """
    words = normalize_concept_name(text).split()[:MAX_WORDS]
    yield from dict.fromkeys((*_list_spaced_names(words), *_list_unspaced_names(" ".join(words))))


def is_part_of_name(name: str, other: str) -> bool:
    """Check if a name is part of another name."""
    if name == other:
        return False
    return name in other if _UNSPACED.match(name) else f" {name} " in f" {other} "


def is_unspaced(text: str) -> bool:
    """Check if most letters are from scripts that do not use spaces."""
    letters = sum(map(str.isalpha, text))
    return 2 * len(_UNSPACED.findall(text)) > letters


def _list_spaced_names(words: Sequence[str]) -> Iterator[str]:
    for length in range(min(MAX_NAME_WORDS, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            name = " ".join(words[at : at + length])
            if len(name) >= MIN_NAME_CHARACTERS:
                yield name


def _list_unspaced_names(text: str) -> Iterator[str]:
    left = MAX_UNSPACED
    for found in _RUN.finditer(text):
        run = found[0][: max(left, 0)]
        left -= len(run)
        for length in reversed(UNSPACED_NAME):
            for at in range(len(run) - length + 1):
                name = run[at : at + length]
                if name == name.strip():
                    yield name


# Concept retriever: from the question and its best passages through concepts to further sources
#
# The answer may be in a passage that shares no keyword with the question: the best hit names a person, and
# another passage describes that person.
# The retriever starts with concepts that the question names or resembles, and with the concepts of the best
# hits.
# It adds semantically similar concepts, then follows appearances and one relationship.
# The weights spread as in Gutiérrez et al., HippoRAG, 2024, limited to one hop. ADR 23 contains the
# measurements.

NAMED = 1.0  # weight of a concept that the question names
PASSAGE = 2.0
"""Weight of the best hit. Each of its n concepts gets 2 / sqrt(n), so each of four concepts counts as a named
one."""
BEST_PASSAGES = 3
NEAREST = 5  # similar concepts per question
MAX_NAMED = 20
MAX_NAMES = 5000  # maximum name lookups over all ontologies
USUAL_WORDS = 2  # typical words per concept name (most have 1 to 3)
TOO_MANY = (
    "the question has too many words for this number of ontologies, so kg skipped some name matches. "
    "Shorten the question, or name ontologies"
)


class ConceptLane:
    """Retriever that uses concepts to find sources, based on results from the others."""

    def __init__(self, graph: Graph, snapshots: Snapshots) -> None:
        self._graph = graph
        self._snapshots = snapshots
        self._extraction = snapshots.get_progress("concept_extraction")
        self._embedding = snapshots.get_progress("concept_embedding")

    def retrieve(self, plan: SearchPlan, seeds: Sequence[Seed], best: Sequence[LaneHit]) -> list[LaneHit]:
        """Find up to `plan.depth` sources.

        Args:
            plan: Search scope and query vectors.
            seeds: Concepts of the question.
            best: Best hits of vectors and keywords. If empty, start from the seeds only. If only names count,
                hits are expanded only if the question names a concept.
        """
        if best and not seeds and _needs_names(plan):
            return []
        passages = [
            SeedPassage(found.source.source_id, PASSAGE / math.sqrt(rank))
            for rank, found in enumerate(best[:BEST_PASSAGES], start=1)
            if not plan.image  # concepts in the caption of another image do not help an image search
        ]
        within = Filters(plan.scope.names, plan.filters.document_ids, plan.filters.sources)
        near = [*self._list_nearness(plan)]
        asked = plan.space_vectors
        found = find_sources_by_concepts(
            self._graph, seeds, passages, within, asked, limit=plan.depth, nearness=near
        )
        plan.notes.record(
            "concepts", [] if found else describe_missing_concepts(self._graph, plan.scope.names)
        )
        return found

    def _list_nearness(self, plan: SearchPlan) -> Iterator[ConceptNearness]:
        """Yield the spaces that have concept vectors to use."""
        models = plan.scope.models
        waiting = self._snapshots.read_populating(*(space.concept_index_name for space in models))
        for space in models:
            if space.concept_index_name not in waiting:
                yield ConceptNearness(
                    space, plan.scope.ontologies[space.slug], get_min_neighbour_cosine(space)
                )

    def find_seeds(self, plan: SearchPlan) -> list[Seed]:
        """Find the concepts that are named in the question, or similar to it.

        Runs in parallel to the other retrievers. In a script without spaces or an unknown language, only
        named concepts count: a model that does not know the language finds all concepts similar (ADR 73). A
        concept-only search has no such limit.
        """
        meanings, names = list_meanings(plan), plan.scope.names
        told = [
            *describe_running_jobs(self._extraction.get(), names, EXTRACTION),
            *describe_running_jobs(self._embedding.get(), names, EMBEDDING),
            *(start_embedding(self._graph, plan.known, names) if meanings or plan.request.graph else ()),
        ]
        spaces = plan.scope.models if plan.request.graph else [each.space for each in meanings]
        waiting = self._snapshots.read_populating(*(space.concept_index_name for space in spaces))
        usable = [each for each in meanings if each.space.concept_index_name not in waiting]
        named = list(iterate_candidate_names(plan.text))
        weights = self._find_seeds(plan, named, usable)
        effects = [f"the index {name} is {state}: kg matched names only" for name, state in waiting.items()]
        if _report_too_many_words(named, names):
            effects.append(TOO_MANY)
        told += [Degradation(part="concepts", effect=effect) for effect in effects]
        plan.notes.record("seeds", told)
        return [Seed(*each) for each in weights.items() if each[1] > 0]

    def _find_seeds(
        self, plan: SearchPlan, names: Sequence[str], meanings: Sequence[Meaning]
    ) -> dict[str, float]:
        """Find weights for concepts that are named or similar, by concept id."""
        ids = list(_list_name_ids(names, plan.scope.names))
        only_names = _needs_names(plan)
        asked = () if only_names and not plan.concepts_alone else meanings
        lookups = [
            build_name_lookup(ids, [], MAX_NAMED),
            *(build_vector_lookup(each, NEAREST) for each in asked),
        ]
        found, *nearest = look_up_concepts(self._graph, lookups)
        named = {each.concept.concept_id: NAMED for each in _keep_longest(found)}
        if only_names and named:
            return named
        near = {
            hit.concept.concept_id: _to_weight(hit, each.space.calibration or USUAL)
            for each, hits in zip(asked, nearest, strict=True)
            for hit in hits
        }
        return near | named


def _needs_names(plan: SearchPlan) -> bool:
    """Check if only names lead to concepts, because no model knows the language of the question."""
    language, models = plan.wording.language, [space.identity.model for space in plan.scope.models]
    is_unknown = language is not None and not any(knows_language(model, language) for model in models)
    return is_unspaced(plan.text) or is_unknown


def _report_too_many_words(names: Sequence[str], ontologies: Sequence[str]) -> bool:
    return len(names) * len(ontologies) > MAX_NAMES


def _list_name_ids(names: Sequence[str], ontologies: Sequence[str]) -> Iterator[str]:
    """Yield the id of each name in each ontology.

    Above the limit, names of a typical length come first, with the same selection for each ontology.
    """
    if _report_too_many_words(names, ontologies):
        names = sorted(names, key=lambda name: abs(len(name.split()) - USUAL_WORDS))
    each = ((name, ontology) for name in names for ontology in ontologies)
    return (build_name_id(ontology, name) for name, ontology in islice(each, MAX_NAMES))


def _keep_longest(named: Sequence[ConceptLaneHit]) -> Iterator[ConceptLaneHit]:
    """Yield concepts that have a name which is not part of another name."""
    labels = [normalize_concept_name(each.concept.label) for each in named]
    for each, own in zip(named, labels, strict=True):
        if not any(is_part_of_name(own, other) for other in labels):
            yield each


def list_meanings(plan: SearchPlan) -> list[Meaning]:
    """List vectors for the question, with the ontologies to compare."""
    return [
        Meaning(vector.space, vector.vector, plan.scope.ontologies[vector.space.slug])
        for vector in plan.vectors
        if vector.vector is not None
    ]


def _to_weight(near: ConceptLaneHit, calibration: SimilarityCalibration) -> float:
    """Convert a similarity to a weight from 0 (between unrelated and related texts) to `NAMED`."""
    return min(max(((near.similarity or 0) - calibration.middle) / (2 * calibration.gap), 0), NAMED)


# Spelling: search for similar words if no text contains a word of the question
#
# The check for unknown words is part of the retrieval request. Known words are cached, because most questions
# contain only known words.

MAX_RETRIED = 5
"""Maximum number of words to correct in a question. Each needs about six fuzzy clauses."""
MAX_KNOWN = 100_000
KNOWN_SECONDS = 3600.0
"""Time to cache a known word. Until then, there is no suggestion if it is deleted."""


class KnownWords:
    """Cache for words that are known to be in the texts, by search scope. Thread-safe."""

    def __init__(self) -> None:
        self._known = TTLCache[tuple[Hashable, ...], bool](MAX_KNOWN, KNOWN_SECONDS)
        self._lock = threading.Lock()

    def list_doubted(self, wording: Wording) -> list[str]:
        """List words that may be misspelled. Words that are known from the cache are omitted."""
        where = self._find_scopes(wording)
        with self._lock:
            return [word for word in wording.watched if (where, word) not in self._known]

    def remember(self, wording: Wording, words: Iterable[str]) -> None:
        where = self._find_scopes(wording)
        with self._lock:
            self._known.update({(where, word): True for word in words})

    def _find_scopes(self, wording: Wording) -> Hashable:
        names, ids = wording.ontologies, wording.document_ids
        return None if names is None else tuple(names), None if ids is None else hash(tuple(ids))


def respell(graph: Graph, wording: Wording, missing: Sequence[str]) -> Wording:
    """Add words that are similar to missing words. If there are none, this does not change the wording."""
    missing = missing[:MAX_RETRIED]
    texts = find_texts_with_similar_words(
        graph, {word: wording.list_similar_word_queries(word) for word in missing}
    )
    respelt, room = list[Respelling](), wording.room
    for word in missing:
        meant = suggest_words(word, texts.get(word, ()))
        room -= len(meant)
        if meant and room >= 0:  # the answer reports only corrections that were searched
            respelt.append(Respelling(word=word, meant=meant))
    return replace(wording, respelt=tuple(respelt))


# Orchestration

THREADS = 16


Fuse = Callable[[SearchPlan, Candidates], Sequence[Hit]]
"""Fuses results from all retrievers to one order, best first."""


class Retriever:
    """Runs the retrievers in the caller's thread. Concepts are looked up in parallel."""

    def __init__(self, graph: Graph, snapshots: Snapshots, fuse: Fuse) -> None:
        self._graph = graph
        self._fuse = fuse
        self._concepts = ConceptLane(graph, snapshots)
        self._progress = snapshots.get_progress()
        self._words = KnownWords()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="seeds")

    def close(self) -> None:
        self._pool.shutdown()

    def retrieve(self, plan: SearchPlan, before: Candidates | None = None) -> Candidates:
        """Run all retrievers, to get up to `plan.depth` results from each.

        `before` is the result of a previous, shallower retrieval.

        Raises:
            Unavailable: No requested retriever is available.
        """
        seeds = self._start_seeds(plan, before) if plan.request.follows_concepts else None
        if before is not None and before.wording is not None:
            plan = plan.with_wording(before.wording)
        candidates = self._run_lanes(plan, respelt=before is not None)
        if before is not None:  # keep the wording for deeper retrievals
            candidates = replace(candidates, wording=before.wording)
        if not plan.concepts_alone:
            plan.notes.record("lanes", self._list_degradations(plan, candidates))
        return candidates if seeds is None else self._follow(plan, candidates, seeds())

    def _start_seeds(self, plan: SearchPlan, before: Candidates | None) -> Callable[[], Sequence[Seed]]:
        """Look up concepts for the question in the background. This is only done once."""
        if before is not None:
            return lambda: before.seeds
        return self._pool.submit(copy_context().run, self._concepts.find_seeds, plan).result

    def _run_lanes(self, plan: SearchPlan, *, respelt: bool) -> Candidates:
        """Run all retrievers in one request.

        If words are unknown, repeat the full-text search with corrections.
        """
        lanes, wording = [*list_lanes(plan)], plan.wording
        if not lanes and not plan.concepts_alone and not plan.asks_text:
            raise Unavailable("the search indexes are still being populated. Try again in a moment")
        looks = not respelt and wording.room > 0 and any(name == TEXT for name, _ in lanes)
        doubted = self._words.list_doubted(wording) if looks else []
        with plan.watch.stage("retrieve"):
            found, known = self._ask(lanes, {word: wording.list_word_queries(word) for word in doubted})
        if not doubted:
            return _build_candidates(plan, found)
        self._words.remember(wording, known)
        with plan.watch.stage("spelling"):
            missing = [word for word in doubted if word not in known]
            wording = respell(self._graph, wording, missing) if missing else wording
            if not wording.respelt:
                return _build_candidates(plan, found)
            # Repeat only the full-text search and keep the other results
            plan.notes.respelt = [*wording.respelt]
            others = [each for each in found if each[0] != TEXT]
            again, _ = self._ask([*list_word_lanes(plan.with_wording(wording))])
            return replace(_build_candidates(plan, [*others, *again]), wording=wording)

    def _ask(
        self, lanes: Sequence[Lane], doubted: Mapping[str, Sequence[str]] | None = None
    ) -> tuple[list[tuple[str, LaneHits]], Sequence[str]]:
        """Run the retrievers, and check which words in `doubted` are known, in one round trip."""
        lookups = [passages.lookup for _, passages in lanes]
        rows = self._graph.look_up([*lookups, build_word_lookup(doubted)] if doubted else lookups)
        both = zip(lanes, rows, strict=False)  # known words are in the last row
        found = [(name, passages.hits(self._graph, row)) for (name, passages), row in both]
        return found, rows[-1] if doubted else ()

    def _follow(self, plan: SearchPlan, candidates: Candidates, seeds: Sequence[Seed]) -> Candidates:
        """Add sources that can be reached from the question and the best hits, using concepts."""
        fused = self._fuse(plan, candidates)
        with plan.watch.stage("concepts"):
            carried = self._concepts.retrieve(plan, seeds, [hit.found for hit in fused])
        cut = candidates.cut or (plan.concepts_alone and len(carried) >= plan.depth)
        return replace(candidates, cut=cut, seeds=seeds, fused=fused, carried=carried)

    def _list_degradations(self, plan: SearchPlan, candidates: Candidates) -> Iterator[Degradation]:
        """Yield what was not possible in this retrieval."""
        for each in plan.notes.respelt:
            meant = " and ".join(map(repr, each.meant))
            effect = f"no text has {each.word!r}: searched for {meant} as well"
            yield Degradation(part="spelling", effect=effect)
        words = candidates.lanes.get(TEXT)
        missing = sum(found.without_vector for found in words or ())
        if missing and plan.usable:
            of_words = f"{missing} of the passages found by words have no vector yet"
            effect = f"{of_words}: they are found by full text only"
            yield Degradation(part="vectors", effect=effect)
        if words is None:  # full-text hits already report missing vectors
            within = {name for each in plan.scope.spaces for name in each.filters.ontologies or ()}
            progress = self._progress.get()
            pending = "are not found by vector search yet"
            yield from describe_embedding_progress(progress, within or progress, pending)


def _build_candidates(plan: SearchPlan, found: Sequence[tuple[str, LaneHits]]) -> Candidates:
    merged = merge(found)
    if plan.asks_text:
        merged.setdefault(TEXT, ())  # report an empty full-text result for a question without words
    return Candidates(merged, any(each.cut for _, each in found))
