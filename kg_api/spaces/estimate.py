"""Cost estimates for embedding, and the list and health of spaces."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Literal

from kg_api.errors import ConfigurationError, InvalidInput, KgError
from kg_api.graph.client import Graph
from kg_api.graph.spaces import (
    Space,
    StoredConfiguration,
    find_default_spaces,
    read_configurations,
    read_spaces,
)
from kg_api.graph.targets import KINDS, Plan, sample_texts
from kg_api.graph.vectors import DocumentAbout, SourceText, list_document_sources
from kg_api.providers.embedding_port import IN_PROCESS, Embedder, describe_part_rejection
from kg_api.providers.remote_embedding import list_learned
from kg_api.providers.retrying import ask_at_once
from kg_api.schemas.embedding import Cost
from kg_api.schemas.spaces import EmbeddingHealth, NewSpace, SpaceHealth, SpaceInfo, SpaceState
from kg_api.schemas.vocabulary import EmbeddedKind, Modality
from kg_api.spaces.chunk_plans import Planner
from kg_api.spaces.contexts import Contexts, WrittenContexts
from kg_api.spaces.images import ImageSpaceRegistry, OpenImageSpace
from kg_api.spaces.open_spaces import FAULTS, PROBE_TEXT, OpenSpace
from kg_api.spaces.registry import SpaceRegistry
from kg_api.text.contexts import add_context
from kg_api.wording import pluralize

SAMPLED_DOCUMENTS = 20
SAMPLED_SOURCES = 400
LOCAL = frozenset({"local", "deterministic"})
TIMED_TEXTS = 8
USUAL_TEXT = " ".join([PROBE_TEXT] * 6)  # about 120 tokens
MILLION = 1_000_000

PriceOf = Callable[[Plan], float | None]  # US dollars per million tokens in a plan's space


class Estimator:
    """Estimates costs by chunking a sample with the space's tokenizer, without paid requests."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry, contexts: Contexts, price_of: PriceOf) -> None:
        self._graph = graph
        self._spaces = spaces
        self._contexts = contexts
        self._price_of = price_of
        self._speeds: dict[str, float] = {}

    def estimate_ontology(self, plan: Plan, *, due: int) -> Cost:
        """Estimate the cost of pending sources from a sample of documents."""
        row = self._graph.read("ontologies/sample", ontology=plan.ontology, limit=SAMPLED_DOCUMENTS)[0]
        sample: list[Sequence[SourceText]] = []
        ids: list[str] = row["sample"] if due else []
        for document_id in ids:
            sample.append(list_document_sources(self._graph, document_id)[:SAMPLED_SOURCES])
            if sum(map(len, sample)) >= SAMPLED_SOURCES:
                break
        seen = sum(map(len, sample))
        return self._estimate(
            plan, sample, documents=row["documents"], sources=due, factor=due / seen if seen else 0.0
        )

    def estimate_texts(self, kind: EmbeddedKind, plan: Plan, *, due: int) -> Cost:
        """Estimate the cost of concepts or relationships from a sample. Each is one text."""
        texts = sample_texts(self._graph, kind, plan.ontology, SAMPLED_SOURCES)
        try:
            embedder = self._spaces.get_open(plan.space).get_embedder()
            tokens = math.ceil(embedder.count_tokens(texts) * due / len(texts)) if texts and due else 0
            speed = self._measure_speed(plan, embedder) if tokens else None
        except (*FAULTS, InvalidInput) as error:
            return _build_unknown_cost(0, due, [f"chunks and tokens could not be counted: {error}"])
        price = self._price_of(plan)
        return Cost(
            documents=0,
            sampled_documents=0,
            sources=0,
            chunks=due,
            tokens=tokens,
            seconds=round(tokens / speed, 1) if speed else None if tokens else 0.0,
            price=None if price is None else tokens * price / MILLION,
            notes=[f"estimated from {len(texts)} of {due} {KINDS[kind].noun}s"] if len(texts) < due else [],
        )

    def estimate_images(self, space: Space, due: int) -> Cost:
        """Estimate the cost of images. Image prices of providers are unknown."""
        provider = space.identity.provider
        free = provider in IN_PROCESS
        notes = [] if free else [f"kg sends {pluralize(due, 'image')} to {provider}: check its prices"]
        unknown = _build_unknown_cost(0, 0, notes)
        return unknown.model_copy(update={"chunks": due, "price": 0.0 if free else None})

    def estimate_document(self, plan: Plan, sources: Sequence[SourceText], about: DocumentAbout) -> Cost:
        """Estimate the cost of sources of one document, stored or new."""
        known = {source.document_id: about for source in sources}
        sample = sources[:SAMPLED_SOURCES]
        factor = len(sources) / len(sample) if sample else 0.0
        return self._estimate(plan, [sample], documents=1, sources=len(sources), factor=factor, about=known)

    def require_usable(self, plan: Plan) -> None:
        """Reject a configuration that no job can execute."""
        if plan.config.is_late and (refusal := describe_part_rejection(plan.space.identity)):
            raise InvalidInput(refusal)
        self._contexts.require_usable(plan.config)

    def _estimate(
        self,
        plan: Plan,
        sample: Sequence[Sequence[SourceText]],
        *,
        documents: int,
        sources: int,
        factor: float,
        about: Mapping[str, DocumentAbout] | None = None,
    ) -> Cost:
        try:
            embedder = self._spaces.get_open(plan.space).get_embedder()
            before, quote = self._contexts.quote(plan, sample, about)
            vectors = self._contexts.get_sentence_vectors(plan.config)
            planner = Planner(self._graph, plan.config, embedder, vectors)
            passages = [each for sources in sample if sources for each in planner.group_passages(sources)]
            chunks = planner.plan_passages(passages, before)
            speed = self._measure_speed(plan, embedder) if chunks else self._speeds.get(plan.space.slug)
            written = quote.estimate_written() if quote else None
            texts = [add_context(chunk.before, chunk.text) for chunk in chunks]
            windows = {chunk.within.text for chunk in chunks if chunk.within}
            tokens = math.ceil(embedder.count_tokens([*texts, *sorted(windows)]) * factor)
        except (*FAULTS, InvalidInput) as error:
            return _build_unknown_cost(
                documents, sources, [f"chunks and tokens could not be counted: {error}"]
            )
        price = self._price_of(plan)
        if written is not None and written.contexts:
            speed = None  # the language model takes longer than the embedding
        notes: list[str] = []
        if len(sample) < documents:
            notes.append(f"estimated from {len(sample)} of {documents} documents")
        elif factor > 1:
            notes.append(f"estimated from 1 of {factor:.1f} parts of it")
        if speed is None and chunks:
            notes.append("the time depends on the provider and was not measured")
        if windows:
            notes.append("chunk context `late`: the model reads each chunk twice, once within its neighbours")
        if price is None:
            notes.append("the price of the model is unknown. Set KG_EMBEDDING__PRICE")
        context_price = None if written is None else written.price
        return Cost(
            documents=documents,
            sampled_documents=len(sample),
            sources=sources,
            chunks=math.ceil(len(texts) * factor),
            tokens=tokens,
            seconds=(None if speed is None else round(tokens / speed, 1)) if texts else 0.0,
            price=None if price is None else tokens * price / MILLION,
            context_price=None if context_price is None else round(context_price * factor, 6),
            notes=notes if written is None else [*notes, *_describe_contexts(written, factor)],
        )

    def _measure_speed(self, plan: Plan, embedder: Embedder) -> float | None:
        """Measure tokens per second with a few texts, once. Return None if a test costs money."""
        slug = plan.space.slug
        if plan.space.identity.provider in LOCAL and slug not in self._speeds:
            texts = [f"{number} {USUAL_TEXT}" for number in range(TIMED_TEXTS)]
            begun = time.perf_counter()
            embedder.embed_passages(texts)
            seconds = max(time.perf_counter() - begun, 1e-6)
            self._speeds[slug] = max(1, embedder.count_tokens(texts)) / seconds
        return self._speeds.get(slug)


def _describe_contexts(written: WrittenContexts, factor: float) -> list[str]:
    contexts, requests, read, wrote, remembered = (
        math.ceil(each * factor)
        for each in (written.contexts, written.requests, written.read, written.written, written.remembered)
    )
    notes: list[str] = []
    if contexts:
        notes.append(
            f"a language model writes about {contexts} contexts in {requests} requests. It reads "
            f"about {read} tokens and writes {wrote}, before discounts for cached input"
        )
    if written.remembered:
        notes.append(f"about {remembered} contexts were written before and cost nothing")
    if written.price is None and contexts:
        notes.append("the price of contexts is unknown. Set KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT")
    return notes


def _build_unknown_cost(documents: int, sources: int, notes: list[str]) -> Cost:
    return Cost(
        documents=documents,
        sampled_documents=0,
        sources=sources,
        chunks=0,
        tokens=0,
        seconds=None,
        price=None,
        notes=notes,
    )


# Models of all spaces

ASKED_AT_ONCE = 8


class ModelService:
    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        images: ImageSpaceRegistry,
        *,
        price_of: Callable[[Space], float | None],
        batch_size_of: Callable[[Space], int],
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._images = images
        self._price_of = price_of
        self._batch_size_of = batch_size_of

    def list_space_infos(self) -> list[SpaceInfo]:
        uses = _uses(read_configurations(self._graph))
        spaces = read_spaces(self._graph)
        of_new = find_default_spaces(spaces)
        return [self._build_info(space, uses, of_new) for space in spaces.values()]

    def add(self, new: NewSpace) -> SpaceInfo:
        try:
            opened = self._images.add(new) if new.modality == "image" else self._spaces.add(new)
        except ConfigurationError as error:
            raise InvalidInput(str(error)) from error
        uses = _uses(read_configurations(self._graph))
        spaces = read_spaces(self._graph)
        return self._build_info(spaces[opened.space.slug], uses, find_default_spaces(spaces))

    def check_health(self) -> EmbeddingHealth:
        opened = [*self._spaces.list_all(), *self._images.list_all()]
        found = ask_at_once([partial(_check_space, each) for each in opened], ASKED_AT_ONCE)
        good = all(each.status == "ok" for each in found)
        return EmbeddingHealth(status="ok" if good else "error", spaces=found, notes=list_learned())

    def _build_info(self, space: Space, uses: Uses, of_new: Mapping[Modality, str]) -> SpaceInfo:
        use = uses[space.slug]
        states: dict[SpaceState, object] = {
            "dropping": space.dropping,
            "active": use["answering"] or space.for_new,
            "building": use["building"],
            "retiring": use["previous"],
            "idle": True,
        }
        return SpaceInfo(
            slug=space.slug,
            **asdict(space.identity),
            fingerprint=space.identity.fingerprint,
            batch_size=self._batch_size_of(space),
            price_per_million_tokens=self._price_of(space),
            state=next(state for state, holds in states.items() if holds),
            for_new=space.slug == of_new[space.identity.modality],
            created_at=space.created_at.to_native(),
            ontologies=use["answering"],
            building=use["building"],
            retiring=use["previous"],
        )


Uses = dict[str, dict[Literal["answering", "building", "previous"], list[str]]]
"""Ontologies by space and role: active, under construction, or previous."""


def _uses(configurations: Mapping[str, StoredConfiguration]) -> Uses:
    uses: Uses = defaultdict(lambda: {"answering": [], "building": [], "previous": []})
    for name, configured in configurations.items():
        for use in (configured.texts, configured.images):
            answering = use.answering.space
            uses[answering]["answering"].append(name)
            if use.target.space != answering:
                uses[use.target.space]["building"].append(name)
            if use.previous is not None and use.previous.space != answering:
                uses[use.previous.space]["previous"].append(name)
    return uses


def _check_space(opened: OpenSpace | OpenImageSpace) -> SpaceHealth:
    begun = time.perf_counter()
    try:
        opened.check()
    except KgError as error:  # report this space and continue with the others
        return SpaceHealth(slug=opened.space.slug, status="error", latency_ms=None, error=str(error))
    return SpaceHealth(
        slug=opened.space.slug, status="ok", latency_ms=round((time.perf_counter() - begun) * 1000, 1)
    )
