"""Planning a search: from a request to filters, full-text queries and vectors."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from kg_api.errors import InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.fulltext import (
    KNOWN_QUESTIONS,
    MAX_TERMS,
    fuzzy_queries,
    lucene_queries,
    question_terms,
    synonyms_in,
    word_pairs,
)
from kg_api.graph.search import CROWDED, MAX_CHUNKS, TEXT_INDEX, Filters, SpaceVectors
from kg_api.graph.similar import count_sources
from kg_api.graph.spaces import Space
from kg_api.graph.text_analysis import (
    ENGLISH,
    OMITTED,
    Variant,
    find_variants,
    fuzzy_clauses,
    may_be_misspelt,
    stems_of_question,
    stop_words_of,
)
from kg_api.providers.embedding_port import IN_PROCESS
from kg_api.schemas.base import DIGEST, CursorForm, digest_cursors, scope_of_alias
from kg_api.schemas.search import Degradation, Respelling, SourceSearch
from kg_api.schemas.vocabulary import MAX_PAGED_HITS, SearchMode
from kg_api.search.notes import Notes, Stopwatch
from kg_api.search.question import (
    Hyde,
    PictureQuestions,
    PictureVector,
    QueryVector,
    SimilarityFilter,
    query_vector,
    reads_text,
    require_space,
)
from kg_api.search.scope import Scope, choose, scope_of
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import OntologySnapshot, Snapshots

# Pages of a search: each one gives what those before it have not given.

_FORM = CursorForm(2, "next_cursor")
MARK = 5
"""Bytes that stand for a hit in a cursor. In the longest walk two are taken for one once in a million."""


@dataclass(frozen=True, slots=True)
class HitPage:
    """Which page of a search is wanted.

    A cursor says which hits were given, not how many: so none comes twice, and none is passed over, also
    where the order is not quite the same again (vectors of a remote model differ in their last digits).
    """

    call: bytes = bytes(DIGEST)
    """The digest of what is asked."""
    given: frozenset[bytes] = frozenset()
    """What the pages before gave."""
    may_follow: bool = True
    """Whether further pages can be asked for."""

    def gave(self, identity: str) -> bool:
        """Whether a page before this one had a hit."""
        return bool(self.given) and self._mark(identity) in self.given

    def next_cursor(self, identities: Iterable[str]) -> str:
        """The cursor behind this page.

        Args:
            identities: what this page gives.
        """
        marks = self.given.union(map(self._mark, identities))
        return _FORM.seal(self.call, b"".join(sorted(marks)))

    def _mark(self, identity: str) -> bytes:
        return hashlib.blake2b(identity.encode(), digest_size=MARK, salt=self.call).digest()


def read_page(request: SourceSearch, *, concepts_alone: bool) -> HitPage:
    """The page that a request asks for.

    Raises:
        InvalidInput: its cursor is damaged, belongs to another search, or leads too deep.
    """
    call = digest_cursors(f"{concepts_alone}", request.model_dump_json(exclude={"cursor"}))
    may_follow = request.hyde == 0
    if request.cursor is None:
        return HitPage(call, may_follow=may_follow)
    held = _FORM.unseal(request.cursor, call)
    given = frozenset(held[at : at + MARK] for at in range(0, len(held), MARK))
    if len(given) + request.limit > MAX_PAGED_HITS:
        raise InvalidInput(
            f"cursor: {len(given):,} hits were given, and pages go no deeper than {MAX_PAGED_HITS:,}; narrow "
            "the search by ontology, documents or where, or ask more exactly"
        )
    return HitPage(call, given, may_follow=may_follow)


# The words of a question, and what full text is asked for them. Pure.


@dataclass(frozen=True)
class Wording:
    """The words of a question, and how they are looked for."""

    words: Sequence[str] = ()
    light: frozenset[str] = frozenset()
    """Those that say little, in lower case."""
    ontologies: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None
    synonyms: Sequence[str] = ()
    """What searches of an ontology take for some of them, added at half weight."""
    languages: frozenset[str | None] = frozenset({None})
    """Of the ontologies that are searched; None: some have none."""
    variants: Sequence[Variant] = ()
    """Other ways to write its numbers and letters."""
    name: str | None = None
    """The token of the documents whose alias it is."""
    respelt: tuple[Respelling, ...] = ()
    """What takes the place of words that no text has."""
    pairs: Sequence[str] = ()
    """Words that stand beside each other in it, in lower case."""

    @property
    def compared_pairs(self) -> Sequence[str]:
        """Pairs that only the texts tell, for the index leaves out a word: of short questions."""
        short = len(self.pairs) <= FEW_PAIRS
        return self.pairs if short and not OMITTED.isdisjoint(" ".join(self.pairs).split()) else ()

    @cached_property
    def watched(self) -> list[str]:
        """Words, in lower case, that may be misspelt where no text has them."""
        lower = (word.lower() for word in self.words)
        return [word for word in lower if self._may_be_misspelt(word)]

    @property
    def room(self) -> int:
        """How many words may be added to it."""
        return max(0, MAX_TERMS - len(self.words))

    @cached_property
    def queries(self) -> list[str]:
        """In Lucene syntax; what may be meant by a word counts half, for it may not be."""
        respelt = [word for each in self.respelt for word in each.meant]
        meant = [*respelt, *self.synonyms][: self.room]  # what was asked itself gives way to nothing
        light = self.light | {word.lower() for word in meant}
        words = [*self.words[:MAX_TERMS], *meant]
        stems = stems_of_question(words, self.languages)
        return lucene_queries(
            words,
            self.ontologies,
            self.document_ids,
            light=light,
            stems=stems,
            variants=self.variants,
            name=self.name,
            phrases=[pair for pair in self.pairs if OMITTED.isdisjoint(pair.split())],
        )

    def queries_for(self, word: str) -> list[str]:
        stems = stems_of_question([word], self.languages)
        return lucene_queries([word], self.ontologies, self.document_ids, stems=stems)

    def queries_near(self, word: str) -> list[str]:
        return fuzzy_queries(fuzzy_clauses(word), self.ontologies, self.document_ids)

    def _may_be_misspelt(self, word: str) -> bool:
        return may_be_misspelt(word) and word not in self.light and word not in ENGLISH


FEW_PAIRS = 3
"""In `who is on call` only `call` tells passages apart by itself."""


@lru_cache(KNOWN_QUESTIONS)
def word_question(
    text: str,
    ontologies: tuple[str, ...] | None,
    document_ids: tuple[str, ...] | None,
    synonyms: tuple[str, ...],
    languages: frozenset[str | None],
) -> Wording:
    """Return the words of a question and how they are looked for, remembered for the next page."""
    words = question_terms(text)
    return Wording(
        words,
        stop_words_of(words, languages),
        ontologies,
        document_ids,
        synonyms,
        languages,
        variants=find_variants(text),
        name=scope_of_alias(text),
        pairs=word_pairs(text),
    )


# What is asked where.

LANE_DEPTH = 50
"""How many of each lane are fused, at least; the field uses 30 to 50 and more."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """One search, ready to be done: all that the steps behind it know of the request."""

    request: SourceSearch
    known: OntologySnapshot
    """All ontologies."""
    scope: Scope
    filters: Filters = field(default_factory=Filters)
    full_text: Sequence[str] = ()
    """In Lucene syntax; several when the filters name very many documents."""
    words_among: Sequence[str] | None = None
    """Documents that what words find is filtered by, where they are too many for the queries themselves."""
    wording: Wording = field(default_factory=Wording)
    """Where `full_text` comes from."""
    words: int = 0
    """How many different words the question has."""
    depth: int = LANE_DEPTH
    """Hits to fetch from each lane."""
    vectors: Sequence[QueryVector] = ()
    """The question's, one for each model."""
    pictures: Sequence[PictureVector] = ()
    """The question's in each space of pictures whose model reads text."""
    hyde_fault: str | None = None
    """Why there are no hypothetical answers, though they were asked for."""
    populating: dict[str, str] = field(default_factory=dict[str, str])
    """Indexes that are not online, and their state."""
    similar: SimilarityFilter = field(default_factory=SimilarityFilter)
    """What is similar enough."""
    page: HitPage = field(default_factory=HitPage)
    """Which of the hits are wanted."""
    concepts_alone: bool = False
    """Whether sources are found through the question's concepts only."""
    watch: Stopwatch = field(default_factory=Stopwatch)
    notes: Notes = field(default_factory=Notes)
    """What could not be done, of all steps."""

    @property
    def image(self) -> bool | None:
        """Whether only pictures are wanted, or only what is none; None: both."""
        return self.filters.image

    @property
    def text(self) -> str:
        """The words asked for; empty when only a vector was given."""
        return self.request.query_text or ""

    @property
    def usable(self) -> dict[str, QueryVector]:
        """The vectors that a lane can be asked with, by the slug of their space."""
        return {vector.space.slug: vector for vector in self.vectors if vector.usable}

    @property
    def pictured(self) -> list[PictureVector]:
        """Those that pictures are looked for by."""
        return [each for each in self.pictures if each.vector is not None]

    @property
    def asks_text(self) -> bool:
        """Whether words are looked for: asked for, or in the place of vectors that are not to be had."""
        if self.concepts_alone or TEXT_INDEX in self.populating:
            return False
        return self.request.mode != "vector" or (len(self.usable) < len(self.vectors) and bool(self.text))

    def candidates(self, filters: Filters) -> int:
        """Passages to ask a vector index for; the nearest of them, by exact cosine, are the lane."""
        crowd = max(1.0, self.known.crowd(filters.ontologies) / CROWDED)
        return min(MAX_CHUNKS, int(LANE_DEPTH * math.sqrt(crowd)))

    @property
    def models(self) -> int:
        """How many vectors are asked with, each one in a lane of its own."""
        return 0 if self.concepts_alone else len(self.usable)

    @property
    def lanes(self) -> int:
        """How many are asked side by side."""
        return self.models + self.asks_text

    @property
    def mode(self) -> SearchMode:
        if self.models and self.asks_text:
            return "hybrid"
        return "vector" if self.models else "text"

    @property
    def space_vectors(self) -> SpaceVectors:
        """The vectors, as lanes take them that find by something else and measure by them."""
        known = {each.space.slug: each.vector for each in self.vectors if each.vector is not None}
        spaces = [each.space for each in self.scope.spaces]
        return SpaceVectors(
            vectors={space.key: known[space.slug] for space in spaces if space.slug in known},
            properties={space.key: space.vector_property for space in spaces},
            spaces=self.scope.elsewhere,
            parents=self.known.has_parents(self.scope.names),
        )

    def worded(self, wording: Wording) -> SearchPlan:
        return replace(self, full_text=wording.queries, wording=wording)

    @property
    def reach(self) -> int:
        """How many hits this page and those before it have."""
        return len(self.page.given) + self.request.limit

    @property
    def deeper(self) -> SearchPlan:
        """The same, with lanes four times as deep; as deep as they go when that is half of the way, or exact.

        An exact lane scans everything at any depth, and a last step of a fifth would gain next to nothing.
        """
        depth = 4 * self.depth
        return replace(self, depth=MAX_CHUNKS if self.request.exact or 2 * depth > MAX_CHUNKS else depth)


# What of a plan is not as it was asked for, in words. Pure.

MAX_TOLD = 10


def describe_degradations(plan: SearchPlan) -> list[Degradation]:
    """What will be left out or done another way."""
    if plan.concepts_alone:
        return describe_concept_degradations(plan.scope, plan.vectors)
    pictures = (each.degradation for each in plan.pictures)
    told = [*plan.scope.unknown, *_embedding(plan), *(each for each in pictures if each is not None)]
    state = plan.populating.get(TEXT_INDEX)
    if state is not None and plan.request.mode != "vector":
        effect = f"the full-text index is {state}: searched by vector only"
        told.append(Degradation(part="text_index", effect=effect))
    elif plan.asks_text and plan.words > MAX_TERMS:
        used = f"the first {MAX_TERMS} words were used, {plan.words - MAX_TERMS} were left out"
        told.append(Degradation(part="query", effect=f"full text: {used}"))
    elif plan.asks_text and not plan.words:
        effect = "full text: there is no word in the query to look for"
        told.append(Degradation(part="query", effect=effect))
    if left_out := plan.scope.left_out:
        names = ", ".join(left_out[:MAX_TOLD]) + (" and more" if len(left_out) > MAX_TOLD else "")
        effect = f"query_vector is of one space; ontologies of other spaces were not searched by it: {names}"
        told.append(Degradation(part="vectors", effect=effect))
    if len(plan.usable) > 1 and plan.request.min_similarity is not None:
        effect = (
            f"min_similarity was applied in {len(plan.usable)} spaces alike, though the same number means "
            "different things to different models"
        )
        told.append(Degradation(part="vectors", effect=effect))
    return told


def describe_concept_degradations(scope: Scope, vectors: Sequence[QueryVector]) -> list[Degradation]:
    """What could not be done where sources are found through the question's concepts only."""
    faults = [vector.fault for vector in vectors if vector.fault is not None]
    effects = [f"the question could not be embedded ({why}): looked for by name only" for why in faults]
    return [*scope.unknown, *(Degradation(part="embedding", effect=effect) for effect in effects)]


def _embedding(plan: SearchPlan) -> Iterator[Degradation]:
    alone = len(plan.vectors) == 1
    for at, vector in enumerate(plan.vectors):
        slug = vector.space.slug
        if vector.fault is not None:
            # What becomes of a least similarity without a vector ends the sentence
            unmeasured = ""
            if slug in plan.similar.least and not plan.similar.keep_unmeasured:
                unmeasured = (
                    ", and what that found was left out, for min_similarity cannot be applied without a "
                    "vector; try again later, or leave min_similarity out"
                )
            elif slug in plan.similar.least:
                asked_for = plan.request.min_similarity is not None
                which = "min_similarity was not" if asked_for else "no least similarity was"
                unmeasured = f", and {which} applied"
            where = "" if alone else f" in the space {slug!r}"
            searched = "searched" if alone else "its ontologies were searched"
            effect = (
                f"the question could not be embedded{where} ({vector.fault}): {searched} by full text only"
            )
            yield Degradation(part="embedding", effect=f"{effect}{unmeasured}")
            continue
        if vector.waiting:
            states = (f"the vector index {name} is {plan.populating[name]}" for name in vector.waiting)
            effect = f"{' and '.join(states)}: searched by full text only"
            yield Degradation(part="vector_index", effect=effect)
        if at == 0 and plan.hyde_fault is not None:
            effect = f"no hypothetical answers ({plan.hyde_fault}): searched by the question alone"
            yield Degradation(part="hyde", effect=effect)
        if vector.hyde_fault is not None:
            where = f"in the space {slug!r} ({vector.hyde_fault})"
            effect = f"the hypothetical answers could not be embedded {where}: searched by the question alone"
            yield Degradation(part="hyde", effect=effect)


# Planning: request -> where to look, and the question embedded once for each model.

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
        snapshots: Snapshots,
        *,
        pictures: PictureQuestions,
    ) -> None:
        self._graph = graph
        self._remembered = snapshots.filters
        self._spaces = spaces
        self._hyde = hyde
        self._snapshots = snapshots
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
        known = self._snapshots.known(ontologies or ())
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
        text, names, watch = request.query_text or "", request.ontologies, Stopwatch()
        fresh = request.documents is not None or bool(request.where)
        new_too = request.follows_concepts and names is None  # concepts are named in ontologies
        known = self._snapshots.known(names or (), fresh=fresh, new_too=new_too)
        known.require_known(names)
        with watch.stage("filter") if request.documents or request.where else nullcontext():
            chosen = choose(self._graph, self._remembered, request, known.there(names))
        filters = replace(chosen.filters, sources=chosen.filters.sources.of_kinds(request.kinds))
        scope = scope_of(request, filters, known, chosen.notes, chosen.matching)
        require_space(request, scope.slugs)
        if request.exact and (request.documents is None or request.where):
            self._require_few(names or list(known.embedding_states), filters)
        indexes = () if request.exact else (each.space.index_name for each in scope.spaces)
        populating = self._snapshots.populating(TEXT_INDEX, *indexes)
        with watch.stage("hyde") if request.hyde else nullcontext():
            hypothetical, hyde_fault = self._hyde.generate(request)
        pictured = [] if concepts_alone else self._pictures.spaces(request, known, scope, filters)
        with watch.stage("embed"):
            # Beside all else; a search without pictures waits for no thread
            see = self._pictures.embed
            seeing = self._pool.submit(copy_context().run, see, text, pictured) if pictured else None
            vectors = self._vectors(request, scope, populating, hypothetical)
        wording = word_question(
            text,
            None if filters.ontologies is None else tuple(filters.ontologies),
            None if chosen.in_queries is None else tuple(chosen.in_queries),
            tuple(synonyms_in(text, known.synonyms_of(filters.ontologies))),
            known.languages_of(filters.ontologies),
        )
        if similar is None:
            least, spaces = request.min_similarity, {*scope.answering.values(), scope.new}
            similar = SimilarityFilter({} if least is None else dict.fromkeys(spaces, least))
        plan = SearchPlan(
            request=request,
            known=known,
            scope=scope,
            filters=filters,
            full_text=wording.queries,
            wording=wording,
            words_among=chosen.behind_queries,
            words=len(wording.words),
            depth=max(LANE_DEPTH, 3 * request.limit),
            vectors=vectors,
            pictures=seeing.result() if seeing else (),
            hyde_fault=hyde_fault,
            populating=populating,
            similar=similar,
            page=page,
            concepts_alone=concepts_alone,
            watch=watch,
        )
        plan.notes.record("plan", describe_degradations(plan))
        return plan

    def _require_few(self, names: Sequence[str], filters: Filters) -> None:
        """Raise InvalidInput where comparing every vector would take too long."""
        sources = count_sources(self._graph, names, filters.document_ids, filters.sources)
        if sources > MAX_EXACT:
            raise InvalidInput(
                f"exact compares every vector, and {sources:,} sources are more than {MAX_EXACT:,}: name "
                "fewer ontologies, or documents, or leave it out"
            )

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
