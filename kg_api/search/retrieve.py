"""Retrieving: all lanes in one request to Neo4j, concepts after them, and other spellings."""

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

from kg_api.concepts.search import EMBEDDING, EXTRACTION, none_yet, start_embedding, under_way
from kg_api.errors import Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import least_near
from kg_api.graph.search import (
    ChunkText,
    ConceptLaneHit,
    ConceptNearness,
    Filters,
    LaneHit,
    LaneHits,
    Meaning,
    NearestPassages,
    Seed,
    SeedPassage,
    WordedPassages,
    by_concepts,
    by_name,
    look_up_concepts,
    lookup_by_vector,
    lookup_known_words,
    texts_near,
)
from kg_api.graph.similar import NearestPictures
from kg_api.graph.text_analysis import meant_by
from kg_api.schemas.base import concept_name, name_id
from kg_api.schemas.search import Degradation, MatchedChunk, Place, Ranks, Respelling
from kg_api.schemas.spaces import USUAL, SimilarityCalibration
from kg_api.schemas.vocabulary import GroupBy
from kg_api.search.plan import SearchPlan, Wording
from kg_api.spaces.snapshot import Snapshots
from kg_api.suggestions import UNSPACED

# Hits: what lanes find, what brought it to its place, and what it says. Pure.

TEXT = "text"
VECTOR = "vector:"
CONCEPTS = "concepts"
PICTURES = "pictures:"

Texts = Mapping[str, ChunkText]
"""What chunks say, by their ids."""


class LaneContribution(NamedTuple):
    """What a lane adds to a fused score."""

    lane: str
    rank: int | None
    """From 1; none where the lane did not find it by itself."""
    score: float
    weight: float
    contribution: float


class Hit(NamedTuple):
    """Something that was found, with all that brought it to its place."""

    found: LaneHit
    identity: str
    score: float
    """What the hits are ordered by at the moment."""
    parts: tuple[LaneContribution, ...] = ()
    fused_rank: int = 0
    fused_score: float = 0.0
    rerank_score: float | None = None
    rerank_rank: int | None = None
    mmr_score: float | None = None
    mmr_rank: int | None = None
    duplicates: tuple[str, ...] = ()
    passage_rank: int | None = None
    """Among what vectors and words found, before concepts came in."""

    @property
    def ranks(self) -> Ranks:
        """A source is in one ontology and so in one space: one vector lane at most has it."""
        ranks = {part.lane: part.rank for part in self.parts}
        vector = [rank for lane, rank in ranks.items() if lane.startswith(VECTOR) and rank is not None]
        seen = [rank for lane, rank in ranks.items() if lane.startswith(PICTURES) and rank is not None]
        return Ranks(
            vector=min(vector, default=None),
            text=ranks.get(TEXT),
            concepts=ranks.get(CONCEPTS),
            pictures=min(seen, default=None),
        )


def below(least: float, hits: Iterable[Hit]) -> list[Hit]:
    """Hits in their order, with scores below one."""
    return [hit._replace(score=least - number * 1e-6) for number, hit in enumerate(hits, start=1)]


def identity_of(found: LaneHit, group_by: GroupBy = "source") -> str:
    """What makes two findings one hit: the source, or the chunk."""
    return found.chunk.chunk_id if group_by == "chunk" and found.chunk else found.source.source_id


def find_needed_texts(found: Iterable[LaneHit]) -> list[str]:
    """Ids of chunks whose text is not in their hit's source alone."""
    chunks = [each.chunk for each in found if each.chunk]
    return [
        *(chunk.chunk_id for chunk in chunks if len(chunk.covers) > 1),
        *dict.fromkeys(chunk.parent_id for chunk in chunks if chunk.parent_id),
    ]


def to_matched_chunk(found: LaneHit, place: Place, texts: Texts) -> MatchedChunk:
    """The matched part, without the blanks around it.

    Args:
        found: what matched.
        place: its source.
        texts: what the chunks named by `find_needed_texts` say.
    """
    chunk = found.chunk
    if chunk is not None and chunk.chunk_id in texts:
        return strip_chunk(texts[chunk.chunk_id])
    if chunk is None or len(chunk.covers) > 1:  # it has gone since it was found: what is left is the source
        return strip_chunk(ChunkText(place.full_text, place.start, place.end, (place.source_id,)))
    part = place.full_text[chunk.offset : chunk.end_offset]
    start = place.start + chunk.offset
    return strip_chunk(ChunkText(part, start, start + len(part), chunk.covers))


def to_parent_chunk(found: LaneHit, texts: Texts) -> MatchedChunk | None:
    """The larger part, where there is one."""
    parent = texts.get(found.chunk.parent_id) if found.chunk and found.chunk.parent_id else None
    return strip_chunk(parent) if parent else None


def strip_chunk(part: ChunkText) -> MatchedChunk:
    """As it is given, without the blanks around it."""
    start = part.start + len(part.text) - len(part.text.lstrip())
    text = part.text.strip()
    return MatchedChunk(text=text, start=start, end=start + len(text), source_ids=list(part.source_ids))


# What the lanes of a search found, and that in an order.


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was found, by lane."""

    lanes: Mapping[str, Sequence[LaneHit]] = field(default_factory=dict[str, Sequence[LaneHit]])
    """Those that were asked, by name, each with the best first. Similarities of two models cannot be
    compared, so each model has a lane: `vector:` and its space."""
    cut: bool = False
    """Whether a lane was asked for as many as it gave: there may be more."""
    seeds: Sequence[Seed] = ()
    """The question's own concepts."""
    fused: Sequence[Hit] | None = None
    """All that the lanes found in one order, where concepts go on from the best of it."""
    carried: Sequence[LaneHit] = ()
    """What they led to, the best first."""
    wording: Wording | None = None
    """The words that were looked for in the end, where they are not the plan's."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits, the best first, and what is said of those that are not among them."""

    hits: Sequence[Hit]
    lost: Sequence[Hit] = ()
    """Those that are not similar enough."""
    more: bool = False
    """Whether there may be others behind them."""


# The lanes of a search, all in one round trip. A further lane is one line in `lanes_of`.

Passages = NearestPassages | WordedPassages | NearestPictures
"""One way to find sources: what it looks up, and which hits that gives, for which it may look up more."""
Lane = tuple[str, Passages]
"""What is found in one way, and what its hits are ranked as.

Lanes of one name have one measure, and are one list: both slots of a space, and the words of several queries
where the filters name very many documents.
"""


def lanes_of(plan: SearchPlan) -> Iterator[Lane]:
    """Those that a plan asks; what the first ones say of a hit is preferred."""
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
                    candidates=plan.candidates(each.filters),
                ),
            )
    yield from word_lanes(plan)
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


def word_lanes(plan: SearchPlan) -> Iterator[Lane]:
    """Those of words alone."""
    if plan.asks_text:
        asked, pairs, sources = plan.space_vectors, plan.wording.compared_pairs, plan.filters.sources
        for query in plan.full_text:
            yield TEXT, WordedPassages(query, asked, plan.depth, pairs, plan.words_among, sources)


def merge(found: Iterable[tuple[str, LaneHits]]) -> dict[str, Sequence[LaneHit]]:
    """One list a name: what was found in both slots of a space is compared, for the measure is the same."""
    lanes: dict[str, Sequence[LaneHit]] = {}
    for name, hits in found:
        both = [*lanes.get(name, ()), *hits.found]
        best_first = sorted(both, key=lambda each: (-each.score, each.source.source_id))
        lanes[name] = best_first if name in lanes else hits.found
    return lanes


# What a question may name: words in a row, and of scripts without spaces characters in a row. Pure.

MAX_NAME_WORDS = 6
"""Words of a name that is looked for in the question."""
MIN_NAME_CHARACTERS = 3
MAX_WORDS = 100
"""Words of the question whose combinations are looked up as names."""
UNSPACED_NAME = range(2, 13)
"""Characters of a name that is written without spaces; foreign names have one where concept_name puts it."""
MAX_UNSPACED = 100
"""Characters of the question whose combinations are looked up."""

_UNSPACED = regex.compile(rf"[{UNSPACED}ー]")
_RUN = regex.compile(rf"[{UNSPACED}ー]+(?: [{UNSPACED}ー]+)*")


def names_in(text: str) -> Iterator[str]:
    """What may be the name of a concept in a question: up to six words in a row, the longest first.

    Of scripts without spaces up to twelve characters in a row; each name once.
    """
    words = concept_name(text).split()[:MAX_WORDS]
    yield from dict.fromkeys((*_spaced_names(words), *_unspaced_names(" ".join(words))))


def is_named_within(name: str, other: str) -> bool:
    """Whether a folded name is a part of another one, and no other one itself."""
    if name == other:
        return False
    return name in other if _UNSPACED.match(name) else f" {name} " in f" {other} "


def is_unspaced(text: str) -> bool:
    """Whether most of a text's letters are of scripts without spaces."""
    letters = sum(map(str.isalpha, text))
    return 2 * len(_UNSPACED.findall(text)) > letters


def _spaced_names(words: Sequence[str]) -> Iterator[str]:
    for length in range(min(MAX_NAME_WORDS, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            name = " ".join(words[at : at + length])
            if len(name) >= MIN_NAME_CHARACTERS:
                yield name


def _unspaced_names(text: str) -> Iterator[str]:
    left = MAX_UNSPACED
    for found in _RUN.finditer(text):
        run = found[0][: max(left, 0)]
        left -= len(run)
        for length in reversed(UNSPACED_NAME):
            for at in range(len(run) - length + 1):
                name = run[at : at + length]
                if name == name.strip():
                    yield name


# The lane of concepts: from the question and its best passages over concepts to further sources.
#
# What a question needs may stand in a passage that says nothing of the question's words: the best hit names
# somebody, and another passage says who that is. The lane begins with the concepts that the question names or
# is near to, and with those of the best hits, goes on to what is near to these in meaning, and follows
# appearances and one relationship (ADR 23 has the measurements; the spreading of weight is
# that of
# Gutiérrez et al., HippoRAG, 2024, cut off after one hop).

NAMED = 1.0
"""Weight of a concept that the question names."""
PASSAGE = 2.0
"""Weight of the best hit, shared among its concepts by the root of their number: each of four counts as
a named one."""
BEST_PASSAGES = 3
NEAREST = 5
"""Concepts near to the question in meaning."""
MAX_NAMED = 20
MAX_NAMES = 5000
"""Names that are looked up, of all ontologies together."""
USUAL_WORDS = 2
"""Most names of concepts have one to three."""
TOO_MANY = (
    "the question has too many words for so many ontologies: some of what it may name was not looked for by "
    "name; ask a shorter one, or name ontologies"
)


class ConceptLane:
    """Finds sources through concepts: it goes on from what the other lanes found."""

    def __init__(self, graph: Graph, snapshots: Snapshots) -> None:
        self._graph = graph
        self._snapshots = snapshots
        self._extraction = snapshots.progress("concept_extraction")
        self._embedding = snapshots.progress("concept_embedding")

    def retrieve(self, plan: SearchPlan, seeds: Sequence[Seed], best: Sequence[LaneHit]) -> list[LaneHit]:
        """Find as many sources as the plan is deep.

        Args:
            plan: where to look, and the question's vectors.
            seeds: the concepts of the question.
            best: what vectors and words found, the best first; empty: from the question's own concepts. They
                lead on from a question without spaces only if it names a concept itself.
        """
        if best and not seeds and is_unspaced(plan.text):
            return []
        passages = [
            SeedPassage(found.source.source_id, PASSAGE / math.sqrt(rank))
            for rank, found in enumerate(best[:BEST_PASSAGES], start=1)
            if not plan.image  # nobody looks for the picture of what another picture's words mention
        ]
        within = Filters(plan.scope.names, plan.filters.document_ids, plan.filters.sources)
        near = [*self._nearness(plan)]
        asked = plan.space_vectors
        found = by_concepts(self._graph, seeds, passages, within, asked, limit=plan.depth, nearness=near)
        plan.notes.record("concepts", [] if found else none_yet(self._graph, plan.scope.names))
        return found

    def _nearness(self, plan: SearchPlan) -> Iterator[ConceptNearness]:
        """Whose vectors tell what is near to the concepts that the walk begins with."""
        models = plan.scope.models
        waiting = self._snapshots.populating(*(space.concept_index_name for space in models))
        for space in models:
            if space.concept_index_name not in waiting:
                yield ConceptNearness(space, plan.scope.ontologies[space.slug], least_near(space))

    def seeds(self, plan: SearchPlan) -> list[Seed]:
        """The concepts that the question names or is near to; asked beside the other lanes.

        One without spaces goes by those that it names: to a model that does not know its language, as the
        default one, all concepts are near (ADR 73). Where concepts alone are asked, it may name none.
        """
        meanings, names = meanings_of(plan), plan.scope.names
        told = [
            *under_way(self._extraction.recent(), names, EXTRACTION),
            *under_way(self._embedding.recent(), names, EMBEDDING),
            *(start_embedding(self._graph, plan.known, names) if meanings or plan.request.graph else ()),
        ]
        spaces = plan.scope.models if plan.request.graph else [each.space for each in meanings]
        waiting = self._snapshots.populating(*(space.concept_index_name for space in spaces))
        usable = [each for each in meanings if each.space.concept_index_name not in waiting]
        named = list(names_in(plan.text))
        weights = self._find_seeds(plan, named, usable)
        effects = [f"the index {name} is {state}: looked for by name only" for name, state in waiting.items()]
        if _too_many(named, names):
            effects.append(TOO_MANY)
        told += [Degradation(part="concepts", effect=effect) for effect in effects]
        plan.notes.record("seeds", told)
        return [Seed(*each) for each in weights.items() if each[1] > 0]

    def _find_seeds(
        self, plan: SearchPlan, names: Sequence[str], meanings: Sequence[Meaning]
    ) -> dict[str, float]:
        """By id, the weights of what the question may call by these names, and of what is near to it."""
        ids = list(_name_ids(names, plan.scope.names))
        unspaced = is_unspaced(plan.text)
        asked = () if unspaced and not plan.concepts_alone else meanings
        lookups = [by_name(ids, [], MAX_NAMED), *(lookup_by_vector(each, NEAREST) for each in asked)]
        found, *nearest = look_up_concepts(self._graph, lookups)
        named = {each.concept.concept_id: NAMED for each in _longest(found)}
        if unspaced and named:
            return named
        near = {
            hit.concept.concept_id: _weight(hit, each.space.calibration or USUAL)
            for each, hits in zip(asked, nearest, strict=True)
            for hit in hits
        }
        return near | named


def _too_many(names: Sequence[str], ontologies: Sequence[str]) -> bool:
    return len(names) * len(ontologies) > MAX_NAMES


def _name_ids(names: Sequence[str], ontologies: Sequence[str]) -> Iterator[str]:
    """Of each name in each ontology; of too many those that most concepts are called by, alike everywhere."""
    if _too_many(names, ontologies):
        names = sorted(names, key=lambda name: abs(len(name.split()) - USUAL_WORDS))
    each = ((name, ontology) for name in names for ontology in ontologies)
    return (name_id(ontology, name) for name, ontology in islice(each, MAX_NAMES))


def _longest(named: Sequence[ConceptLaneHit]) -> Iterator[ConceptLaneHit]:
    """Without those whose name stands within that of another."""
    labels = [concept_name(each.concept.label) for each in named]
    for each, own in zip(named, labels, strict=True):
        if not any(is_named_within(own, other) for other in labels):
            yield each


def meanings_of(plan: SearchPlan) -> list[Meaning]:
    """The question's vectors with the ontologies whose concepts they are compared with."""
    return [
        Meaning(vector.space, vector.vector, plan.scope.ontologies[vector.space.slug])
        for vector in plan.vectors
        if vector.vector is not None
    ]


def _weight(near: ConceptLaneHit, calibration: SimilarityCalibration) -> float:
    """From 0 for what is as far as unrelated texts are from related ones, half way; at most a named one's."""
    return min(max(((near.similarity or 0) - calibration.middle) / (2 * calibration.gap), 0), NAMED)


# Words of a question that no text has: those that may be meant are looked for as well, and it is said.
#
# Whether a text has a word is asked along with the lanes, and remembered: most questions are of known words.

MAX_RETRIED = 5
"""Words of one question that are looked for otherwise; each costs half a dozen fuzzy clauses."""
MAX_KNOWN = 100_000
KNOWN_SECONDS = 60.0
"""For so long a word is taken for known; of one that has gone meanwhile no other is suggested."""


class KnownWords:
    """Remembers which words texts have, by where a search looks. Thread-safe."""

    def __init__(self) -> None:
        self._known = TTLCache[tuple[Hashable, ...], bool](MAX_KNOWN, KNOWN_SECONDS)
        self._lock = threading.Lock()

    def doubted(self, wording: Wording) -> list[str]:
        """Words that may be misspelt and of which it is not known that a text has them."""
        where = self._where(wording)
        with self._lock:
            return [word for word in wording.watched if (where, word) not in self._known]

    def remember(self, wording: Wording, words: Iterable[str]) -> None:
        where = self._where(wording)
        with self._lock:
            self._known.update({(where, word): True for word in words})

    def _where(self, wording: Wording) -> Hashable:
        names, ids = wording.ontologies, wording.document_ids
        return None if names is None else tuple(names), None if ids is None else hash(tuple(ids))


def respell(graph: Graph, wording: Wording, missing: Sequence[str]) -> Wording:
    """With what may be meant by words that no text has; the same where nothing may be."""
    missing = missing[:MAX_RETRIED]
    texts = texts_near(graph, {word: wording.queries_near(word) for word in missing})
    respelt, room = list[Respelling](), wording.room
    for word in missing:
        meant = meant_by(word, texts.get(word, ()))
        room -= len(meant)
        if meant and room >= 0:  # no answer tells of what is not asked for
            respelt.append(Respelling(word=word, meant=meant))
    return replace(wording, respelt=tuple(respelt))


# Retrieving: the lanes, then what goes on from their best hits.

THREADS = 16
MAX_TOLD = 10


Fuse = Callable[[SearchPlan, Candidates], Sequence[Hit]]
"""Brings what the lanes found into one order, the best first."""


class Retriever:
    """Asks the lanes, in the caller's thread; the question's own concepts beside them."""

    def __init__(self, graph: Graph, snapshots: Snapshots, fuse: Fuse) -> None:
        self._graph = graph
        self._fuse = fuse
        self._concepts = ConceptLane(graph, snapshots)
        self._progress = snapshots.progress()
        self._words = KnownWords()
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
        lanes, wording = [*lanes_of(plan)], plan.wording
        if not lanes and not plan.concepts_alone and not plan.asks_text:
            raise Unavailable("the search indexes are still being filled; try again in a moment")
        looks = not respelt and wording.room > 0 and any(name == TEXT for name, _ in lanes)
        doubted = self._words.doubted(wording) if looks else []
        with plan.watch.stage("retrieve"):
            found, known = self._ask(lanes, {word: wording.queries_for(word) for word in doubted})
        if not doubted:
            return _candidates(plan, found)
        self._words.remember(wording, known)
        with plan.watch.stage("spelling"):
            missing = [word for word in doubted if word not in known]
            wording = respell(self._graph, wording, missing) if missing else wording
            if not wording.respelt:
                return _candidates(plan, found)
            # The lane of words once more where what may be meant is found, and the others as they are
            plan.notes.respelt = [*wording.respelt]
            others = [each for each in found if each[0] != TEXT]
            again, _ = self._ask([*word_lanes(plan.worded(wording))])
            return replace(_candidates(plan, [*others, *again]), wording=wording)

    def _ask(
        self, lanes: Sequence[Lane], doubted: Mapping[str, Sequence[str]] | None = None
    ) -> tuple[list[tuple[str, LaneHits]], Sequence[str]]:
        """What lanes find, and which of some words a text has, in one round trip."""
        lookups = [passages.lookup for _, passages in lanes]
        rows = self._graph.look_up([*lookups, lookup_known_words(doubted)] if doubted else lookups)
        both = zip(lanes, rows, strict=False)  # what is known of words comes last
        found = [(name, passages.hits(self._graph, row)) for (name, passages), row in both]
        return found, rows[-1] if doubted else ()

    def _follow(self, plan: SearchPlan, candidates: Candidates, seeds: Sequence[Seed]) -> Candidates:
        """With what concepts lead to from the question and from the best hits."""
        fused = self._fuse(plan, candidates)
        with plan.watch.stage("concepts"):
            carried = self._concepts.retrieve(plan, seeds, [hit.found for hit in fused])
        cut = candidates.cut or (plan.concepts_alone and len(carried) >= plan.depth)
        return replace(candidates, cut=cut, seeds=seeds, fused=fused, carried=carried)

    def _degradations(self, plan: SearchPlan, candidates: Candidates) -> Iterator[Degradation]:
        """What the lanes cannot find."""
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
        if words is None:  # else they tell it by what they find
            yield from self._under_way(plan)

    def _under_way(self, plan: SearchPlan) -> Iterator[Degradation]:
        within = {name for each in plan.scope.spaces for name in each.filters.ontologies or ()}
        progress = {name: at for name, at in self._progress.recent().items() if not within or name in within}
        for name, at in list(progress.items())[:MAX_TOLD]:
            far = f"{at.done} of {at.total} sources"
            effect = f"{name}: embedding is under way ({far}); what is not embedded is not found by meaning"
            yield Degradation(part="vectors", effect=effect)


def _candidates(plan: SearchPlan, found: Sequence[tuple[str, LaneHits]]) -> Candidates:
    merged = merge(found)
    if plan.asks_text:
        merged.setdefault(TEXT, ())  # a question without a word finds nothing by words, and has looked
    return Candidates(merged, any(each.cut for _, each in found))
