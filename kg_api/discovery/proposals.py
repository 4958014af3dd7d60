"""Proposed links between documents: the job that finds links, and the decisions of users."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import regex

from kg_api.errors import NotFound
from kg_api.extraction.language import get_zipf_frequency
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_vectors import find_near_concept_pairs
from kg_api.graph.jobs import (
    CONCEPT_EMBEDDING,
    EXTRACTION,
    LINK_PROPOSAL,
    SOURCE_EMBEDDING,
    ensure_job,
    is_any_requested,
    must_wait_to_restart,
    request_job,
)
from kg_api.graph.proposals import (
    DueNode,
    FlaggedTo,
    LinkEnd,
    NewProposal,
    Pair,
    StoredProposals,
    count_due,
    find_unconnected_pairs,
    flag_all_nodes,
    flag_portion,
    note_flagged,
    note_searched,
    note_seen,
    read_all_proposals,
    read_due,
    read_proposals,
    read_proposals_page,
    write_proposals,
)
from kg_api.graph.reach import is_visible
from kg_api.graph.search import ChunkText, read_chunk_texts
from kg_api.graph.similar import describe_places
from kg_api.graph.spaces import Space
from kg_api.graph.vectors import BEGINNING
from kg_api.jobs.runner import JobRun
from kg_api.schemas.base import compute_digest, hash_content
from kg_api.schemas.operations import JobStarted
from kg_api.schemas.proposals import Proposals
from kg_api.schemas.search import Place
from kg_api.schemas.spaces import USUAL
from kg_api.schemas.vocabulary import ProposalKind, ProposalState
from kg_api.search.rank import list_trigrams
from kg_api.settings import ProposalSettings
from kg_api.spaces.plans import read_embedding_state
from kg_api.wording import are, pluralize

# Mutual nearest neighbours

NEIGHBOURS_COMPARED = 10  # per node: their texts also show whether its text is repeated
MAX_SOURCES = 50  # a concept with more sources is too common for a link


@dataclass(frozen=True, slots=True)
class Neighbour:
    id: str
    similarity: float
    own_chunk_id: str | None = None  # nearest part of the queried node
    chunk_id: str | None = None  # nearest part of this node


Neighbours = Mapping[str, Sequence[Neighbour]]
"""Neighbours by node id, nearest first, without nodes of the same document."""


def list_unknown_neighbours(
    node_ids: Iterable[str], near: Neighbours, within: int, min_similarity: float
) -> list[str]:
    """Return the similar neighbours whose neighbours have not been read yet."""
    nearest_nodes = (each for node_id in node_ids for each in near.get(node_id, ())[:within])
    return list({each.id for each in nearest_nodes if each.similarity >= min_similarity} - near.keys())


def find_mutual_pairs(
    node_ids: Sequence[str], near: Neighbours, within: int, min_similarity: float
) -> Iterator[tuple[str, Neighbour]]:
    """Yield each pair of nodes that are both among the `within` nearest neighbours of the other."""
    seen = set[frozenset[str]]()
    for node_id in node_ids:
        for neighbour in near.get(node_id, ())[:within]:
            pair = frozenset((node_id, neighbour.id))
            if neighbour.similarity < min_similarity or pair in seen:
                continue
            if any(back.id == node_id for back in near.get(neighbour.id, ())[:within]):
                seen.add(pair)
                yield node_id, neighbour


def compute_contrast(node_id: str, near: Neighbour, neighbours: Neighbours) -> float:
    """Return the cosine of two nodes, minus the mean cosine of both nodes with their other neighbours.

    A node in a dense region is near to all its neighbours (cross-domain similarity local scaling: Conneau et
    al., ICLR 2018).
    """
    similarities = [
        each.similarity
        for end in (node_id, near.id)
        for each in neighbours.get(end, ())
        if each.id not in {node_id, near.id}
    ]
    return near.similarity - (sum(similarities) / len(similarities) if similarities else 0.0)


# Reason of a proposal

MAX_WORDS: Final = 6
COMMON: Final = 5.0
"""Minimum Zipf frequency of words that are too common for a reason (5: once in ten thousand words)."""
_WORD = regex.compile(r"[\p{L}\p{N}_]{3,}")
_NOUNS: Final[dict[ProposalKind, str]] = {"source": "passage", "concept": "concept"}


def describe_link_reason(
    kind: ProposalKind, similarity: float, *, within: int, hops: int, contrast: float, shared: list[str]
) -> str:
    noun = _NOUNS[kind]
    closest = "Closest" if within == 1 else f"Among the {within} closest"
    near = f"similarity {similarity:.2f}, {contrast:.2f} above other neighbours"
    reason = f"{closest} {noun}s of two documents ({near}). Not connected within {pluralize(hops, 'step')}."
    return f"{reason} Shared words: {', '.join(shared)}." if shared else reason


def find_shared_words(one: str, other: str) -> list[str]:
    """Find up to `MAX_WORDS` of the rarest words in both texts, rarest first."""
    a, b = (dict.fromkeys(each.casefold() for each in _WORD.findall(text)) for text in (one, other))
    rarity = {each: get_zipf_frequency(each, "en") or 0.0 for each in a if each in b and not each.isdigit()}
    rare = [each for each, frequency in rarity.items() if frequency < COMMON]
    return sorted(rare, key=lambda each: (rarity[each], each))[:MAX_WORDS]


# Repeated texts and texts with little content

MIN_SHARED: Final = 0.35  # minimum share of the phrases of a text that another text repeats
MAX_REPEATING: Final = 1  # maximum number of other documents that repeat a text
MIN_FORM: Final = 0.1  # like MIN_SHARED, for sections with the same heading, which may be a form
MIN_PHRASES: Final = 12  # minimum trigrams of a text, about equal to its words
MIN_LETTERS: Final = 0.72
"""Share of letters in the visible characters. Prose has 0.9, listings and data 0.6 to 0.7."""
MAX_FIELDS: Final = 0.5  # maximum share of lines like `Name: value`
COPIED: Final = 0.7  # minimum share of the phrases of the shorter text for a copy
_LETTER = regex.compile(r"[\p{L}\p{M}]")
_VISIBLE = regex.compile(r"\S")
_FIELD = regex.compile(r"^\p{L}[\p{L}-]*:(\s|$)", regex.MULTILINE)
_LINE = regex.compile(r"^\s*\S", regex.MULTILINE)


def is_prose(text: str) -> bool:
    """Check if a text is prose, not a heading, a list item, a listing or a table of fields."""
    return (
        len(list_trigrams(text)) >= MIN_PHRASES
        and _count(_LETTER, text) >= MIN_LETTERS * _count(_VISIBLE, text)
        and _count(_FIELD, text) <= MAX_FIELDS * _count(_LINE, text)
    )


@dataclass(frozen=True, slots=True)
class PlacedText:
    document_id: str
    heading: Sequence[str]  # path of headings
    text: str


def is_repeated(own: PlacedText, others: Iterable[PlacedText]) -> bool:
    """Check if several other documents repeat a large part of a text, such as a licence.

    In a section with the same heading, such as acknowledgements, a smaller part is enough.
    """
    phrases = list_trigrams(own.text)
    repeating = {
        other.document_id
        for other in others
        if (len(phrases & list_trigrams(other.text)) / len(phrases))
        >= (MIN_FORM if _is_same_section(own, other) else MIN_SHARED)
    }
    return len(repeating) > MAX_REPEATING


def is_copy(one: str, other: str) -> bool:
    """Check if one of two texts contains most of the other, so that a link would add nothing."""
    a, b = list_trigrams(one), list_trigrams(other)
    return len(a & b) >= COPIED * min(len(a), len(b))


def _is_same_section(own: PlacedText, other: PlacedText) -> bool:
    names = [each.heading[-1].casefold() if each.heading else "" for each in (own, other)]
    return bool(names[0]) and names[0] == names[1]


def _count(pattern: regex.Pattern[str], text: str) -> int:
    return len(pattern.findall(text))


KINDS: Final[tuple[ProposalKind, ...]] = ("source", "concept")

# Thresholds, from the settings or the calibration of the space

VERSION: Final = 1  # version of the algorithm: a change flags all nodes again
SIMILARITY: Final[dict[ProposalKind, float]] = {"source": 1.55, "concept": 1.74}
"""Minimum similarity on the scale from unrelated (0) to related (1) texts (ADR 76)."""
CONTRAST: Final[dict[ProposalKind, float]] = {"source": 0.22, "concept": 0.37}
"""Minimum contrast, relative to the gap between the cosines of related and unrelated texts."""
MAX_THRESHOLD: Final = 0.97


def find_thresholds(kind: ProposalKind, settings: ProposalSettings, space: Space) -> tuple[float, float]:
    """Return the minimum similarity and the minimum contrast of a proposal."""
    calibration = space.calibration or USUAL
    similarity, contrast = (
        (settings.min_similarity, settings.min_contrast)
        if kind == "source"
        else (settings.min_concept_similarity, settings.min_concept_contrast)
    )
    if similarity is None:
        similarity = min(MAX_THRESHOLD, calibration.interpolate_to_related(SIMILARITY[kind]))
    return similarity, CONTRAST[kind] * calibration.gap if contrast is None else contrast


def compute_link_score(contrast: float, space: Space) -> float:
    """Return the contrast relative to the gap between related and unrelated texts, at most 1."""
    return max(0.0, min(1.0, contrast / max((space.calibration or USUAL).gap, 1e-6)))


def compute_proposal_fingerprint(settings: ProposalSettings, space: Space) -> str:
    """Return a fingerprint that changes if kg would propose other links."""
    thresholds = [find_thresholds(kind, settings, space) for kind in KINDS]
    options = repr((thresholds, settings.neighbours, settings.hops))
    return compute_digest("proposals", str(VERSION), space.key, space.fingerprint, options)


# Search for links between nodes of different documents

MAX_PARTS: Final = 4  # first chunks of a source that are compared
PASSAGES: Final = NEIGHBOURS_COMPARED + 2  # index hits per vector: several may belong to one source
ANY_COSINE: Final = -2.0  # no minimum, because the contrast needs distant neighbours


class LinkSearch:
    """Search for links of the nodes of one kind in an ontology, by their vectors in one space."""

    def __init__(
        self, graph: Graph, kind: ProposalKind, ontology: str, space: Space, settings: ProposalSettings
    ) -> None:
        self._graph = graph
        self._kind: ProposalKind = kind
        self._ontology = ontology
        self._space = space
        self._settings = settings
        self._least, self._min_contrast = find_thresholds(kind, settings, space)

    def propose(self, due: Sequence[DueNode]) -> list[NewProposal]:
        """Return the links to propose for pending nodes."""
        self._near = dict[str, list[Neighbour]]()
        self._texts = dict[str, str]()
        self._hashes = dict[str, str]()
        self._places = dict[str, Place]()
        find_neighbours = self._compare_sources if self._kind == "source" else self._compare_concepts
        node_ids, within = [each.id for each in due], self._settings.neighbours
        find_neighbours(node_ids)
        if unknown := list_unknown_neighbours(node_ids, self._near, within, self._least):
            find_neighbours(unknown)
        contrasts = dict[Pair, float]()
        mutual = dict[Pair, Neighbour]()
        for own, near in find_mutual_pairs(node_ids, self._near, within, self._least):
            contrasts[own, near.id] = contrast = compute_contrast(own, near, self._near)
            if contrast >= self._min_contrast:
                mutual[own, near.id] = near
        if self._kind == "source":
            self._read_texts(mutual)
        found = {pair: near for pair, near in mutual.items() if self._is_worth_reading(*pair)}
        if not found:
            return []
        unconnected = find_unconnected_pairs(
            self._graph, self._kind, list(found), hops=self._settings.hops, most_sources=MAX_SOURCES
        )
        chosen = {pair: near for pair, near in found.items() if pair in unconnected}
        chunks = [each for near in chosen.values() for each in (near.own_chunk_id, near.chunk_id)]
        texts = read_chunk_texts(self._graph, [each for each in chunks if each]) if any(chunks) else {}
        proposals = list[NewProposal]()
        for (own, other), near in chosen.items():
            first, second = (
                self._build_end(each, texts.get(chunk or ""))
                for each, chunk in ((own, near.own_chunk_id), (other, near.chunk_id))
            )
            contrast = contrasts[own, other]
            reason = describe_link_reason(
                self._kind,
                near.similarity,
                within=within,
                hops=self._settings.hops,
                contrast=contrast,
                shared=find_shared_words(self._texts[own], self._texts[other]),
            )
            score = compute_link_score(contrast, self._space)
            proposals.append(NewProposal(self._kind, first, second, score, near.similarity, reason))
        return proposals

    def _compare_concepts(self, ids: Sequence[str]) -> None:
        for each in find_near_concept_pairs(
            self._graph, self._space, self._ontology, ids, NEIGHBOURS_COMPARED, least=ANY_COSINE
        ):
            own, other = each.ids
            concept_texts = (" ".join((text.label, *text.terms)) for text in each.texts)
            self._texts |= zip(each.ids, concept_texts, strict=True)
            self._hashes |= zip(each.ids, each.text_hashes, strict=True)
            self._near.setdefault(own, []).append(Neighbour(other, each.cosine))

    def _compare_sources(self, ids: Sequence[str]) -> None:
        """Find the nearest sources. Images and sources without a vector have no neighbours."""
        best: dict[str, dict[str, Neighbour]] = {own: {} for own in ids}
        for row in self._graph.read(
            "proposals/near_sources",
            self._space.key,
            source_ids=ids,
            ontology=self._ontology,
            space=self._space.key,
            property=self._space.vector_property,
            parts=MAX_PARTS,
            limit=PASSAGES,
            depth=2 * PASSAGES,
        ):
            of_own = best[row["id"]]
            for source_id, similarity, chunk_id in row["near"]:  # keep the nearest hit of each source
                near = Neighbour(source_id, similarity, row["chunk_id"], chunk_id)
                of_own[source_id] = max(of_own.get(source_id, near), near, key=lambda one: one.similarity)
        for own, found in best.items():
            nearest = sorted(found.values(), key=lambda near: -near.similarity)
            self._near[own] = nearest[:NEIGHBOURS_COMPARED]

    def _read_texts(self, pairs: Iterable[Pair]) -> None:
        """Read the sources of pairs, and their neighbours, which show repeated texts."""
        ends = {each for pair in pairs for each in pair}
        wanted = ends.union(near.id for end in ends for near in self._near[end])
        self._places = (
            {each.source_id: each for each in describe_places(self._graph, wanted)} if wanted else {}
        )
        self._texts = {each: place.full_text for each, place in self._places.items()}

    def _is_worth_reading(self, own: str, other: str) -> bool:
        """Check if two sources are prose, not copies of each other, and not repeated in many documents."""
        if self._kind == "concept":
            return True
        if not {own, other} <= self._places.keys():  # deleted during the search
            return False
        texts = self._texts[own], self._texts[other]
        if not all(map(is_prose, texts)) or is_copy(*texts):
            return False
        around = (
            (
                _build_placed_text(self._places[end]),
                [_build_placed_text(place) for n in self._near[end] if (place := self._places.get(n.id))],
            )
            for end in (own, other)
        )
        return not any(is_repeated(*each) for each in around)

    def _build_end(self, identity: str, chunk: ChunkText | None) -> LinkEnd:
        place = self._places.get(identity)
        if place is None:
            return LinkEnd(identity, self._hashes[identity])
        end = LinkEnd(identity, hash_content(place.full_text))
        if chunk is None:
            return end
        # A chunk may extend beyond its source. The quote ends with the source.
        first, last = (min(max(at - place.start, 0), len(place.full_text)) for at in (chunk.start, chunk.end))
        return replace(end, start=first, end=last) if first < last else end


def _build_placed_text(place: Place) -> PlacedText:
    return PlacedText(place.document_id, place.heading, place.full_text)


# Search requests from the backfill and from users

PRECEDING_JOBS = (SOURCE_EMBEDDING, EXTRACTION, CONCEPT_EMBEDDING)
"""Jobs that must finish first, because they change neighbours and connections."""


MAX_DESCRIBED = 5  # ontologies whose progress an empty list describes
CHECKS_ALL_AGAIN = "the next search checks all sources and concepts again"
ALGORITHM_CHANGED = f"{CHECKS_ALL_AGAIN}, because the model, the thresholds, or the algorithm changed"


class ProposalService:
    def __init__(self, graph: Graph, settings: ProposalSettings) -> None:
        self._graph = graph
        self._settings = settings
        self._begun = time.monotonic()

    def start_pending_searches(self) -> None:
        """Create the search jobs of ontologies whose pending nodes are embedded and extracted."""
        if not self._settings.enabled:
            return
        for stored in read_all_proposals(self._graph):
            ontology = stored.ontology
            if is_any_requested(self._graph, PRECEDING_JOBS, ontology):
                continue
            with contextlib.suppress(NotFound):  # deleted in the meantime
                due = max(
                    count_due(self._graph, ontology),
                    int(stored.proposed_for != self._compute_fingerprint(ontology)),
                )
                uptime = time.monotonic() - self._begun
                if due and not must_wait_to_restart(self._graph, LINK_PROPOSAL, ontology, at_most=uptime):
                    ensure_job(self._graph, LINK_PROPOSAL, ontology, total=due)

    def search(self, ontology: str, *, anew: bool) -> JobStarted:
        """Request a search now, of all nodes with `anew`."""
        stored = read_proposals(self._graph, ontology)
        if anew:
            flag_all_nodes(self._graph, ontology)
        due = count_due(self._graph, ontology)
        if not due and not anew and stored.proposed_for == self._compute_fingerprint(ontology):
            notes = ["no changes since the last search for links"]
            return JobStarted(ontology=ontology, due=0, job_id=None, notes=notes)
        job_id = self._graph.transaction(lambda tx: request_job(tx, LINK_PROPOSAL, ontology, added=due))
        notes = ["kg checks everything again"] if anew else []
        return JobStarted(ontology=ontology, due=due, job_id=job_id, notes=notes)

    def list_proposals(
        self,
        ontology: str | None,
        kind: ProposalKind | None,
        state: ProposalState | None,
        offset: int,
        limit: int,
    ) -> Proposals:
        found, total = read_proposals_page(
            self._graph, ontology=ontology, kind=kind, state=state, offset=offset, limit=limit
        )
        stored = [read_proposals(self._graph, ontology)] if ontology is not None else []
        notes = list[str]()
        if not total and state in {None, "open"}:
            stored_states = stored or [
                each for each in read_all_proposals(self._graph) if is_visible(each.ontology)
            ]
            notes += filter(None, map(self._describe_progress, stored_states[:MAX_DESCRIBED]))
            if (omitted := len(stored_states) - MAX_DESCRIBED) > 0:
                notes.append(f"and {pluralize(omitted, 'more ontology', 'more ontologies')}")
        searched_at = stored[0].searched_at if stored else None
        page = {"total": total, "offset": offset, "limit": limit}
        return Proposals(proposals=found, searched_at=searched_at, notes=notes, **page)

    def _compute_fingerprint(self, ontology: str) -> str:
        space = read_embedding_state(self._graph, ontology).answering.space
        return compute_proposal_fingerprint(self._settings, space)

    def _describe_progress(self, stored: StoredProposals) -> str:
        """Describe the progress of an ontology without proposals, or return '' for a deleted ontology."""
        name, off = stored.ontology, ""
        if not self._settings.enabled:
            off = " (KG_PROPOSALS__ENABLED is false, so workers do not search automatically)"
        if stored.proposed_for is None and stored.searched_at is None:
            command = f"kg proposals search --ontology {shlex.quote(name)}"
            return f"kg has not searched for links in {name} yet{off}: `{command}`"
        at = f"on {stored.searched_at:%Y-%m-%d %H:%M} UTC" if stored.searched_at else "in part"
        text = f"kg searched for links in {name} {at}"
        if stored.proposed_for is None and stored.searched_at:
            return f"{text}; {CHECKS_ALL_AGAIN}{off}"
        try:
            fingerprint = self._compute_fingerprint(name)
        except NotFound:
            return ""
        if stored.proposed_for not in (None, fingerprint):
            return f"{text}; {ALGORITHM_CHANGED}{off}"
        due = count_due(self._graph, name)
        left = pluralize(due, "source or concept", "sources and concepts")
        return f"{text}, {left} {are(due)} pending" if due else text


# The job flags all nodes if the thresholds changed, and then searches the flagged nodes

BATCH = 32  # nodes per round trip and transaction


class LinkProposal:
    """Handler of `link_proposal` jobs. A job checks a limited number of nodes, and the next job continues."""

    kind = LINK_PROPOSAL

    def __init__(self, graph: Graph, settings: ProposalSettings) -> None:
        self._graph = graph
        self._settings = settings

    def run(self, run: JobRun) -> None:
        while True:
            if (ontology := run.job.ontology) is not None:
                self._search_ontology(run, ontology)
            if run.finish():
                return

    def _search_ontology(self, run: JobRun, ontology: str) -> None:
        try:
            stored = read_proposals(self._graph, ontology)
            space = read_embedding_state(self._graph, ontology).answering.space
        except NotFound:
            return
        if stored.proposed_for != (fingerprint := compute_proposal_fingerprint(self._settings, space)):
            self._flag(run, ontology, space, fingerprint)
        run.expect(min(count_due(self._graph, ontology), self._settings.nodes_a_run))
        left = self._settings.nodes_a_run
        for kind in KINDS:
            search = LinkSearch(self._graph, kind, ontology, space, self._settings)
            while left > 0 and (due := read_due(self._graph, kind, ontology, space, min(BATCH, left))):
                run.checkpoint()
                proposed = search.propose(due)

                def write(
                    tx: Transaction,
                    kind: ProposalKind = kind,
                    due: Sequence[DueNode] = due,
                    new: Sequence[NewProposal] = proposed,
                ) -> None:
                    write_proposals(tx, kind, ontology, due, new, most=self._settings.max_open)
                    note_seen(tx, kind, space, due)

                run.commit(write, after=due[-1].id, done=len(due))
                left -= len(due)
        if left > 0:
            run.commit(partial(note_searched, ontology=ontology), after=run.cursor, done=0)

    def _flag(self, run: JobRun, ontology: str, space: Space, fingerprint: str) -> None:
        """Flag all nodes of the ontology as pending. After an interruption, flagged nodes stay pending."""
        for kind in KINDS:
            position: FlaggedTo | None = BEGINNING
            while position:
                flag = partial(flag_portion, kind=kind, ontology=ontology, space=space, after=position)
                position = run.commit(flag, after=run.cursor, done=0)
                run.checkpoint()
        run.commit(partial(note_flagged, ontology=ontology, mark=fingerprint), after=run.cursor, done=0)
