"""Search: request -> embed query, once a space -> lanes side by side -> fuse -> refine -> tell."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace

from kg_api.concepts.wanted import start_embedding
from kg_api.errors import InvalidInput
from kg_api.graph.carried import concepts_of
from kg_api.graph.database import Graph
from kg_api.graph.jobs import Progress
from kg_api.graph.passages import MOST_CHUNKS, chunk_texts
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.graph.similar import count_sources
from kg_api.graph.spaces import Space
from kg_api.models.search import Degradation, LeftOut, Mode, SourceHit, SourceHits, SourceSearch
from kg_api.models.windows import SourceWindow
from kg_api.search import degraded
from kg_api.search.answer import Telling, needed_texts, told
from kg_api.search.asking import LANE_THREADS, MOST_EXACT, TEXT_INDEX, LaneRunner, Question
from kg_api.search.concept_lane import ConceptLane, OwnConcepts
from kg_api.search.hyde import Hyde, Imagined
from kg_api.search.lanes import Lanes
from kg_api.search.query import prepare
from kg_api.search.query_vector import QueryVector, query_vector, require_space
from kg_api.search.ranking import Hit, Measure, fused, thinned, with_carried
from kg_api.search.reading import Reader
from kg_api.search.scope import Scope, scope_of
from kg_api.search.similarity_filter import BoundFilter, SimilarityFilter
from kg_api.search.stages import Refined, Rereading, Stages
from kg_api.search.timing import Stopwatch
from kg_api.spaces.plans import Known, PlanWatch
from kg_api.spaces.registry import SpaceRegistry

NO_RERANKER = Rereading(None, 0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A search, ready to be answered."""

    question: Question
    spaces: dict[str, str]
    """By ontology: the space that it answers by."""
    space_of_new: str
    """That of an ontology which is not there."""

    @property
    def similar(self) -> BoundFilter:
        """What is similar enough, for the vectors that the question has."""
        blind = [vector.space.slug for vector in self.question.vectors if vector.vector is None]
        return self.question.similar.bind(blind, self.measure.space_of)

    @property
    def measure(self) -> Measure:
        """How the lanes are joined."""
        question, spaces = self.question, self.spaces
        return Measure(
            question.query.request,
            question.scope.contrasts,
            lambda ontology: spaces.get(ontology, self.space_of_new),
        )


class SearchService:
    """Finds sources by meaning, by words, or both."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        rereading: Rereading = NO_RERANKER,
        hyde: Hyde | None = None,
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._hyde = hyde or Hyde()
        self._plans = PlanWatch(graph)
        self._reader = Reader(graph, spaces, self._plans)
        self._indexes = IndexWatch(graph)
        self._progress = EmbeddingWatch(graph)
        self._lanes = LaneRunner(graph)
        self._stages = Stages(graph, rereading)
        self._concepts = ConceptLane(graph, self._indexes, self._plans)
        self._asking = ThreadPoolExecutor(LANE_THREADS, thread_name_prefix="question")
        """Apart from the lanes: a provider that is slow holds up nobody else."""

    def close(self) -> None:
        """End the lanes' threads."""
        self._lanes.close()
        self._asking.shutdown()

    def search(self, request: SourceSearch, similar: SimilarityFilter | None = None) -> SourceHits:
        """Find sources. What could not be done is told in `degraded`, never left out silently.

        Args:
            request: what is looked for.
            similar: what is similar enough; None: as the request has it.

        Raises:
            InvalidInput: the query vector does not fit its space, the filters name too many documents, or
                there are too many vectors for an exact search.
            Conflict: the query vector is of a space that is not searched.
            Unavailable: no lane that was asked for can answer.
        """
        return self.answer(self.ask(request, similar))

    def ask(self, request: SourceSearch, similar: SimilarityFilter | None = None) -> Asked:
        """Work out what to ask where; see `search`."""
        by_name = request.documents is not None or request.concepts  # of ontologies, so of a new one too
        fresh = by_name and (request.ontologies is None or request.documents is not None)
        known = self._plans.known(request.ontologies or (), fresh=fresh)
        spaces = {name: standing.answering.space.slug for name, standing in known.standings.items()}
        similar = similar or _similar(request, {*spaces.values(), known.new.slug})
        return Asked(self._question(request, known, Stopwatch(), similar), spaces, known.new.slug)

    def answer(self, asked_for: Asked, *, concepts_alone: bool = False) -> SourceHits:
        """Ask it.

        Args:
            asked_for: what.
            concepts_alone: whether sources are found through the question's concepts only.

        Raises:
            Unavailable: no lane that was asked for can answer.
        """
        question, spaces = asked_for.question, asked_for.spaces
        request, watch = question.query.request, question.watch
        lanes, refined, left_out = self._refined(asked_for, concepts_alone=concepts_alone)
        hits = self._told(refined.hits, lanes, question, spaces)
        told = (
            degraded.tell_of_concepts(question.scope, question.vectors)
            if concepts_alone
            else self._degraded(question, lanes)
        )
        windows, unread = self._reader.windows(hits, question) if request.expand_context else ([], [])
        asked = [vector.space.slug for vector in question.vectors if vector.vector is not None]
        return SourceHits(
            query_text=request.query_text,
            mode=_mode(lanes),
            space=asked[0] if len(asked) == 1 else None,
            spaces=asked,
            hypothetical=next(
                (list(each.imagined) for each in question.vectors if each.imagined), list[str]()
            ),
            sources=hits,
            left_out=left_out,
            windows=windows,
            degraded=[*told, *refined.degraded, *unread],
            timings_ms=watch.milliseconds(),
        )

    def start_concepts(self, question: Question) -> list[Degradation]:
        """Have all concepts embedded where they are asked for by meaning; say what is not embedded yet."""
        names = question.scope.names
        return start_embedding(self._graph, self._plans.known(names), names)

    def context(self, source_id: str, window: int, token_budget: int | None = None) -> SourceWindow:
        """A source among its neighbours of the same document, as many as a budget of tokens allows.

        Raises:
            NotFound: there is no such source.
        """
        return self._reader.around(source_id, window, token_budget)

    def _vectors(
        self,
        request: SourceSearch,
        scope: Scope,
        populating: dict[str, str],
        imagined: Imagined,
        similar: SimilarityFilter,
    ) -> list[QueryVector]:
        """One for each model, side by side where there are several."""
        models = scope.models
        alone = len(models) == 1

        def one(space: Space) -> QueryVector:
            once = imagined if space is models[0] else replace(imagined, degraded=[])
            opened, indexes = self._spaces.of(space), scope.indexes(space)
            return query_vector(
                request, opened, populating, indexes, alone=alone, imagined=once, similar=similar
            )

        return [one(models[0])] if alone else list(self._asking.map(one, models))

    def _question(
        self, request: SourceSearch, known: Known, watch: Stopwatch, similar: SimilarityFilter
    ) -> Question:
        """Work out what to ask where, and embed the question."""
        query = prepare(request, list(known.standings))
        scope = scope_of(request, query.filters, known)
        require_space(request, scope.slugs)
        if request.exact and request.documents is None:
            self._require_few(request.ontologies or list(known.standings))
        names = () if request.exact else tuple(each.space.index_name for each in scope.spaces)
        populating = self._indexes.populating(TEXT_INDEX, *names)
        with watch.stage("hyde") if request.hyde else nullcontext():
            imagined = self._hyde.imagine(request)
        with watch.stage("embed"):
            vectors = self._vectors(request, scope, populating, imagined, similar)
        return Question(query, scope, vectors, populating, watch, similar)

    def _require_few(self, ontologies: list[str]) -> None:
        """Raise InvalidInput where comparing every vector would take too long."""
        sources = count_sources(self._graph, ontologies)
        if sources > MOST_EXACT:
            raise InvalidInput(
                f"exact compares every vector, and {sources:,} sources are more than {MOST_EXACT:,}: name "
                "fewer ontologies, or documents, or leave it out"
            )

    def _refined(self, asked_for: Asked, *, concepts_alone: bool) -> tuple[Lanes, Refined, LeftOut]:
        """Ask, fuse and refine; deeper where what is left out would make the answer shorter."""
        question, measure, similar = asked_for.question, asked_for.measure, asked_for.similar
        request, depth = question.query.request, question.query.depth
        own = self._asking.submit(self._concepts.own, question) if request.concepts else None
        while True:
            lanes = Lanes() if concepts_alone else self._lanes.run(question, depth)
            with question.watch.stage("fuse"):
                found = fused(lanes.pointed(request.group_by), measure)
            found, untold = self._carried(found, own.result(), question, depth) if own else (found, [])
            kept = similar.apply(found)
            cut = lanes.cut or (concepts_alone and len(found) >= depth)
            deeper = cut and depth < MOST_CHUNKS and _may_be_short(asked_for, similar, lanes)
            if not deeper or len(thinned(kept.hits, request)) >= request.limit:
                refined = self._best(kept.hits, asked_for, similar)
                return lanes, replace(refined, degraded=[*untold, *refined.degraded]), kept.left_out
            depth = MOST_CHUNKS  # once: every round asks all lanes again

    def _best(self, hits: list[Hit], asked_for: Asked, similar: BoundFilter) -> Refined:
        """The best hits; not only such as concepts brought beside one that is not among the best."""
        question, measure = asked_for.question, asked_for.measure
        refined = self._stages.refine(hits, measure, question.scope, question.watch)
        if not refined.hits or any(similar.passes(hit) for hit in refined.hits):
            return refined
        return self._stages.refine(similar.strict(hits), measure, question.scope, question.watch)

    def _carried(
        self, hits: list[Hit], own: OwnConcepts, question: Question, depth: int
    ) -> tuple[list[Hit], list[Degradation]]:
        """What concepts lead to as well."""
        with question.watch.stage("concepts"):
            carried = self._concepts.run(question, own, [hit.found for hit in hits], depth)
        return with_carried(hits, carried.found), carried.degraded

    def _told(
        self, hits: list[Hit], lanes: Lanes, question: Question, spaces: dict[str, str]
    ) -> list[SourceHit]:
        request = question.query.request
        fusion = request.fusion if len(lanes.asked) > 1 else "none"
        if request.concepts:
            fusion = "rrf with concepts" if fusion == "none" else f"{fusion}, then rrf with concepts"
        with question.watch.stage("tell"):
            carried = (
                concepts_of(self._graph, [hit.found.place.source_id for hit in hits])
                if request.include_concepts
                else {}
            )
            telling = Telling(spaces, question.indexes, fusion, explain=request.explain, carried=carried)
            return told(hits, chunk_texts(self._graph, needed_texts(hits)), telling)

    def _degraded(self, question: Question, lanes: Lanes) -> list[Degradation]:
        return degraded.tell(
            question.query,
            question.scope,
            question.vectors,
            lanes,
            text_index=question.populating.get(TEXT_INDEX),
            under_way=self._under_way(lanes, question.scope),
        )

    def _under_way(self, lanes: Lanes, scope: Scope) -> dict[str, Progress]:
        """By ontology, how far embedding is, where only vectors were asked; words tell by what they find."""
        if lanes.text is not None:
            return {}
        within = {name for each in scope.spaces for name in each.filters.ontologies or ()}
        return {name: at for name, at in self._progress.read().items() if not within or name in within}


def _similar(request: SourceSearch, spaces: Iterable[str]) -> SimilarityFilter:
    least = request.min_similarity
    return SimilarityFilter({} if least is None else dict.fromkeys(spaces, least))


def _may_be_short(asked_for: Asked, similar: BoundFilter, lanes: Lanes) -> bool:
    """Whether hits are left out of what lanes found, and deeper ones may hold others."""
    leaves_out = asked_for.question.query.thins_out or bool(similar.similar.least)
    return leaves_out and similar.may_hide(lanes, asked_for.question.scope.slugs)


def _mode(lanes: Lanes) -> Mode:
    if lanes.vectors and lanes.text is not None:
        return "hybrid"
    return "vector" if lanes.vectors else "text"
