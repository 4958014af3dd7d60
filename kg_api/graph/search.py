"""Retrievers for a search (vectors, full text, concepts), shared reads, and counts of passages."""

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

from kg_api.graph.client import Graph, Lookup, Row, drop_deleted_rows
from kg_api.graph.concept_vectors import get_near_property
from kg_api.graph.filters import SourceFilter, keep_fitting
from kg_api.graph.spaces import Space
from kg_api.schemas.concepts import Concept
from kg_api.schemas.search import CarriedConcept
from kg_api.schemas.spaces import FIRST_SLUG

MAX_CHUNKS = 1000
TEXT_INDEX = "source_words"


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """Chunk that was found. `offset` is in its first source, and `end_offset` is in its last source."""

    chunk_id: str
    offset: int
    end_offset: int
    covers: tuple[str, ...]  # covered sources, in reading order
    parent_id: str | None  # parent chunk, which a search returns instead


class FoundSource(NamedTuple):
    """Source that a retriever found, with the values for ranking."""

    source_id: str
    ontology: str
    document_id: str


SOURCE_COLUMNS = FoundSource._fields  # not null, unless the source was deleted during the read


class LaneHit(NamedTuple):
    """Result from a retriever. For 100 results, frozen dataclasses would need 0.5 ms more."""

    source: FoundSource
    similarity: float | None
    score: float  # score by the retriever's own measure
    chunk: FoundChunk | None = None  # matching part (None: the whole source)
    without_vector: bool = False  # full-text result without a vector to compare with the query vector
    through: tuple[CarriedConcept, ...] = ()  # concepts that led to the source


@dataclass(frozen=True, slots=True)
class LaneHits:
    """Results from a retriever, best first."""

    found: list[LaneHit]
    cut: bool  # whether there may be further results


@dataclass(frozen=True, slots=True)
class Filters:
    """Documents and sources to search (None: all)."""

    ontologies: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None
    sources: SourceFilter = field(default_factory=SourceFilter)  # conditions on sources

    @property
    def image(self) -> bool | None:
        """True for images only, False for passages only, and None for both."""
        return self.sources.image

    def scope(self) -> Row:
        """Build parameters to use in Cypher statements. To search all, use null."""
        return {
            "ontologies": None if self.ontologies is None else list(self.ontologies),
            "document_ids": None if self.document_ids is None else list(self.document_ids),
            **self.sources.parameters(),
        }


@dataclass(frozen=True, slots=True)
class SpaceVectors:
    """Query vector to use in each space, and ontologies that do not use the first space."""

    vectors: Mapping[str, NDArray[np.float32]]
    properties: Mapping[str, str]
    spaces: Mapping[str, str]
    parents: bool = False  # whether a searched ontology has chunks with parents

    def parameters(self) -> dict[str, Any]:
        return {
            "vectors": {slug: Vector.from_numpy(vector) for slug, vector in self.vectors.items()},
            "properties": dict(self.properties),
            "spaces": dict(self.spaces),
        }


@dataclass(frozen=True, slots=True)
class ChunkText:
    text: str
    start: int
    end: int
    source_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearestPassages:
    """Search for the nearest passages in a space. The filter is used in the vector index."""

    vector: NDArray[np.float32]
    space: Space
    filters: Filters
    limit: int
    """Chunks to fetch. If many are from the same source, the limit can be raised up to 1,000."""
    wanted: int = 0  # minimum number of sources, if that many exist
    exact: bool = False  # compare every vector instead of querying the index
    each_chunk: bool = False  # return every chunk instead of the best chunk of each source and parent
    candidates: int = 0
    """Candidates to request from the index. If `limit` is larger, this is used."""

    @property
    def lookup(self) -> Lookup:
        return self._build_lookup(self._first, compares=self._compares)

    @property
    def _compares(self) -> bool:
        """Whether to compare every vector, and not use the index."""
        return self.exact or bool(self.filters.image)

    @property
    def _first(self) -> int:
        """Number of chunks to fetch first. Few candidates of the index may satisfy conditions."""
        takes_all = not self.filters.image and (self.exact or self.filters.sources.fits)
        return MAX_CHUNKS if takes_all else self.limit

    def hits(self, graph: Graph, found: Any) -> LaneHits:
        """Get the results. If they are from too few sources, fetch more.

        If no candidate of the index satisfies the conditions, kg compares every vector that satisfies them.
        """
        limit, compares = self._first, self._compares
        while True:
            parents: dict[str, str] = dict(found["parents"])
            every = [_to_passage(row, parents) for row in found["passages"] if _is_stored(row)]
            more = len(found["passages"]) >= limit
            every.sort(key=lambda hit: (-hit.score, hit.source, hit.chunk.offset if hit.chunk else 0))
            hits = self._keep_fitting(graph, every) if self.filters.sources else every
            if not self.each_chunk:
                hits = _keep_best_of_each(hits)
            if len(hits) >= self.wanted or not more or (limit >= MAX_CHUNKS and compares):
                return LaneHits(hits, cut=more)
            if limit < MAX_CHUNKS:
                limit = min(MAX_CHUNKS, 4 * limit)
            elif self.filters.sources:
                compares = True
            else:
                return LaneHits(hits, cut=True)
            (found,) = graph.look_up([self._build_lookup(limit, compares=compares)])

    def _keep_fitting(self, graph: Graph, hits: Sequence[LaneHit]) -> list[LaneHit]:
        """Keep results that match the conditions, each with the first source that does."""
        covered = [hit.chunk.covers if hit.chunk else (hit.source.source_id,) for hit in hits]
        kept = keep_fitting(graph, self.filters.sources, chain.from_iterable(covered))
        first = [next((each for each in sources if each in kept), None) for sources in covered]
        return [
            hit._replace(source=hit.source._replace(source_id=own))
            for hit, own in zip(hits, first, strict=True)
            if own is not None
        ]

    def _build_lookup(self, limit: int, *, compares: bool) -> Lookup:
        space, within = self.space, self.filters
        vector = Vector.from_numpy(self.vector)
        given: Row = {"vector": vector, "limit": limit}
        if compares:
            compared = {"property": space.vector_property, "space": space.key}
            return Lookup("search/exactly", {**given, **within.scope(), **compared})
        given["candidates"] = max(limit, self.candidates)
        if within.document_ids is not None:
            given["document_ids"] = list(within.document_ids)
            return Lookup("search/by_vector_in_documents", given, space.key)
        if within.ontologies is not None:
            given["ontologies"] = list(within.ontologies)
            return Lookup("search/by_vector_in_ontologies", given, space.key)
        return Lookup("search/by_vector", given, space.key)


def _is_stored(row: Sequence[Any]) -> bool:
    """Check that the source or chunk of a row was not deleted during the read (`drop_deleted_rows`)."""
    is_source = len(row) == len(FoundSource._fields) + 1
    return None not in (row if is_source else row[1:])  # a chunk has its sources instead of `source_id`


def _to_passage(row: Sequence[Any], parents: Mapping[str, str]) -> LaneHit:
    source_id, ontology, document_id, similarity, *part = row
    if not part:
        return LaneHit(FoundSource(source_id, ontology, document_id), similarity, similarity)
    chunk_id, offset, end_offset, covers = part
    chunk = FoundChunk(chunk_id, offset, end_offset, tuple(covers), parents.get(chunk_id))
    return LaneHit(FoundSource(covers[0], ontology, document_id), similarity, similarity, chunk)


def find_by_vector(graph: Graph, nearest: NearestPassages) -> LaneHits:
    (found,) = graph.look_up([nearest.lookup])
    return nearest.hits(graph, found)


def read_hit_vectors(graph: Graph, hits: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.float32]]:
    """Read the vectors for hits by identity. If a hit has no vector, it is missing.

    A hit has identity, source_id, chunk_id (or None), and the vector property of its space's slot.
    """
    rows = graph.search("search/vectors_of", hits=list(hits)) if hits else []
    return {row["identity"]: np.asarray(row["vector"].to_numpy(), dtype=np.float32) for row in rows}


def read_chunk_texts(graph: Graph, chunk_ids: Sequence[str]) -> dict[str, ChunkText]:
    """Read the texts of chunks by id. Chunks are missing if they or a source were deleted."""
    rows = graph.search("chunks/texts", chunk_ids=list(dict.fromkeys(chunk_ids))) if chunk_ids else []
    texts: dict[str, ChunkText] = {}
    for row in drop_deleted_rows(rows, ("chunk_id", "sources", "offset", "end_offset")):
        parts = drop_deleted_rows(row["parts"], ("source_id", "start", "full_text"))
        if len(parts) < row["sources"]:  # the text of the others would be cut at wrong positions
            continue
        start, end = parts[0]["start"] + row["offset"], parts[-1]["start"] + row["end_offset"]
        text = "".join(part["full_text"] for part in parts)[row["offset"] :][: end - start]
        ids = tuple(part["source_id"] for part in parts)
        texts[row["chunk_id"]] = ChunkText(text, start, end, ids)
    return texts


def _keep_best_of_each(hits: Sequence[LaneHit]) -> list[LaneHit]:
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
    """Convert a row from a retriever. If there is no score, use the similarity."""
    chunk = None
    if row["chunk_id"] is not None:
        places = (row["chunk_id"], row["offset"], row["end_offset"])
        chunk = FoundChunk(*places, tuple(row["covers"]), row["parent_id"])
    source = FoundSource(row["source_id"], row["ontology"], row["document_id"])
    similarity = row["similarity"]
    measure = similarity if score is None else score
    return LaneHit(source, similarity, measure, chunk, without_vector, through)


# Full-text retriever

FIRST_LOOK = 20  # candidates per requested result if a filter follows the full-text query
FURTHER_LOOK = 8  # factor by which kg raises the candidates if the filter leaves too few results
SAID_ALIKE = 2  # candidates per requested result if adjacent query words raise scores
NEAR_TEXTS = 20  # texts to read for spelling suggestions of an unknown word
PAIRS_WEIGHT = 1.0
"""Weight for adjacent words. If a source has all pairs from a short query, its score is doubled (ADR 46)."""


@dataclass(frozen=True, slots=True)
class KeywordPassages:
    """Full-text query in Lucene syntax, with filters.

    kg computes the similarity of the first results to the query vector. The others, and those that no vector
    retriever returns either, hardly reach the first page (ADR 20).
    It applies conditions and long lists of documents to the results. It fetches more candidates until there
    are enough results or no more candidates.
    """

    query: str
    asked: SpaceVectors
    limit: int
    pairs: Sequence[str] = ()
    """Adjacent words in a short query. If they are in a source, its score is higher."""
    document_ids: Sequence[str] | None = None  # None: all
    sources: SourceFilter = field(default_factory=SourceFilter)
    compared: int = MAX_CHUNKS
    """Number of results to compare to the query vector, best first."""

    @property
    def lookup(self) -> Lookup:
        return self._build_lookup(self._first)

    @property
    def _filters(self) -> bool:
        return self.document_ids is not None or bool(self.sources)

    @property
    def _first(self) -> int:
        return (FIRST_LOOK if self._filters else SAID_ALIKE if self.pairs else 1) * self.limit

    def hits(self, graph: Graph, found: Any) -> LaneHits:
        """Get the results. If a filter leaves too few, fetch more candidates."""
        candidates = self._first
        while self._filters and len(found["passages"]) < self.limit and found["looked"] >= candidates:
            candidates *= FURTHER_LOOK
            (found,) = graph.look_up([self._build_lookup(candidates)])
        chunks = {
            source_id: (near, [*part, parent])
            for source_id, near, *part, parent in found["chunks"]
            if None not in part  # a chunk that was deleted during the read
        }
        hits = list[LaneHit]()
        for source_id, ontology, document_id, score, own, asked in found["passages"]:
            if None in (source_id, ontology, document_id):
                continue  # deleted during the read
            near, chunk = own, None
            if source_id in chunks:
                near, (chunk_id, offset, end_offset, covers, parent) = chunks[source_id]
                chunk = FoundChunk(chunk_id, offset, end_offset, tuple(covers), parent)
            source = FoundSource(source_id, ontology, document_id)
            hits.append(LaneHit(source, near, score, chunk, asked and near is None))
        hits.sort(key=lambda hit: (-hit.score, hit.source))
        return LaneHits(hits, cut=len(found["passages"]) >= self.limit)

    def _build_lookup(self, candidates: int) -> Lookup:
        given: Row = {
            "query": self.query,
            "limit": self.limit,
            "candidates": candidates,
            "pairs": list(self.pairs),
            "weight": PAIRS_WEIGHT / max(1, len(self.pairs)),
            "compared": self.compared,
            "filters": self._filters,
            "document_ids": None if self.document_ids is None else list(self.document_ids),
            "parents": self.asked.parents,
        }
        return Lookup("search/by_text", {**given, **self.sources.parameters(), **self.asked.parameters()})


def find_by_text(graph: Graph, query: str, asked: SpaceVectors, limit: int) -> list[LaneHit]:
    worded = KeywordPassages(query, asked, limit)
    (found,) = graph.look_up([worded.lookup])
    return worded.hits(graph, found).found


def build_word_lookup(queries: Mapping[str, Sequence[str]]) -> Lookup:
    """Build a lookup of the words that the full-text index contains. Each word has its own queries."""
    return Lookup("search/known_words", {"queries": _search_one_by_one(queries)})


def find_texts_with_similar_words(graph: Graph, queries: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Find the texts that have similar words, by word."""
    given: Row = {"queries": _search_one_by_one(queries), "limit": NEAR_TEXTS}
    (found,) = graph.look_up([Lookup("search/near_words", given)])
    texts: dict[str, list[str]] = {}
    for each in found:
        texts.setdefault(each["word"], []).extend(each["texts"])
    return texts


def _search_one_by_one(queries: Mapping[str, Sequence[str]]) -> list[Row]:
    return [{"word": word, "query": query} for word, every in queries.items() for query in every]


# Concept retriever and the concepts of sources

MAX_CONCEPTS: Final = 300
"""Maximum number of concepts that can lead to sources and other concepts. The highest weights are first."""
MAX_RELATED: Final = 1000
"""Maximum number of relationships that a concept can have to lead to others.

With more, each gets under 1/30.
"""
MAX_SOURCES: Final = 1000
"""Maximum number of sources that a concept can have to lead to them. With more, each gets under 1/30."""
MAX_APPEARANCES: Final = 1000
"""Maximum number of appearances that a search follows, highest concept weights first. Ten times as many find
nothing more and slow down searches of large ontologies (benchmarks/results/concepts.md)."""
NEAR_TO: Final = 8
"""Number of concepts that have neighbours which also lead to sources. The highest weights are first."""
FOLLOWED: Final = 5  # nearest neighbours that kg follows from each of these concepts
MAX_LINKED: Final = 8  # stored links of a concept whose ends kg compares, highest stored similarity first
NEAR_SHARE: Final = 0.5
"""Share of a concept's weight to use for its neighbours, divided by the root of their number."""
MAX_SHOWN: Final = 3
MAX_CARRIED: Final = 10


@dataclass(frozen=True, slots=True)
class Seed:
    """Concept to start a search."""

    concept_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class SeedPassage:
    """Source to share its weight with its concepts."""

    source_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class ConceptNearness:
    """Semantic neighbours to use for concepts in a space, with the ontologies to search."""

    space: Space
    ontologies: Sequence[str]
    least: float  # minimum cosine

    def links(self) -> dict[str, dict[str, Any]]:
        """Build the properties to use for vectors and links, and the minimum cosine, by ontology."""
        space, own = self.space, self.space.at("").vector_property
        of = {"space": space.slug, "property": own, "linked": get_near_property(space), "least": self.least}
        return dict.fromkeys(self.ontologies, of)


def find_near_concepts(graph: Graph, within: ConceptNearness, concepts: Sequence[Seed]) -> list[Seed]:
    """Find the concepts that the index finds near the given concepts, with their weights."""
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


def find_sources_by_concepts(
    graph: Graph,
    seeds: Sequence[Seed],
    passages: Sequence[SeedPassage],
    filters: Filters,
    asked: SpaceVectors,
    *,
    limit: int,
    nearness: Sequence[ConceptNearness] = (),
) -> list[LaneHit]:
    """Find the sources of concepts and of their related and semantically near concepts, best first.

    kg looks up concepts without stored links in the vector index, by one statement per space. Then it repeats
    the walk.
    """
    scope = {**filters.scope(), **asked.parameters()}
    walk = {
        "seeds": [asdict(seed) for seed in seeds],
        "passages": [asdict(passage) for passage in passages],
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
        near = list[dict[str, Any]]()
        for each in nearness:
            rows = (row for row in unlinked if row["space"] == each.space.slug)
            if own := [Seed(row["concept_id"], row["weight"]) for row in rows]:
                near += map(asdict, find_near_concepts(graph, each, own))
        (reached,) = graph.search("search/concepts_reached", near=near, **walk)
    (row,) = graph.search(
        "search/by_concepts", concepts=reached["concepts"], limit=limit, most_told=MAX_SHOWN, **scope
    )
    return [
        to_lane_hit(
            row,
            row["score"],
            without_vector=row["asked"] and row["similarity"] is None,
            through=tuple(_to_carried_concepts(row["through"])),
        )
        for row in drop_deleted_rows(row["found"], SOURCE_COLUMNS)
    ]


def read_concepts_of_sources(graph: Graph, source_ids: Sequence[str]) -> dict[str, list[CarriedConcept]]:
    ids = list(dict.fromkeys(source_ids))
    rows = graph.search("search/concepts_of_sources", source_ids=ids, limit=MAX_CARRIED) if ids else []
    return {row["source_id"]: _to_carried_concepts(row["concepts"]) for row in rows}


def _to_carried_concepts(rows: Sequence[Row]) -> list[CarriedConcept]:
    stored = drop_deleted_rows(rows, ("concept_id", "label", "verified"))
    return [CarriedConcept(**each) for each in stored]


# Retrievers of a concept search, in one round trip

WORDS_INDEX = "concept_words"


@dataclass(frozen=True, slots=True)
class Meaning:
    """Query vector in a space, with the ontologies that have concepts to search."""

    space: Space
    vector: NDArray[np.float32]  # shape (dimensions,), length 1
    ontologies: Sequence[str]


@dataclass(frozen=True, slots=True)
class ConceptLaneHit:
    """A concept that one retriever returned."""

    concept: Concept
    similarity: float | None  # cosine of query and concept (None: no vector)
    without_vector: bool = False  # whether the concept lacks a vector to compare with the query vector
    score: float = 0.0  # full-text score


def build_vector_lookup(meaning: Meaning, limit: int) -> Lookup:
    """Build a lookup of the concepts nearest to a vector. The vector index applies the filter."""
    parameters = {
        "vector": Vector.from_numpy(meaning.vector),
        "ontologies": list(meaning.ontologies),
        "property": meaning.space.at("").vector_property,
        "limit": limit,
    }
    return Lookup("concepts/search_by_vector", parameters, meaning.space.slug)


def build_text_lookup(query: str, meanings: Sequence[Meaning], limit: int) -> Lookup:
    """Build a lookup of the concepts that a full-text query in Lucene syntax finds."""
    return Lookup("concepts/search_by_text", {"query": query, "limit": limit, **_to_parameters(meanings)})


def build_name_lookup(name_ids: Sequence[str], meanings: Sequence[Meaning], limit: int) -> Lookup:
    """Build a lookup to find concepts by exact name. Those in most sources are first."""
    given = {"name_ids": list(name_ids), "limit": limit}
    return Lookup("concepts/search_by_name", {**given, **_to_parameters(meanings)})


def look_up_concepts(graph: Graph, lookups: Sequence[Lookup]) -> list[list[ConceptLaneHit]]:
    """Run lookups in one round trip, to get the results for each."""
    found = graph.look_up(lookups)
    return [[_to_hit(row) for row in drop_deleted_rows(rows, Concept)] for rows in found]


def find_concepts_by_text(
    graph: Graph, queries: Iterable[str], meanings: Sequence[Meaning], limit: int
) -> list[ConceptLaneHit]:
    return merge_concept_hits(
        look_up_concepts(graph, [build_text_lookup(each, meanings, limit) for each in queries]), limit
    )


def merge_concept_hits(found: Iterable[Iterable[ConceptLaneHit]], limit: int) -> list[ConceptLaneHit]:
    """Merge the results of full-text queries into one order."""
    every = [hit for each in found for hit in each]
    return sorted(every, key=lambda hit: (-hit.score, hit.concept.concept_id))[:limit]


def compute_concept_nearness(
    graph: Graph, concept_ids: Sequence[str], meanings: Sequence[Meaning]
) -> dict[str, float]:
    """Compute the cosine to the query vector by concept id. If a concept has no vector, it is missing."""
    asked = _to_parameters(meanings)
    rows = graph.search("constructive/nearness_of_concepts", ids=list(concept_ids), **asked)
    return {row["concept_id"]: row["similarity"] for row in rows}


def has_concepts(graph: Graph, ontologies: Sequence[str]) -> bool:
    return bool(graph.read("concepts/any_of", ontologies=list(ontologies)))


def _to_parameters(meanings: Sequence[Meaning]) -> Mapping[str, Any]:
    """Build parameters: vectors and properties by space, and the ontologies for other spaces."""
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


# Shared reads

Result = TypeVar("Result")
REMEMBERED_SECONDS = 1.0


class CachedRead(Generic[Result]):
    """Reader with a cache for a short time. Callers share a read if they call this together. Thread-safe.

    The value must not depend on the caller. It expires `seconds` after the start of its read. All waiting
    callers get the error of a failed read. Otherwise each would retry for seconds while the database is
    unavailable.
    """

    def __init__(self, read: Callable[[], Result], seconds: float = REMEMBERED_SECONDS) -> None:
        self._read = read
        self._seconds = seconds
        self._last: tuple[float, Result] | None = None  # start time and result of the last read
        self._failed: tuple[float, BaseException] | None = None  # end time and error of the last failed read
        self._reading = threading.Lock()

    def get_cached(self) -> Result | None:
        """Get the cached value. If it has expired, return None."""
        last = self._last
        return None if last is None or time.monotonic() - last[0] > self._seconds else last[1]

    def get(self) -> Result:
        """Return the cached value, or read it."""
        known = self.get_cached()
        return self.read() if known is None else known

    def read(self, *, anew: bool = False) -> Result:
        """Read the value, or share a read that is running. With `anew`, it has to start after this call."""
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


# Passages of a vector index

MIN_CROWDED_PASSAGES = 62_500
"""Passages that an ontology needs to request more candidates, to find the nearest passages (ADR 8)."""
WITHIN_SECONDS = 60.0
"""Time to cache counts for ontologies, because it takes long to count many documents."""
MAX_REMEMBERED = 1000
SAMPLE = 20
"""Sources to use from an ontology to count chunks. Most depend on the configuration."""


class OntologySizes:
    """Counts of passages, cached to save a round trip in each search. Thread-safe, one for each process."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._passages = CachedRead(lambda: self._graph.search("search/count_passages")[0]["passages"])
        remembered = TTLCache[tuple[Hashable, ...], int](MAX_REMEMBERED, WITHIN_SECONDS)
        self._stored = cached(remembered, lock=threading.Lock())(self._count_stored)

    def count(self, ontologies: Sequence[str] | None) -> int:
        """Get the approximate number of passages (None: in all ontologies).

        Up to 62,500, it counts all.
        """
        passages = self._passages.get()
        if ontologies is None or passages <= MIN_CROWDED_PASSAGES:
            return passages
        return min(passages, self._stored(tuple(sorted(ontologies))))

    def _count_stored(self, ontologies: tuple[str, ...]) -> int:
        given = {"ontologies": [*ontologies], "sample": SAMPLE}
        return round(self._graph.search("search/count_stored", **given)[0]["passages"])
