"""Planning: request -> where to look, and the question embedded once for each model."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import replace

from kg_api.embed.known import IN_PROCESS
from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph
from kg_api.graph.filters.remembered import RememberedFilters
from kg_api.graph.fulltext.queries import terms, word_pairs
from kg_api.graph.fulltext.stopwords import stop_words_of
from kg_api.graph.fulltext.synonyms import synonyms_in
from kg_api.graph.fulltext.variants import find_variants
from kg_api.graph.readiness import IndexWatch
from kg_api.graph.search.passages import TEXT_INDEX, Filters
from kg_api.graph.search.similar import count_sources
from kg_api.graph.spaces.registry import Space
from kg_api.models.identity import scope_of_alias
from kg_api.models.queries.search import SourceSearch
from kg_api.search.plan.chosen import choose
from kg_api.search.plan.degradations import describe_degradations
from kg_api.search.plan.hyde import Hyde
from kg_api.search.plan.page import read_page
from kg_api.search.plan.picture_vectors import PictureQuestions, PictureVector, reads_text
from kg_api.search.plan.query_vector import QueryVector, query_vector, require_space
from kg_api.search.plan.scope import Scope, scope_of
from kg_api.search.plan.search_plan import LANE_DEPTH, SearchPlan
from kg_api.search.plan.similarity import SimilarityFilter
from kg_api.search.plan.wording import Wording
from kg_api.search.timing import Stopwatch
from kg_api.spaces.plans import OntologySnapshot, PlanWatch
from kg_api.spaces.registry import SpaceRegistry

MAX_EXACT = 100_000
"""Sources whose vectors are all compared for one question: some seconds."""
THREADS = 16


class SearchPlanner:
    """Works out what to ask where."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        hyde: Hyde,
        plans: PlanWatch,
        indexes: IndexWatch,
        *,
        pictures: PictureQuestions,
    ) -> None:
        self._graph = graph
        self._remembered = RememberedFilters(graph)
        self._spaces = spaces
        self._hyde = hyde
        self._plans = plans
        self._indexes = indexes
        self._pictures = pictures
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="question")
        """Apart from the lanes: a provider that is slow holds up nobody else."""

    def close(self) -> None:
        self._pool.shutdown()

    def providers(self, ontologies: Sequence[str] | None) -> frozenset[str]:
        """Services that embed a question which is looked for by meaning, outside of this process.

        Args:
            ontologies: where it is looked for; None: in all.
        """
        return frozenset(each.identity.provider for each in self.spaces_asked(ontologies)) - IN_PROCESS

    def spaces_asked(self, ontologies: Sequence[str] | None) -> list[Space]:
        """Spaces whose models embed a question which is looked for by meaning.

        Args:
            ontologies: where it is looked for; None: in all.
        """
        known = self._plans.known(ontologies or ())
        names, pictures = known.there(ontologies), known.image_spaces
        seeing = [pictures[name] for name in names if name in pictures and reads_text(pictures[name])]
        return [*map(known.space_of, names), *seeing]

    def plan(
        self, request: SourceSearch, similar: SimilarityFilter | None = None, *, concepts_alone: bool = False
    ) -> SearchPlan:
        """Work out filters, spaces, full-text queries and vectors.

        Args:
            request: what is looked for.
            similar: what is similar enough; None: as the request has it.
            concepts_alone: whether sources are found through the question's concepts only.

        Raises:
            InvalidInput: the query vector does not fit its space, the filters name too many documents, there
                are too many vectors for an exact search, or the cursor is none for this search.
            Conflict: the query vector is of a space that is not searched.
        """
        page = read_page(request, concepts_alone=concepts_alone)
        known, watch = self._known(request), Stopwatch()
        known.require_known(request.ontologies)
        words = terms(request.query_text or "")
        with watch.stage("filter") if request.documents or request.where else nullcontext():
            chosen = choose(self._graph, self._remembered, request, known.there(request.ontologies))
        of_kinds = chosen.filters.sources.of_kinds(request.kinds)
        filters = replace(chosen.filters, sources=of_kinds)
        scope = scope_of(request, filters, known, chosen.notes, chosen.matching)
        require_space(request, scope.slugs)
        self._require_few(request, known, filters)
        populating = self._populating(request, scope)
        with watch.stage("hyde") if request.hyde else nullcontext():
            hypothetical, hyde_fault = self._hyde.generate(request)
        pictures = [] if concepts_alone else self._pictures.spaces(request, known, scope, filters)
        with watch.stage("embed"):
            seeing = self._see(request.query_text or "", pictures)
            vectors = self._vectors(request, scope, populating, hypothetical)
        synonyms = synonyms_in(request.query_text or "", known.synonyms_of(filters.ontologies))
        languages = known.languages_of(filters.ontologies)
        light = stop_words_of(words, languages)
        wording = Wording(
            words,
            light,
            filters.ontologies,
            chosen.in_queries,
            synonyms,
            languages,
            variants=find_variants(request.query_text or ""),
            name=scope_of_alias(request.query_text or ""),
        )
        plan = SearchPlan(
            request=request,
            known=known,
            scope=scope,
            filters=filters,
            full_text=wording.queries,
            wording=wording,
            words_among=chosen.behind_queries,
            word_pairs=word_pairs(request.query_text or ""),
            words=len(words),
            depth=max(LANE_DEPTH, 3 * request.limit),
            vectors=vectors,
            pictures=seeing.result() if seeing else (),
            hyde_fault=hyde_fault,
            populating=populating,
            similar=similar or _similar(request, scope),
            page=page,
            concepts_alone=concepts_alone,
            watch=watch,
        )
        plan.notes.record("plan", describe_degradations(plan))
        return plan

    def _see(
        self, text: str, spaces: Sequence[tuple[Space, list[str]]]
    ) -> Future[list[PictureVector]] | None:
        """Embed a question for pictures, beside all else; a search without any waits for no thread."""
        if not spaces:
            return None
        return self._pool.submit(copy_context().run, self._pictures.embed, text, spaces)

    def _known(self, request: SourceSearch) -> OntologySnapshot:
        named = request.documents is not None or bool(request.where)
        new_too = request.follows_concepts and request.ontologies is None  # concepts are named in ontologies
        return self._plans.known(request.ontologies or (), fresh=named, new_too=new_too)

    def _require_few(self, request: SourceSearch, known: OntologySnapshot, filters: Filters) -> None:
        """Raise InvalidInput where comparing every vector would take too long."""
        if not request.exact or (request.documents is not None and not request.where):
            return
        names = request.ontologies or list(known.embedding_states)
        sources = count_sources(self._graph, names, filters.document_ids, filters.sources)
        if sources > MAX_EXACT:
            raise InvalidInput(
                f"exact compares every vector, and {sources:,} sources are more than {MAX_EXACT:,}: name "
                "fewer ontologies, or documents, or leave it out"
            )

    def _populating(self, request: SourceSearch, scope: Scope) -> dict[str, str]:
        names = () if request.exact else (each.space.index_name for each in scope.spaces)
        return self._indexes.populating(TEXT_INDEX, *names)

    def _vectors(
        self, request: SourceSearch, scope: Scope, populating: dict[str, str], hypothetical: list[str]
    ) -> list[QueryVector]:
        """One for each model, side by side where there are several."""

        def one(space: Space) -> QueryVector:
            waiting = [name for name in scope.indexes(space) if name in populating]
            return query_vector(request, self._spaces.of(space), waiting, hypothetical)

        models = scope.models
        if len(models) == 1:
            return [one(models[0])]
        waiting = [self._pool.submit(copy_context().run, one, each) for each in models]
        return [each.result() for each in waiting]


def _similar(request: SourceSearch, scope: Scope) -> SimilarityFilter:
    least = request.min_similarity
    spaces = {*scope.answering.values(), scope.new}
    return SimilarityFilter({} if least is None else dict.fromkeys(spaces, least))
