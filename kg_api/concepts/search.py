"""Search for concepts by vector, keywords and name. Details of a concept: evidence, passages, paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import fsum
from typing import Final

import structlog

from kg_api.concepts.grounding import compute_grounding
from kg_api.concepts.network import CANDIDATES, PathFinder, find_both_ends, find_related
from kg_api.errors import DatabaseUnavailable, InvalidInput, TooBusy, Unavailable
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_vectors import has_concepts as has_concepts_vectors
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.concepts import (
    Appearance,
    count_evidence,
    find_concept,
    read_appearances,
    read_concepts_page,
    read_evidence,
    read_unverified,
)
from kg_api.graph.fulltext import CONCEPT_FIELDS, MAX_TERMS, build_lucene_queries, list_terms
from kg_api.graph.jobs import CONCEPT_EMBEDDING, Progress, request_job
from kg_api.graph.library import read_neighbours
from kg_api.graph.search import (
    WORDS_INDEX,
    ConceptLaneHit,
    Meaning,
    build_name_lookup,
    build_text_lookup,
    build_vector_lookup,
    find_concepts_by_text,
    has_concepts,
    look_up_concepts,
    merge_concept_hits,
)
from kg_api.graph.spaces import Space
from kg_api.graph.spellings import Variant, find_variants
from kg_api.schemas.base import build_name_id, normalize_concept_name
from kg_api.schemas.concepts import (
    Concept,
    ConceptContext,
    ConceptDetails,
    ConceptHit,
    ConceptHits,
    ConceptList,
    ConceptPassage,
    ConceptPaths,
    RelatedConcepts,
    UnverifiedQuote,
    describe_no_match,
)
from kg_api.schemas.search import Degradation, Place
from kg_api.schemas.spaces import USUAL
from kg_api.spaces.open_spaces import FAULTS
from kg_api.spaces.plans import read_embedding_state
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import OntologySnapshot, get_snapshots
from kg_api.wording import pluralize

# Query for concepts, with its vector in each space

MAX_SHOWN = 10
EXTRACTION = "sources are still to be read for concepts{}. They lead to no concepts yet"
EMBEDDING = "concepts are still to be embedded{}. Only their text is searchable yet"


@dataclass(frozen=True, slots=True)
class ConceptQuery:
    ontologies: list[str]  # existing ontologies of the request
    meanings: list[Meaning]
    degraded: list[Degradation] = field(default_factory=list[Degradation])


def embed_concept_query(
    text: str, wanted: Sequence[str] | None, known: OntologySnapshot, spaces: SpaceRegistry
) -> ConceptQuery:
    """Embed a query once in each space of its ontologies."""
    known.require_known(wanted)
    embedding_states = known.embedding_states
    names = [*(embedding_states if wanted is None else dict.fromkeys(wanted))]
    query = ConceptQuery(names, [])
    by_space: dict[str, tuple[Space, list[str]]] = {}
    for name in names:
        space = embedding_states[name].answering.space
        by_space.setdefault(space.slug, (space, []))[1].append(name)
    for space, ontologies in by_space.values():
        try:
            opened = spaces.get_open(space)
            vector = opened.embed_query(text)
            opened.calibrate_labels_soon()
        except (*FAULTS, InvalidInput) as error:  # full-text search may accept a rejected query
            effect = f"the question could not be embedded ({error}): concepts were searched by words only"
            query.degraded.append(Degradation(part="embedding", effect=effect))
        else:
            query.meanings.append(Meaning(space, vector, ontologies))
    return query


def describe_running_jobs(
    progress: Mapping[str, Progress], ontologies: Collection[str], what: str
) -> list[Degradation]:
    degradations = list[Degradation]()
    for name, at in progress.items():
        if name in ontologies and len(degradations) < MAX_SHOWN:
            count = f" ({at.done} of the {at.total} that were due are done)" if at.total else ""
            degradations.append(Degradation(part="concepts", effect=f"{name}: {what.format(count)}"))
    return degradations


def describe_missing_concepts(graph: Graph, ontologies: Sequence[str]) -> list[Degradation]:
    if not ontologies or has_concepts(graph, ontologies):
        return []
    effect = (
        "these ontologies have no concepts yet. `kg admin concepts status --ontology ONTOLOGY` shows "
        "the cause"
    )
    return [Degradation(part="concepts", effect=effect)]


# Minimum similarity of a hit that counts as a match. A search only ranks.

NAME_FIELDS = {name: CONCEPT_FIELDS[name] for name in ("label", "search_terms")}
"""Names of a concept, without its description."""
SHARE = 0.5  # minimum between unrelated concepts (0) and the matching one (1), see ADR 29
UNMEASURED_SHARE = 0.5  # minimum between unrelated (0) and equal (1) texts, for too few concepts to calibrate
MIN_GAP = 0.04  # minimum gap of a model that separates concepts
DEPTH = 200  # hits of the full-text search in names


def add_match_kinds(
    graph: Graph,
    hits: Sequence[ConceptHit],
    named_ids: Collection[str],
    words: Sequence[str],
    meanings: Sequence[Meaning],
    *,
    variants: Sequence[Variant] = (),
) -> list[ConceptHit]:
    """Return the hits with their kind of match in `fits`."""
    floors = {name: get_min_similarity(each.space) for each in meanings for name in each.ontologies}
    near = {
        hit.concept_id
        for hit in hits
        if hit.similarity is not None and hit.ontology in floors and hit.similarity >= floors[hit.ontology]
    }
    unsure = {hit.ontology for hit in hits if hit.concept_id not in {*named_ids, *near}}
    queries = (
        build_lucene_queries(words, sorted(unsure), fields=NAME_FIELDS, variants=variants) if unsure else []
    )
    worded = {each.concept.concept_id for each in find_concepts_by_text(graph, queries, (), DEPTH)}
    fits = dict.fromkeys(near, "meaning") | dict.fromkeys(worded, "words") | dict.fromkeys(named_ids, "name")
    return [hit.model_copy(update={"fits": fits.get(hit.concept_id, hit.fits)}) for hit in hits]


def get_min_similarity(space: Space) -> float:
    """Get the minimum cosine of a matching concept in a space."""
    if space.labels is not None and space.labels.gap >= MIN_GAP:
        return space.labels.interpolate_to_related(SHARE)
    return (space.calibration or USUAL).interpolate_to_equal(UNMEASURED_SHARE)


# Passages that contain a concept


def merge_passages(
    found: Sequence[Appearance], around: Mapping[str, Sequence[Place]]
) -> list[ConceptPassage]:
    """Extend sources of a concept by their neighbours, and merge windows that touch. Best source first."""
    ranked = [(rank, each) for rank, each in enumerate(found) if around.get(each.place.source_id)]
    ranked.sort(key=lambda each: (each[1].place.document_id, each[1].place.paragraph))
    windows: list[tuple[list[Place], list[tuple[int, Appearance]]]] = []
    for rank, each in ranked:
        places = around[each.place.source_id]
        last = windows[-1][0][-1] if windows else None
        touches = last is not None and last.document_id == places[0].document_id
        if last is not None and touches and places[0].paragraph <= last.paragraph + 1:
            windows[-1][0].extend(place for place in places if place.paragraph > last.paragraph)
            windows[-1][1].append((rank, each))
        else:
            windows.append(([*places], [(rank, each)]))
    passages = list[tuple[int, ConceptPassage]]()
    for places, carrying in windows:
        best, first = min(carrying, key=lambda each: each[0])
        unverified = [
            UnverifiedQuote(
                quote=quote,
                source_id=each.place.source_id,
                document=each.place.document,
                paragraph=each.place.paragraph,
            )
            for _, each in carrying
            for quote in each.unverified
        ]
        passage = ConceptPassage(
            source_id=first.place.source_id,
            carried_by=[each.place.source_id for _, each in carrying],
            quotes=[quote for _, each in carrying for quote in each.quotes],
            unverified=unverified,
            sources=places,
        )
        passages.append((best, passage))
    return [passage for _, passage in sorted(passages, key=lambda each: each[0])]


# Reciprocal rank fusion

RRF_K: Final = 60
"""Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
methods, SIGIR 2009.
"""


def fuse_by_reciprocal_rank(lanes: Iterable[Sequence[str]]) -> dict[str, float]:
    """Return the sum of 1 / (60 + rank) over all lists by id, highest first. Ranks start at 1."""
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for ranked in lanes:
        for rank, identity in enumerate(ranked, start=1):
            parts[identity].append(1 / (RRF_K + rank))
    scores = {identity: fsum(own) for identity, own in parts.items()}
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


# Search by vector, full text and name, with reciprocal rank fusion

LANE_DEPTH = 50  # minimum hits of each retriever in the fusion
NOTHING_WAITS: Mapping[str, str] = {}


def find_concepts(
    graph: Graph,
    query_text: str,
    meanings: Sequence[Meaning],
    ontologies: Sequence[str],
    limit: int,
    *,
    populating: Mapping[str, str],
) -> ConceptHits:
    """Find the concepts that match a query best."""
    depth = max(LANE_DEPTH, 2 * limit)
    usable = [each for each in meanings if each.space.concept_index_name not in populating]
    words = list_terms(query_text)
    if WORDS_INDEX in populating and not usable:
        raise Unavailable("the indexes of concepts are still being populated. Try again in a moment")
    query_words = () if WORDS_INDEX in populating else words
    variants = find_variants(query_text)
    queries = build_lucene_queries(query_words, ontologies, fields=CONCEPT_FIELDS, variants=variants)
    names = [build_name_id(ontology, query_text) for ontology in ontologies] if query_text.strip() else []
    lookups = [
        *(build_vector_lookup(each, depth) for each in usable),
        *(build_text_lookup(each, usable, depth) for each in queries),
        build_name_lookup(names, usable, depth),
    ]
    *found, named = look_up_concepts(graph, lookups)
    lanes = [*found[: len(usable)], merge_concept_hits(found[len(usable) :], depth)]
    # A concept with the query among its search terms also matches by name.
    name, hits_by_name = normalize_concept_name(query_text), {each.concept.concept_id: each for each in named}
    for each in chain(*lanes):
        if name in map(normalize_concept_name, each.concept.search_terms):
            hits_by_name.setdefault(each.concept.concept_id, each)
    lanes.append(list(hits_by_name.values()))
    hits = add_match_kinds(
        graph, _fuse(lanes, usable)[:limit], hits_by_name, query_words, usable, variants=variants
    )
    degraded = list(_describe_degradation(meanings, words, lanes, hits, populating))
    if not hits:
        degraded += describe_missing_concepts(graph, ontologies)
    return ConceptHits(query_text=query_text, concepts=hits, degraded=degraded)


def _fuse(lanes: Sequence[Sequence[ConceptLaneHit]], meanings: Sequence[Meaning]) -> list[ConceptHit]:
    """Fuse hits by reciprocal rank. Similarity, sources and id break ties."""
    spaces = {name: each.space.slug for each in meanings for name in each.ontologies}
    scores = fuse_by_reciprocal_rank([each.concept.concept_id for each in lane] for lane in lanes)
    first: dict[str, ConceptLaneHit] = {}
    for found in chain(*lanes):
        first.setdefault(found.concept.concept_id, found)
    hits = [
        ConceptHit(
            **found.concept.model_dump(),
            similarity=found.similarity,
            space=None if found.similarity is None else spaces.get(found.concept.ontology),
            score=scores[identity],
        )
        for identity, found in first.items()
    ]
    return sorted(hits, key=lambda hit: (-hit.score, -(hit.similarity or -1), -hit.sources, hit.concept_id))


def _describe_degradation(
    meanings: Sequence[Meaning],
    words: Sequence[str],
    lanes: Sequence[Sequence[ConceptLaneHit]],
    hits: Sequence[ConceptHit],
    populating: Mapping[str, str],
) -> Iterator[Degradation]:
    for name in (each.space.concept_index_name for each in meanings):
        if name in populating:
            effect = f"the vector index {name} is {populating[name]}: concepts were searched by words only"
            yield Degradation(part="vector_index", effect=effect)
    if WORDS_INDEX in populating:
        effect = f"the full-text index of concepts is {populating[WORDS_INDEX]}: they were searched by vector"
        yield Degradation(part="text_index", effect=effect)
    elif not words:
        yield Degradation(part="query", effect="the query contains no word to search for in concepts")
    elif len(words) > MAX_TERMS:
        left_out = len(words) - MAX_TERMS
        effect = f"concepts: kg used the first {MAX_TERMS} words and ignored {left_out}"
        yield Degradation(part="query", effect=effect)
    without = {found.concept.concept_id for lane in lanes for found in lane if found.without_vector}
    missing = sum(hit.similarity is None and hit.concept_id in without for hit in hits)
    if missing:
        have = "has" if missing == 1 else "have"
        effect = f"{missing} of the concepts found {have} no vector yet: found by words only"
        yield Degradation(part="vectors", effect=effect)


# Embedding of single-source concepts, which starts with the first vector search in an ontology (ADR 4)

log = structlog.get_logger()

MAX_STARTED = 50  # ontologies whose embedding one search starts
FOUND_BY_NAME = "Until then, kg finds them by name only"


def start_embedding(graph: Graph, known: OntologySnapshot, ontologies: Collection[str]) -> list[Degradation]:
    """Start to embed concepts at their first vector search. Return notes: only keywords find them so far."""
    states = [known.embedding_states[name] for name in ontologies if name in known.embedding_states]
    new = [each for each in states if not each.configured.wants_concepts]
    notes = list[str]()
    try:
        for each in new[:MAX_STARTED]:
            waits = each.configured.paused or not each.configured.embed_on_ingest
            # The job counts its work, because the search waits for this function. If another search started
            # the job, the response shows its progress.
            if graph.transaction(partial(_start, name=each.ontology, waits=waits)):
                command = f"kg admin regenerate-embeddings --type concept --ontology {each.ontology!r}"
                state = "not embedded" if waits else "still being embedded"
                how = f". To start, run: {command}" if waits else ""
                notes.append(f"concepts of {each.ontology!r} are {state}. {FOUND_BY_NAME}{how}")
    except (TooBusy, DatabaseUnavailable) as error:  # such as a full disk, while the search only reads
        log.info("concepts are embedded later", reason=str(error))
        notes.append(f"concepts are not embedded: {error}. {FOUND_BY_NAME}")
    else:
        if (more := len(new) - MAX_STARTED) > 0:
            rest = pluralize(more, "more ontology", "more ontologies")
            notes.append(f"the next search starts embedding concepts in {rest}. {FOUND_BY_NAME}")
    return [Degradation(part="concepts", effect=effect) for effect in notes]


def _start(tx: Transaction, name: str, *, waits: bool) -> bool:
    begun = request_concepts(tx, name) and has_concepts_vectors(tx, name)
    if begun and not waits:
        request_job(tx, CONCEPT_EMBEDDING, name, added=0)
    return begun


# Search, details, passages and paths of concepts

SHOWN = 20  # quotes and related concepts in details


class ConceptService:
    """Read access to concepts. Thread-safe, one per process."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces
        self._snapshots = get_snapshots(graph)
        self._extraction = self._snapshots.get_progress("concept_extraction")
        self._embedding = self._snapshots.get_progress("concept_embedding")

    def search(self, query_text: str, ontologies: Sequence[str] | None, limit: int) -> ConceptHits:
        """Find concepts by vector, keywords and name. `degraded` lists parts of the search that failed."""
        known = self._snapshots.get(ontologies or (), new_too=ontologies is None)
        query = embed_concept_query(query_text, ontologies, known, self._spaces)
        names = (each.space.concept_index_name for each in query.meanings)
        found = find_concepts(
            self._graph,
            query_text,
            query.meanings,
            query.ontologies,
            limit,
            populating=self._snapshots.read_populating(WORDS_INDEX, *names),
        )
        started = start_embedding(self._graph, known, query.ontologies) if query.meanings else []
        extraction = describe_running_jobs(self._extraction.read(), query.ontologies, EXTRACTION)
        embedding = started or describe_running_jobs(self._embedding.read(), query.ontologies, EMBEDDING)
        # Only one note covers missing vectors: the started embedding, its progress, or their number.
        others = [each for each in found.degraded if not (embedding and each.part == "vectors")]
        return ConceptHits(
            query_text=query_text,
            concepts=found.concepts,
            degraded=[*query.degraded, *others, *extraction, *embedding],
            note=describe_no_match(query_text, found.concepts),
        )

    def get_details(self, concept_id: str, limit: int = SHOWN) -> ConceptDetails:
        """Return a concept with its evidence and related concepts."""
        concept = find_concept(self._graph, concept_id)
        evidence = read_evidence(self._graph, concept.concept_id, limit)
        around = find_related(self._graph, concept, 1, limit)
        quotes = count_evidence(self._graph, concept.concept_id)
        unverified, total = read_unverified(self._graph, concept.concept_id, limit)
        return ConceptDetails(
            **concept.model_dump(),
            evidence=evidence,
            more_evidence=max(0, quotes - len(evidence)),
            unverified=unverified,
            more_unverified=max(0, total - len(unverified)),
            related=around.related,
            more_related=around.more_related,
            grounding=compute_grounding(self._graph, concept, limit),
        )

    def get_context(self, concept_id: str, window: int, limit: int) -> ConceptContext:
        """Return the sources that contain a concept, with neighbours from the same document."""
        concept = find_concept(self._graph, concept_id)
        found = read_appearances(self._graph, concept.concept_id, limit)
        around = read_neighbours(self._graph, [each.place for each in found], window)
        return ConceptContext(
            concept=concept,
            window_size=window,
            passages=merge_passages(found, around),
            more_passages=max(0, concept.sources - len(found)),
        )

    def find_related(self, concept_id: str, hops: int, limit: int) -> RelatedConcepts:
        return find_related(self._graph, find_concept(self._graph, concept_id), hops, limit)

    def find_paths(
        self, start: str, end: str, ontologies: Sequence[str] | None, hops: int, limit: int
    ) -> ConceptPaths:
        """Return the shortest paths between two concepts, given by id, name or phrase."""

        def search(text: str, ontologies: Sequence[str] | None) -> Sequence[ConceptHit]:
            return self.search(text, ontologies, CANDIDATES).concepts

        ends = find_both_ends(start, end, ontologies, partial(find_concept, self._graph), search)
        finder = PathFinder(self._graph, hops, limit)
        paths = finder.find_paths(ends.start, ends.end)
        return ConceptPaths(
            start=Concept(**ends.start.model_dump()),
            end=Concept(**ends.end.model_dump()),
            paths=paths,
            hops=hops,
            degraded=[*ends.degraded, *finder.degraded],
        )

    def list_concepts(self, ontology: str, offset: int, limit: int) -> ConceptList:
        """Return concepts of an ontology, most sources first. `notes` describe a running extraction."""
        read_embedding_state(self._graph, ontology)
        concepts, total = read_concepts_page(self._graph, ontology, offset, limit)
        due = [
            *(() if total else describe_missing_concepts(self._graph, [ontology])),
            *describe_running_jobs(self._extraction.get(), [ontology], EXTRACTION),
        ]
        notes = [each.effect for each in due]
        return ConceptList(concepts=concepts, total=total, offset=offset, limit=limit, notes=notes)
