"""The retrievers of a search: vectors, full text and concepts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
from cachetools import TTLCache, cached
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.client import Graph, Lookup, Row, without_deleted
from kg_api.graph.concept_vectors import near_property
from kg_api.graph.concepts import IMPORTED
from kg_api.graph.filters import SourceFilter, keep_fitting
from kg_api.graph.spaces import Space
from kg_api.schemas.concepts import Concept
from kg_api.schemas.search import CarriedConcept
from kg_api.schemas.spaces import FIRST_SLUG

MAX_CHUNKS = 1000
TEXT_INDEX = "source_words"


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """Where in its first source a chunk begins and in its last one it ends, in code points."""

    chunk_id: str
    offset: int
    end_offset: int
    covers: tuple[str, ...]
    """The sources that it covers, in reading order."""
    parent_id: str | None
    """The chunk that is read in its place."""


class FoundSource(NamedTuple):
    """Which source was found: as much as it takes to bring what was found into an order."""

    source_id: str
    ontology: str
    document_id: str


class LaneHit(NamedTuple):
    """What one lane found. The lane's list is in its own order, the best first.

    A search makes a hundred: as frozen dataclasses they and what is made of them took half a millisecond.
    """

    source: FoundSource
    similarity: float | None
    score: float
    """The lane's own measure."""
    chunk: FoundChunk | None = None
    """The part that matched; none: the whole source."""
    without_vector: bool = False
    """Found by words, and has no vector that the question's could be compared with."""
    through: tuple[CarriedConcept, ...] = ()
    """The concepts that led to it."""


@dataclass(frozen=True, slots=True)
class LaneHits:
    """What one lane found, the best first."""

    found: list[LaneHit]
    cut: bool
    """Whether there may be more behind them."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Where to look; None: everywhere."""

    ontologies: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None
    sources: SourceFilter = field(default_factory=SourceFilter)
    """Which of their sources."""

    @property
    def image(self) -> bool | None:
        """Only images, or only passages; None: both."""
        return self.sources.image

    def scope(self) -> Row:
        """Return the parameters of statements; null: everywhere."""
        return {
            "ontologies": None if self.ontologies is None else list(self.ontologies),
            "document_ids": None if self.document_ids is None else list(self.document_ids),
            **self.sources.parameters(),
        }


@dataclass(frozen=True, slots=True)
class SpaceVectors:
    """The question's vector in each space that is searched, and which ontologies are not in the first one."""

    vectors: Mapping[str, NDArray[np.float32]]
    properties: Mapping[str, str]
    spaces: Mapping[str, str]
    parents: bool = False
    """Whether an ontology that is searched has chunks with parents."""

    def parameters(self) -> dict[str, Any]:
        return {
            "vectors": {slug: Vector.from_numpy(vector) for slug, vector in self.vectors.items()},
            "properties": dict(self.properties),
            "spaces": dict(self.spaces),
        }


@dataclass(frozen=True, slots=True)
class ChunkText:
    """What a chunk says, and where in its document."""

    text: str
    start: int
    end: int
    source_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearestPassages:
    """The passages nearest to a vector of a space; the filter runs inside the index."""

    vector: NDArray[np.float32]
    space: Space
    filters: Filters
    limit: int
    """Chunks to fetch; where many are of the same sources it is raised, up to 1,000."""
    wanted: int = 0
    """Sources to find, if there are so many."""
    exact: bool = False
    """Compare every vector, instead of asking the index."""
    each_chunk: bool = False
    """Give each chunk, not only the best one of each source and parent."""
    candidates: int = 0
    """Chunks that the index is asked for, of which the nearest are fetched, if that is more."""

    @property
    def lookup(self) -> Lookup:
        return self._lookup(self._first, compares=self._compares)

    @property
    def _compares(self) -> bool:
        """Whether each vector is compared, instead of those that the index returns."""
        return self.exact or bool(self.filters.image)

    @property
    def _first(self) -> int:
        """How many chunks to fetch at first; of all that the index returns, few may fit conditions."""
        takes_all = not self.filters.image and (self.exact or self.filters.sources.fits)
        return MAX_CHUNKS if takes_all else self.limit

    def hits(self, graph: Graph, found: Any) -> LaneHits:
        """Return what was found, and look further if that is of too few sources.

        If what fits is behind all that the index returns, each fitting vector is compared.
        """
        limit, compares = self._first, self._compares
        while True:
            parents: dict[str, str] = dict(found["parents"])
            every = [_to_passage(row, parents) for row in found["passages"]]
            every.sort(key=lambda hit: (-hit.score, hit.source, hit.chunk.offset if hit.chunk else 0))
            hits = self._fitting(graph, every) if self.filters.sources else every
            if not self.each_chunk:
                hits = _best_of_each(hits)
            if len(hits) >= self.wanted or len(every) < limit or (limit >= MAX_CHUNKS and compares):
                return LaneHits(hits, cut=len(every) >= limit)
            if limit < MAX_CHUNKS:
                limit = min(MAX_CHUNKS, 4 * limit)
            elif self.filters.sources:
                compares = True
            else:
                return LaneHits(hits, cut=True)
            (found,) = graph.look_up([self._lookup(limit, compares=compares)])

    def _fitting(self, graph: Graph, hits: Sequence[LaneHit]) -> list[LaneHit]:
        """Return what fits: each chunk by the first source it covers that fits."""
        covered = [hit.chunk.covers if hit.chunk else (hit.source.source_id,) for hit in hits]
        kept = keep_fitting(graph, self.filters.sources, chain.from_iterable(covered))
        first = [next((each for each in sources if each in kept), None) for sources in covered]
        return [
            hit._replace(source=hit.source._replace(source_id=own))
            for hit, own in zip(hits, first, strict=True)
            if own is not None
        ]

    def _lookup(self, limit: int, *, compares: bool) -> Lookup:
        space, within = self.space, self.filters
        vector = Vector.from_numpy(self.vector)
        given: Row = {"vector": vector, "limit": limit, "property": space.vector_property}
        if compares:
            return Lookup("search/exactly", {**given, **within.scope(), "space": space.key})
        given["candidates"] = max(limit, self.candidates)
        if within.document_ids is not None:
            given["document_ids"] = list(within.document_ids)
            return Lookup("search/by_vector_in_documents", given, space.key)
        if within.ontologies is not None:
            given["ontologies"] = list(within.ontologies)
            return Lookup("search/by_vector_in_ontologies", given, space.key)
        return Lookup("search/by_vector", given, space.key)


def _to_passage(row: Sequence[Any], parents: Mapping[str, str]) -> LaneHit:
    source_id, ontology, document_id, similarity, chunk_id, offset, end_offset, covers = row
    if chunk_id is None:
        return LaneHit(FoundSource(source_id, ontology, document_id), similarity, similarity)
    chunk = FoundChunk(chunk_id, offset, end_offset, tuple(covers), parents.get(chunk_id))
    return LaneHit(FoundSource(covers[0], ontology, document_id), similarity, similarity, chunk)


def by_vector(graph: Graph, nearest: NearestPassages) -> LaneHits:
    """Find the passages nearest to a vector."""
    (found,) = graph.look_up([nearest.lookup])
    return nearest.hits(graph, found)


def vectors_of(graph: Graph, hits: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.float32]]:
    """The vectors of some hits by their identity; one without is missing.

    Args:
        graph: where they are.
        hits: each with identity, source_id, chunk_id or none, and the property of its space's slot.
    """
    rows = graph.search("search/vectors_of", hits=list(hits)) if hits else []
    return {row["identity"]: np.asarray(row["vector"].to_numpy(), dtype=np.float32) for row in rows}


def chunk_texts(graph: Graph, chunk_ids: Sequence[str]) -> dict[str, ChunkText]:
    """What some chunks say, by id; one that has gone meanwhile is missing."""
    rows = graph.search("chunks/texts", chunk_ids=list(dict.fromkeys(chunk_ids))) if chunk_ids else []
    return {row["chunk_id"]: _text(row) for row in rows}


def _text(row: Row) -> ChunkText:
    parts = row["parts"]
    first, last = parts[0], parts[-1]
    start, end = first["start"] + row["offset"], last["start"] + row["end_offset"]
    text = "".join(part["full_text"] for part in parts)[row["offset"] :][: end - start]
    return ChunkText(text, start, end, tuple(part["source_id"] for part in parts))


def _best_of_each(hits: Sequence[LaneHit]) -> list[LaneHit]:
    """The best chunk of each source, and of each parent."""
    best: dict[str, LaneHit] = {}
    parents: set[str] = set()
    for hit in hits:
        parent = hit.chunk.parent_id if hit.chunk else None
        if hit.source.source_id in best or parent in parents:
            continue
        best[hit.source.source_id] = hit
        if parent is not None:
            parents.add(parent)
    return list(best.values())


def to_lane_hit(
    row: Row,
    score: float | None = None,
    *,
    without_vector: bool = False,
    through: tuple[CarriedConcept, ...] = (),
) -> LaneHit:
    """What a row of a lane says; it is measured by its similarity where there is no other score."""
    chunk = None
    if row["chunk_id"] is not None:
        places = (row["chunk_id"], row["offset"], row["end_offset"])
        chunk = FoundChunk(*places, tuple(row["covers"]), row["parent_id"])
    source = FoundSource(row["source_id"], row["ontology"], row["document_id"])
    similarity = row["similarity"]
    measure = similarity if score is None else score
    return LaneHit(source, similarity, measure, chunk, without_vector, through)


# The lane of words: what full text is asked, and what its answer says.

FIRST_LOOK = 20
"""Sources that words find are looked at for each that is wanted, where a filter stands behind them..."""
FURTHER_LOOK = 8
"""... and so many times more where they are not enough."""
SAID_ALIKE = 2
"""Sources that words find are looked at for each that is wanted, for those that say it in the same words."""
NEAR_TEXTS = 20
"""So many texts are read for words that may be meant by one that none has."""
PAIRS_WEIGHT = 1.0
"""A source that has all pairs of neighbouring words of a short question counts so much more (ADR 46)."""


@dataclass(frozen=True, slots=True)
class WordedPassages:
    """The sources that a full-text query (in Lucene syntax, filters included) finds.

    Their similarity to the question's vector comes along, so that a fused list can show a measure for all.
    Conditions, and documents that are too many for the query itself, are applied to what is found, and more
    is asked for until it is enough or all has been looked at.
    """

    query: str
    asked: SpaceVectors
    limit: int
    pairs: Sequence[str] = ()
    """Words that stand beside each other in a short question: sources that have them so count more."""
    document_ids: Sequence[str] | None = None
    """None: all."""
    sources: SourceFilter = field(default_factory=SourceFilter)

    @property
    def lookup(self) -> Lookup:
        return self._lookup(self._first)

    @property
    def _filters(self) -> bool:
        return self.document_ids is not None or bool(self.sources)

    @property
    def _first(self) -> int:
        return (FIRST_LOOK if self._filters else SAID_ALIKE if self.pairs else 1) * self.limit

    def hits(self, graph: Graph, found: Any) -> LaneHits:
        """What it found, and more where a filter left too few."""
        candidates = self._first
        while self._filters and len(found["passages"]) < self.limit and found["looked"] >= candidates:
            candidates *= FURTHER_LOOK
            (found,) = graph.look_up([self._lookup(candidates)])
        chunks = {source_id: (near, part) for source_id, near, *part in found["chunks"]}
        hits = list[LaneHit]()
        for source_id, ontology, document_id, score, own, asked in found["passages"]:
            near, chunk = own, None
            if source_id in chunks:
                near, (chunk_id, offset, end_offset, covers, parent) = chunks[source_id]
                chunk = FoundChunk(chunk_id, offset, end_offset, tuple(covers), parent)
            source = FoundSource(source_id, ontology, document_id)
            hits.append(LaneHit(source, near, score, chunk, asked and near is None))
        hits.sort(key=lambda hit: (-hit.score, hit.source))
        return LaneHits(hits, cut=len(hits) >= self.limit)

    def _lookup(self, candidates: int) -> Lookup:
        given: Row = {
            "query": self.query,
            "limit": self.limit,
            "candidates": candidates,
            "pairs": list(self.pairs),
            "weight": PAIRS_WEIGHT / max(1, len(self.pairs)),
            "document_ids": None if self.document_ids is None else list(self.document_ids),
            "parents": self.asked.parents,
        }
        return Lookup("search/by_text", {**given, **self.sources.parameters(), **self.asked.parameters()})


def by_text(graph: Graph, query: str, asked: SpaceVectors, limit: int) -> list[LaneHit]:
    """Find the sources with the words of a full-text query."""
    worded = WordedPassages(query, asked, limit)
    (found,) = graph.look_up([worded.lookup])
    return worded.hits(graph, found).found


def lookup_known_words(queries: Mapping[str, Sequence[str]]) -> Lookup:
    """Which words full text finds at all, each by queries for it alone."""
    return Lookup("search/known_words", {"queries": _one_by_one(queries)})


def texts_near(graph: Graph, queries: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """What sources say that have words like some, by word."""
    given: Row = {"queries": _one_by_one(queries), "limit": NEAR_TEXTS}
    (found,) = graph.look_up([Lookup("search/near_words", given)])
    texts: dict[str, list[str]] = {}
    for each in found:
        texts.setdefault(each["word"], []).extend(each["texts"])
    return texts


def _one_by_one(queries: Mapping[str, Sequence[str]]) -> list[Row]:
    return [{"word": word, "query": query} for word, every in queries.items() for query in every]


# From concepts to the sources that carry them, and from sources to their concepts.

MAX_CONCEPTS: Final = 300
"""So many concepts, those of most weight, lead to sources; as many are asked for what they are related to."""
MAX_RELATED: Final = 1000
"""A concept with more relationships hands no weight on: each would get less than a thirtieth."""
MAX_SOURCES: Final = 1000
"""A concept in more sources leads to none: it says less than a thirtieth of each."""
MAX_APPEARANCES: Final = 1000
"""So many appearances are followed in one search, those of the concepts of most weight: ten times as many
find nothing more, and take a search of a large ontology its time (benchmarks/results/concepts.md)."""
NEAR_TO: Final = 8
"""Of so many concepts, those of most weight, others that are near in meaning lead to sources too."""
FOLLOWED: Final = 5
"""Of what each is near to, the nearest."""
MAX_LINKED: Final = 8
"""Links of a concept whose ends are compared, the nearest by what was measured when they were linked."""
NEAR_SHARE: Final = 0.5
"""Of the weight of a concept; those near to it share it by the root of their number."""
MAX_SHOWN: Final = 3
MAX_CARRIED: Final = 10


@dataclass(frozen=True, slots=True)
class Seed:
    """A concept that a search begins with."""

    concept_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class SeedPassage:
    """A source whose concepts share its weight."""

    source_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class ConceptNearness:
    """Which concepts are near in meaning: those of a space, in the ontologies that it answers for."""

    space: Space
    ontologies: Sequence[str]
    least: float
    """Cosine."""

    def links(self) -> dict[str, dict[str, Any]]:
        """By ontology, where vectors and links are found, and which are near enough."""
        space, own = self.space, self.space.at("").vector_property
        of = {"space": space.slug, "property": own, "linked": near_property(space), "least": self.least}
        return dict.fromkeys(self.ontologies, of)


def near_concepts(graph: Graph, within: ConceptNearness, concepts: Sequence[Seed]) -> list[Seed]:
    """What the index finds near in meaning to concepts of a space, and its weight."""
    rows = graph.search(
        "search/near_concepts",
        within.space.slug,
        concepts=[asdict(each) for each in concepts],
        property=within.space.at("").vector_property,
        limit=FOLLOWED,
        least=within.least,
        share=NEAR_SHARE,
    )
    return [Seed(row["concept_id"], row["weight"]) for row in rows]


def by_concepts(
    graph: Graph,
    seeds: Sequence[Seed],
    passages: Sequence[SeedPassage],
    filters: Filters,
    asked: SpaceVectors,
    *,
    limit: int,
    nearness: Sequence[ConceptNearness] = (),
) -> list[LaneHit]:
    """The sources that concepts lead to, and those that they are related to or near to; the best first.

    What was not linked with what is near to it yet is looked up in the index first, by a statement for each
    space, and the concepts are walked once more.

    Args:
        graph: where they are.
        seeds: concepts.
        passages: sources whose concepts share their weight.
        filters: what is wanted.
        asked: the question's vectors.
        limit: so many.
        nearness: what is near in meaning, by space.
    """
    scope = {**filters.scope(), **asked.parameters(), "imported": IMPORTED}
    walk = {
        "seeds": [asdict(seed) for seed in seeds],
        "passages": [asdict(passage) for passage in passages],
        "imported": IMPORTED,
        "ontologies": scope.pop("ontologies"),
        "near_of": {name: of for each in nearness for name, of in each.links().items()},
        "near_spaces": [each.space.slug for each in nearness],
        "most_concepts": MAX_CONCEPTS,
        "most_related": MAX_RELATED,
        "most_sources": MAX_SOURCES,
        "most_appearances": MAX_APPEARANCES,
        "most": NEAR_TO,
        "most_linked": MAX_LINKED,
        "nearest": FOLLOWED,
        "share": NEAR_SHARE,
    }
    (reached,) = graph.search("search/concepts_reached", near=None, **walk)
    if unlinked := reached["unlinked"]:
        near = [asdict(one) for each in nearness for one in _looked_up(graph, each, unlinked)]
        (reached,) = graph.search("search/concepts_reached", near=near, **walk)
    (row,) = graph.search(
        "search/by_concepts", concepts=reached["concepts"], limit=limit, most_told=MAX_SHOWN, **scope
    )
    return [
        to_lane_hit(
            row,
            row["score"],
            without_vector=row["asked"] and row["similarity"] is None,
            through=tuple(CarriedConcept(**each) for each in row["through"]),
        )
        for row in row["found"]
    ]


def _looked_up(graph: Graph, within: ConceptNearness, unlinked: Sequence[Mapping[str, Any]]) -> list[Seed]:
    own = [
        Seed(each["concept_id"], each["weight"]) for each in unlinked if each["space"] == within.space.slug
    ]
    return near_concepts(graph, within, own) if own else []


def concepts_of(graph: Graph, source_ids: Sequence[str]) -> dict[str, list[CarriedConcept]]:
    """The concepts that some sources carry, at most ten each."""
    ids = list(dict.fromkeys(source_ids))
    rows = graph.search("search/concepts_of_sources", source_ids=ids, limit=MAX_CARRIED) if ids else []
    return {row["source_id"]: [CarriedConcept(**each) for each in row["concepts"]] for row in rows}


# The lanes of a search for concepts, asked in one round trip.

WORDS_INDEX = "concept_words"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question's vector in one space, and the ontologies whose concepts it is compared with."""

    space: Space
    vector: NDArray[np.float32]
    """Shape (dimensions,), length 1."""
    ontologies: Sequence[str]


@dataclass(frozen=True, slots=True)
class ConceptLaneHit:
    """What one lane found. The lane's list is in its own order, the best first."""

    concept: Concept
    similarity: float | None
    """Cosine of question and concept; none without a vector."""
    without_vector: bool = False
    """It has no vector that the question's could be compared with."""
    score: float = 0.0
    """Of the words."""


def lookup_by_vector(meaning: Meaning, limit: int) -> Lookup:
    """The concepts nearest to a vector; the filter runs inside the index."""
    parameters = {
        "vector": Vector.from_numpy(meaning.vector),
        "ontologies": list(meaning.ontologies),
        "property": meaning.space.at("").vector_property,
        "limit": limit,
    }
    return Lookup("concepts/search_by_vector", parameters, meaning.space.slug)


def lookup_by_text(query: str, meanings: Sequence[Meaning], limit: int) -> Lookup:
    """The concepts that a full-text query finds, in Lucene syntax with filters inside."""
    return Lookup("concepts/search_by_text", {"query": query, "limit": limit, **_to_parameters(meanings)})


def by_name(name_ids: Sequence[str], meanings: Sequence[Meaning], limit: int) -> Lookup:
    """The concepts that go by one of some names exactly, those of most sources first."""
    given = {"name_ids": list(name_ids), "limit": limit}
    return Lookup("concepts/search_by_name", {**given, **_to_parameters(meanings)})


def look_up_concepts(graph: Graph, lookups: Sequence[Lookup]) -> list[list[ConceptLaneHit]]:
    """What each finds, all in one round trip."""
    found = graph.look_up(lookups)
    return [[_to_hit(row) for row in without_deleted(rows, Concept)] for rows in found]


def concepts_by_text(
    graph: Graph, queries: Iterable[str], meanings: Sequence[Meaning], limit: int
) -> list[ConceptLaneHit]:
    """The best of what several full-text queries find."""
    return best_of(
        look_up_concepts(graph, [lookup_by_text(each, meanings, limit) for each in queries]), limit
    )


def best_of(found: Iterable[Iterable[ConceptLaneHit]], limit: int) -> list[ConceptLaneHit]:
    """What queries by words found, in one order."""
    every = [hit for each in found for hit in each]
    return sorted(every, key=lambda hit: (-hit.score, hit.concept.concept_id))[:limit]


def nearness_of_concepts(
    graph: Graph, concept_ids: Sequence[str], meanings: Sequence[Meaning]
) -> dict[str, float]:
    """By id the cosine of a question and some concepts; one without a vector is missing."""
    asked = _to_parameters(meanings)
    rows = graph.search("constructive/nearness_of_concepts", ids=list(concept_ids), **asked)
    return {row["concept_id"]: row["similarity"] for row in rows}


def has_concepts(graph: Graph, ontologies: Sequence[str]) -> bool:
    """Whether some ontologies have a concept at all."""
    return bool(graph.read("concepts/any_of", ontologies=list(ontologies)))


def _to_parameters(meanings: Sequence[Meaning]) -> Mapping[str, Any]:
    """As statements take it: by space its vector and property, and which ontologies are not in the first."""
    return {
        "vectors": {each.space.slug: Vector.from_numpy(each.vector) for each in meanings},
        "properties": {each.space.slug: each.space.at("").vector_property for each in meanings},
        "spaces": {
            name: each.space.slug
            for each in meanings
            if each.space.slug != FIRST_SLUG
            for name in each.ontologies
        },
    }


def _to_hit(row: Row) -> ConceptLaneHit:
    concept = Concept.model_validate(row)
    return ConceptLaneHit(concept, row["similarity"], bool(row.get("without_vector")), row.get("score", 0.0))


# What many ask for at the same time is read once for all of them.

Result = TypeVar("Result")
REMEMBERED_SECONDS = 1.0


class SharedReading(Generic[Result]):
    """Reads for all that ask meanwhile, and remembers it for a while. Thread-safe.

    What a reading fails of is raised to all that wait: while the database is away each would try it again for
    seconds, one after the other.

    Args:
        read: reads; it may know nothing of who asks.
        seconds: for so long after it began a reading is remembered.
    """

    def __init__(self, read: Callable[[], Result], seconds: float = REMEMBERED_SECONDS) -> None:
        self._read = read
        self._seconds = seconds
        self._last: tuple[float, Result] | None = None
        """When it began, and what it gave."""
        self._failed: tuple[float, BaseException] | None = None
        """When it ended, and why."""
        self._reading = threading.Lock()

    def remembered(self) -> Result | None:
        """What was read a moment ago; None where nothing was."""
        last = self._last
        return None if last is None or time.monotonic() - last[0] > self._seconds else last[1]

    def recent(self) -> Result:
        """What was read a moment ago, or is read now; raise what that fails of."""
        known = self.remembered()
        return self.read() if known is None else known

    def read(self, *, anew: bool = False) -> Result:
        """What is read, or raise what that fails of.

        Args:
            anew: by a reading that begins after this call; else one that is under way will do.
        """
        asked, before = time.monotonic(), self._last
        with self._reading:
            if self._failed is not None and self._failed[0] >= asked:
                raise self._failed[1]
            last = self._last
            if last is not None and (last[0] >= asked if anew else last is not before):
                return last[1]
            begun = time.monotonic()
            try:
                self._last = begun, self._read()
            except BaseException as error:
                self._failed = time.monotonic(), error
                raise
            return self._last[1]


# How many passages a vector index is asked about; remembered, so that a search costs no extra round trip.

CROWDED = 62_500
"""Passages from which on an index is asked for more than is fused, to find what is nearest (ADR 8)."""
WITHIN_SECONDS = 60.0
"""For so long it is remembered of some ontologies: of many documents counting takes a while."""
MAX_REMEMBERED = 1000
SAMPLE = 20
"""Sources of an ontology whose chunks are counted: its configuration decides most of how many one has."""


class Crowds:
    """Counts passages. Thread-safe; one a process."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._passages = SharedReading(self._count)
        remembered = TTLCache[tuple[Hashable, ...], int](MAX_REMEMBERED, WITHIN_SECONDS)
        self._stored = cached(remembered, lock=threading.Lock())(self._count_stored)

    def of(self, ontologies: Sequence[str] | None) -> int:
        """How many passages some ontologies have, about; all for None. Few are not told apart."""
        passages = self._passages.recent()
        if ontologies is None or passages <= CROWDED:
            return passages
        return min(passages, self._stored(tuple(sorted(ontologies))))

    def _count(self) -> int:
        return self._graph.search("search/count_passages")[0]["passages"]

    def _count_stored(self, ontologies: tuple[str, ...]) -> int:
        given = {"ontologies": [*ontologies], "sample": SAMPLE}
        return round(self._graph.search("search/count_stored", **given)[0]["passages"])
