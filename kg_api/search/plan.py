"""Search planning: filters, full-text queries, and vectors for a request."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

from kg_api.errors import InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.fulltext import (
    KNOWN_QUESTIONS,
    MAX_TERMS,
    build_fuzzy_queries,
    build_lucene_queries,
    find_synonyms,
    find_unfinished,
    list_word_pairs,
    split_question_terms,
)
from kg_api.graph.search import MAX_CHUNKS, MIN_CROWDED_PASSAGES, TEXT_INDEX, Filters, SpaceVectors
from kg_api.graph.similar import count_sources
from kg_api.graph.spaces import Space
from kg_api.graph.spellings import Variant, find_variants
from kg_api.graph.text_analysis import (
    ENGLISH,
    OMITTED,
    build_fuzzy_clauses,
    detect_language,
    find_stop_words,
    may_be_misspelt,
    stem_question,
)
from kg_api.providers.retrying import ask_at_once
from kg_api.schemas.base import DIGEST, CursorForm, build_alias_scope, digest_cursors
from kg_api.schemas.search import Degradation, Respelling, SourceSearch
from kg_api.schemas.vocabulary import MAX_PAGED_HITS, SearchMode
from kg_api.search.notes import Notes, Stopwatch
from kg_api.search.question import (
    Hyde,
    PictureQuestions,
    PictureVector,
    QueryVector,
    SimilarityFilter,
    describe_missing_answers,
    query_vector,
    reads_text,
    require_space,
)
from kg_api.search.scope import Scope, build_scope, choose
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import OntologySnapshot, Snapshots

# Pages: each returns hits that previous pages did not return

_FORM = CursorForm(2, "next_cursor")
MARK = 5
"""Bytes to use for each hit in a cursor. In the longest walk, a collision is one in a million."""


@dataclass(frozen=True, slots=True)
class HitPage:
    """Page that is requested in a search.

    A cursor contains the returned hits instead of a count. Pages therefore neither repeat nor skip hits, even
    if the order changes slightly (vectors of a remote model differ in the last digits).
    """

    call: bytes = bytes(DIGEST)  # digest of the request
    given: frozenset[bytes] = frozenset()  # hits of previous pages
    may_follow: bool = True  # further pages are available

    def has_returned(self, identity: str) -> bool:
        return bool(self.given) and self._fingerprint(identity) in self.given

    def build_next_cursor(self, identities: Iterable[str]) -> str:
        """Build the cursor to get the next page.

        Args:
            identities: Hits of this page.
        """
        marks = self.given.union(map(self._fingerprint, identities))
        return _FORM.seal(self.call, b"".join(sorted(marks)))

    def _fingerprint(self, identity: str) -> bytes:
        return hashlib.blake2b(identity.encode(), digest_size=MARK, salt=self.call).digest()


def read_page(request: SourceSearch, *, concepts_alone: bool) -> HitPage:
    """Read the requested page.

    Raises:
        InvalidInput: The cursor is damaged, belongs to another search, or exceeds the maximum depth.
    """
    call = digest_cursors(f"{concepts_alone}", request.model_dump_json(exclude={"cursor"}))
    may_follow = request.hyde == 0
    if request.cursor is None:
        return HitPage(call, may_follow=may_follow)
    held = _FORM.unseal(request.cursor, call)
    given = frozenset(held[at : at + MARK] for at in range(0, len(held), MARK))
    if len(given) + request.limit > MAX_PAGED_HITS:
        raise InvalidInput(
            f"cursor: {len(given):,} hits were returned, and the maximum is {MAX_PAGED_HITS:,}. "
            "Narrow the search by ontology, documents, where, or a more precise query"
        )
    return HitPage(call, given, may_follow=may_follow)


# Keywords of a question and their full-text queries


@dataclass(frozen=True)
class Wording:
    """Keywords in a question, and how to search for them."""

    words: Sequence[str] = ()
    light: frozenset[str] = frozenset()  # stop words, in lower case
    ontologies: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None
    synonyms: Sequence[str] = ()  # synonyms from the ontologies, added at half weight
    languages: frozenset[str | None] = frozenset({None})
    """Languages in the ontologies that are searched. None: no language is set."""
    variants: Sequence[Variant] = ()  # other spellings of numbers and letters
    name: str | None = None  # token that marks documents with this alias
    respelt: tuple[Respelling, ...] = ()  # corrections of words that no text contains
    pairs: Sequence[str] = ()  # adjacent words, in lower case
    prefix: str | None = None  # unfinished last word of a question that somebody types
    language: str | None = None  # detected language of the question, such as `german`

    @property
    def compared_pairs(self) -> Sequence[str]:
        """Pairs that have to be found in the texts, because the index omits one of the words.

        Only for short questions.
        """
        short = len(self.pairs) <= FEW_PAIRS
        return self.pairs if short and not OMITTED.isdisjoint(" ".join(self.pairs).split()) else ()

    @cached_property
    def watched(self) -> list[str]:
        """Words in lower case that may be misspelled if they are not in any text."""
        lower = (word.lower() for word in self.words)
        return [word for word in lower if self._may_be_misspelt(word)]

    @property
    def room(self) -> int:
        """Number of words that can be added."""
        return max(0, MAX_TERMS - len(self.words))

    @cached_property
    def queries(self) -> list[str]:
        """Full-text queries in Lucene syntax. For synonyms and corrections, the weight is half."""
        respelt = [word for each in self.respelt for word in each.meant]
        meant = [*respelt, *self.synonyms][: self.room]  # added words never displace words of the question
        light = self.light | {word.lower() for word in meant}
        own = self.words[:MAX_TERMS]
        words = [*own, *meant]
        stems = stem_question(words, self.languages)
        if meant:
            light = light.union(stems).difference(stem_question(own, self.languages))
        return build_lucene_queries(
            words,
            self.ontologies,
            self.document_ids,
            light=light,
            stems=stems,
            variants=self.variants,
            name=self.name,
            phrases=[pair for pair in self.pairs if OMITTED.isdisjoint(pair.split())],
            prefix=self.prefix,
        )

    def list_word_queries(self, word: str) -> list[str]:
        stems = stem_question([word], self.languages)
        return build_lucene_queries([word], self.ontologies, self.document_ids, stems=stems)

    def list_similar_word_queries(self, word: str) -> list[str]:
        return build_fuzzy_queries(build_fuzzy_clauses(word), self.ontologies, self.document_ids)

    def _may_be_misspelt(self, word: str) -> bool:
        known = word in self.light or word in ENGLISH or word == self.prefix
        return may_be_misspelt(word) and not known


FEW_PAIRS = 3
"""Maximum number of pairs in a short question. In `who is on call`, you can only use `call`."""


@lru_cache(KNOWN_QUESTIONS)
def parse_keywords(
    text: str,
    ontologies: tuple[str, ...] | None,
    document_ids: tuple[str, ...] | None,
    synonyms: tuple[str, ...],
    languages: frozenset[str | None],
    *,
    prefix: str | None,
) -> Wording:
    """Parse the keywords in a question. This is cached to get the next page."""
    words = split_question_terms(text)
    return Wording(
        words,
        find_stop_words(words, languages),
        ontologies,
        document_ids,
        synonyms,
        languages,
        variants=find_variants(text),
        name=build_alias_scope(text),
        pairs=list_word_pairs(text),
        prefix=prefix,
        language=detect_language(text),
    )


# Search plan

LANE_DEPTH = 50
"""Number of results that each retriever should have for fusion. 30 to 50 are common."""
COMPARED = 20
"""Minimum full-text results to compare with the query vector. Neo4j takes 0.4 ms for 30 more, and nDCG@10 of
eight sets changes by 0.03 points on average, by 0.17 at most (ADR 20)."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """Complete plan for a search, to be used in all later stages."""

    request: SourceSearch
    known: OntologySnapshot  # all ontologies
    scope: Scope
    filters: Filters = field(default_factory=Filters)
    words_among: Sequence[str] | None = None
    """Documents to filter full-text results, if there are too many to use in the queries."""
    wording: Wording = field(default_factory=Wording)
    depth: int = LANE_DEPTH  # results per retriever
    vectors: Sequence[QueryVector] = ()  # one vector per model
    pictures: Sequence[PictureVector] = ()
    """Vectors to use in image spaces that have a model to embed text."""
    unwritten: Sequence[Degradation] = ()
    """Note about hypothetical answers that the language model did not write."""
    populating: dict[str, str] = field(default_factory=dict[str, str])
    """State for each index that is not online."""
    similar: SimilarityFilter = field(default_factory=SimilarityFilter)
    page: HitPage = field(default_factory=HitPage)
    concepts_alone: bool = False
    """True to find sources only by using the question's concepts."""
    watch: Stopwatch = field(default_factory=Stopwatch)
    notes: Notes = field(default_factory=Notes)  # limitations from all stages

    @property
    def image(self) -> bool | None:
        """Filter for images: True for images only, False for text only, None for both."""
        return self.filters.image

    @property
    def text(self) -> str:
        """Query text. It is empty if the request only has a vector."""
        return self.request.query_text or ""

    @property
    def usable(self) -> dict[str, QueryVector]:
        """Query vectors that can be used, by space slug."""
        return {vector.space.slug: vector for vector in self.vectors if vector.usable}

    @property
    def pictured(self) -> list[PictureVector]:
        """Query vectors to find images."""
        return [each for each in self.pictures if each.vector is not None]

    @property
    def asks_text(self) -> bool:
        """True if full-text search is requested, or if there are no vectors to use."""
        if self.concepts_alone or TEXT_INDEX in self.populating:
            return False
        return self.request.mode != "vector" or (len(self.usable) < len(self.vectors) and bool(self.text))

    def count_candidates(self, filters: Filters) -> int:
        """Compute how many passages to get from a vector index before their scores are exact."""
        crowd = max(1.0, self.known.crowd(filters.ontologies) / MIN_CROWDED_PASSAGES)
        return min(MAX_CHUNKS, int(LANE_DEPTH * math.sqrt(crowd)))

    @property
    def compared_by_words(self) -> int:
        """Number of full-text results that need a similarity for the ranking."""
        all_needed = self.similar.least or self.request.fusion != "adaptive" or not self.models
        return self.depth if all_needed else max(COMPARED, 2 * self.reach)

    @property
    def models(self) -> int:
        """Number of retrievers that use vectors."""
        return 0 if self.concepts_alone else len(self.usable)

    @property
    def lanes(self) -> int:
        """Number of retrievers to run in parallel."""
        return self.models + self.asks_text

    @property
    def mode(self) -> SearchMode:
        if self.models and self.asks_text:
            return "hybrid"
        return "vector" if self.models else "text"

    @property
    def space_vectors(self) -> SpaceVectors:
        """Vectors to measure the similarity of hits that were found in other ways."""
        known = {each.space.slug: each.vector for each in self.vectors if each.vector is not None}
        spaces = [each.space for each in self.scope.spaces]
        return SpaceVectors(
            vectors={space.key: known[space.slug] for space in spaces if space.slug in known},
            properties={space.key: space.vector_property for space in spaces},
            spaces=self.scope.elsewhere,
            parents=self.known.has_parents(self.scope.names),
        )

    def with_wording(self, wording: Wording) -> SearchPlan:
        return replace(self, wording=wording)

    @property
    def reach(self) -> int:
        """Number of hits on this page and on all pages before."""
        return len(self.page.given) + self.request.limit

    @property
    def deeper(self) -> SearchPlan:
        """Plan to go four times deeper, or to the maximum depth.

        The plan uses the maximum if that is less than twice the new depth, or if the search is exact. An
        exact search scans everything at any depth.
        """
        depth = 4 * self.depth
        return replace(self, depth=MAX_CHUNKS if self.request.exact or 2 * depth > MAX_CHUNKS else depth)


# Degradations

MAX_TOLD = 10


def describe_degradations(plan: SearchPlan) -> list[Degradation]:
    """Describe how the plan is different from the request."""
    if plan.concepts_alone:
        return [*plan.unwritten, *describe_concept_degradations(plan.scope, plan.vectors)]
    pictures = [each.degradation for each in plan.pictures if each.degradation is not None]
    told = [*plan.scope.unknown, *plan.unwritten, *_describe_embedding(plan), *pictures]
    state = plan.populating.get(TEXT_INDEX)
    if state is not None and plan.request.mode != "vector":
        effect = f"the full-text index is {state}: searched by vector only"
        told.append(Degradation(part="text_index", effect=effect))
    elif plan.asks_text and (words := len(plan.wording.words)) > MAX_TERMS:
        used = f"kg used the first {MAX_TERMS} words and ignored {words - MAX_TERMS}"
        told.append(Degradation(part="query", effect=f"full text: {used}"))
    elif plan.asks_text and not plan.wording.words:
        effect = "full text: the query contains no word to search for"
        told.append(Degradation(part="query", effect=effect))
    if left_out := plan.scope.left_out:
        names = ", ".join(left_out[:MAX_TOLD]) + (" and more" if len(left_out) > MAX_TOLD else "")
        effect = (
            "query_vector belongs to one space. Vector search skipped the ontologies of other spaces: "
            f"{names}"
        )
        told.append(Degradation(part="vectors", effect=effect))
    if len(plan.usable) > 1 and plan.request.min_similarity is not None:
        effect = (
            f"min_similarity was applied in {len(plan.usable)} spaces alike, though the same number means "
            "different things to different models"
        )
        told.append(Degradation(part="vectors", effect=effect))
    return told


def describe_concept_degradations(scope: Scope, vectors: Sequence[QueryVector]) -> list[Degradation]:
    """Describe the options that a search by concepts alone does not support."""
    faults = [vector.fault for vector in vectors if vector.fault is not None]
    effects = [f"the question could not be embedded ({why}): kg matched names only" for why in faults]
    return [*scope.unknown, *(Degradation(part="embedding", effect=effect) for effect in effects)]


def _describe_embedding(plan: SearchPlan) -> Iterator[Degradation]:
    alone = len(plan.vectors) == 1
    for vector in plan.vectors:
        slug = vector.space.slug
        if vector.fault is not None:
            # Add how a missing vector affects the similarity threshold
            unmeasured = ""
            if slug in plan.similar.least and not plan.similar.keep_unmeasured:
                unmeasured = (
                    ". Full-text hits were dropped, because min_similarity needs a vector. Try again "
                    "later, or omit min_similarity"
                )
            elif slug in plan.similar.least:
                asked_for = plan.request.min_similarity is not None
                which = "min_similarity was not" if asked_for else "no least similarity was"
                unmeasured = f", and {which} applied"
            where = "" if alone else f" in the space {slug!r}"
            searched = "searched" if alone else "kg searched its ontologies"
            effect = (
                f"the question could not be embedded{where} ({vector.fault}): {searched} by full text only"
            )
            yield Degradation(part="embedding", effect=f"{effect}{unmeasured}")
            continue
        if vector.waiting:
            states = (f"the vector index {name} is {plan.populating[name]}" for name in vector.waiting)
            effect = f"{' and '.join(states)}: searched by full text only"
            yield Degradation(part="vector_index", effect=effect)
        if vector.hyde_fault is not None:
            where = f"in the space {slug!r} ({vector.hyde_fault})"
            effect = (
                f"the hypothetical answers could not be embedded {where}: kg searched with the question only"
            )
            yield Degradation(part="hyde", effect=effect)


# Planner

MAX_EXACT = 100_000  # maximum sources of an exact search, which takes seconds
MODELS_AT_ONCE = 16


class SearchPlanner:
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

    def list_query_spaces(self, ontologies: Sequence[str] | None) -> list[Space]:
        """List the spaces that have a model to embed a question.

        Args:
            ontologies: Searched ontologies. None: all.
        """
        known = self._snapshots.get(ontologies or ())
        names, pictures = known.keep_existing(ontologies), known.image_spaces
        seeing = [pictures[name] for name in names if name in pictures and reads_text(pictures[name])]
        return [*map(known.get_space, names), *seeing]

    def plan(
        self, request: SourceSearch, similar: SimilarityFilter | None = None, *, concepts_alone: bool = False
    ) -> SearchPlan:
        """Plan filters, spaces, full-text queries, and vectors.

        `similar` overrides the request's similarity threshold. With `concepts_alone`, sources are found only
        through the question's concepts.

        Raises:
            InvalidInput: The query vector has wrong dimensions, a filter or an exact search is too large, or
                the cursor is invalid.
            Conflict: The query vector belongs to a space that is not searched.
        """
        page = read_page(request, concepts_alone=concepts_alone)
        text, names, watch = request.query_text or "", request.ontologies, Stopwatch()
        fresh = request.documents is not None or bool(request.where)
        new_too = request.follows_concepts and names is None  # concept names are looked up per ontology
        known = self._snapshots.get(names or (), fresh=fresh, new_too=new_too)
        known.require_known(names)
        with watch.stage("filter") if request.documents or request.where else nullcontext():
            chosen = choose(self._graph, self._remembered, request, known.keep_existing(names))
        filters = replace(chosen.filters, sources=chosen.filters.sources.restrict_to_kinds(request.kinds))
        scope = build_scope(request, filters, known, chosen.notes, chosen.matching)
        require_space(request, scope.slugs)
        if request.exact and (request.documents is None or request.where):
            self._require_few(names or list(known.embedding_states), filters)
        indexes = () if request.exact else (each.space.index_name for each in scope.spaces)
        populating = self._snapshots.read_populating(TEXT_INDEX, *indexes)
        with watch.stage("hyde") if request.hyde else nullcontext():
            hypothetical, hyde_fault = self._hyde.generate(request)
        pictured = [] if concepts_alone else self._pictures.list_spaces(request, known, scope, filters)
        with watch.stage("embed"):
            embed = partial(self._get_vector, request, scope, populating, hypothetical)
            texts = [partial(embed, each) for each in scope.models]
            images = [partial(self._pictures.embed, text, *each) for each in pictured]
            found = ask_at_once([*texts, *images], MODELS_AT_ONCE)
        wording = parse_keywords(
            text,
            None if filters.ontologies is None else tuple(filters.ontologies),
            None if chosen.in_queries is None else tuple(chosen.in_queries),
            tuple(find_synonyms(text, known.select_synonyms(filters.ontologies))),
            known.get_languages(filters.ontologies),
            prefix=find_unfinished(text) if request.prefix else None,
        )
        if similar is None:
            least, spaces = request.min_similarity, {*scope.answering.values(), scope.new}
            similar = SimilarityFilter({} if least is None else dict.fromkeys(spaces, least))
        plan = SearchPlan(
            request=request,
            known=known,
            scope=scope,
            filters=filters,
            wording=wording,
            words_among=chosen.behind_queries,
            depth=max(LANE_DEPTH, 3 * request.limit),
            vectors=[each for each in found if isinstance(each, QueryVector)],
            pictures=[each for each in found if isinstance(each, PictureVector)],
            unwritten=[*describe_missing_answers(request, hypothetical, hyde_fault)],
            populating=populating,
            similar=similar,
            page=page,
            concepts_alone=concepts_alone,
            watch=watch,
        )
        plan.notes.record("plan", describe_degradations(plan))
        return plan

    def _require_few(self, names: Sequence[str], filters: Filters) -> None:
        """Raise InvalidInput if an exact search would take too long."""
        sources = count_sources(self._graph, names, filters.document_ids, filters.sources)
        if sources > MAX_EXACT:
            raise InvalidInput(
                f"exact compares every vector, and {sources:,} sources are more than {MAX_EXACT:,}. "
                "Name fewer ontologies or documents, or omit exact"
            )

    def _get_vector(
        self,
        request: SourceSearch,
        scope: Scope,
        populating: dict[str, str],
        hypothetical: list[str],
        space: Space,
    ) -> QueryVector:
        waiting = [name for name in scope.list_indexes(space) if name in populating]
        return query_vector(request, self._spaces.get_open(space), waiting, hypothetical)
