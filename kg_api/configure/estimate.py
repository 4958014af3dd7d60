"""What embedding an ontology, or documents on their way in, will take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from kg_api.embed.known import refusal_of_parts
from kg_api.embed.port import Embedder
from kg_api.errors import InvalidInput
from kg_api.graph.concepts.vectors import sample_of_concepts
from kg_api.graph.database import Graph
from kg_api.graph.relations.vectors import sample_of_edges
from kg_api.graph.spaces.due import DocumentAbout, SourceText, sources_of_document
from kg_api.models.embedding.chunking import SIZES
from kg_api.models.embedding.configuration import Cost
from kg_api.planning.contexts import Contexts
from kg_api.planning.cost import MILLION, CostSample, cost_of, tokens_a_second
from kg_api.planning.planner import Before, PlannedChunk, Planner
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.plans import Plan
from kg_api.spaces.registry import SpaceRegistry

SAMPLED_DOCUMENTS = 20
SAMPLED_SOURCES = 400
LOCAL = frozenset({"local", "deterministic"})

PriceOf = Callable[[Plan], float | None]
"""US dollars for a million tokens in a plan's space."""


class Estimator:
    """Plans the chunks of a sample with the space's own tokenizer; nothing that costs money is asked."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry, contexts: Contexts, price_of: PriceOf) -> None:
        self._graph = graph
        self._spaces = spaces
        self._contexts = contexts
        self._price_of = price_of
        self._speeds: dict[str, float] = {}

    def of_ontology(self, plan: Plan, *, due: int) -> Cost:
        """For the sources of an ontology that are due, from a sample of its documents."""
        row = self._graph.read("ontologies/sample", ontology=plan.ontology, limit=SAMPLED_DOCUMENTS)[0]
        sample: list[Sequence[SourceText]] = []
        ids: list[str] = row["sample"] if due else []
        for document_id in ids:
            sample.append(sources_of_document(self._graph, document_id)[:SAMPLED_SOURCES])
            if sum(map(len, sample)) >= SAMPLED_SOURCES:
                break
        seen = sum(map(len, sample))
        return self._cost(
            plan, sample, documents=row["documents"], sources=due, factor=due / seen if seen else 0.0
        )

    def of_concepts(self, plan: Plan, *, due: int) -> Cost:
        """For concepts of an ontology, from a sample of all; each is one text."""
        texts = [each.text for each in sample_of_concepts(self._graph, plan.ontology, SAMPLED_SOURCES)]
        return self._of_texts(plan, texts, due, "concepts")

    def of_edges(self, plan: Plan, *, due: int) -> Cost:
        """For relationships of an ontology, from a sample of all; each is one text."""
        texts = [each.text for each in sample_of_edges(self._graph, plan.ontology, SAMPLED_SOURCES)]
        return self._of_texts(plan, texts, due, "relationships")

    def _of_texts(self, plan: Plan, texts: Sequence[str], due: int, noun: str) -> Cost:
        try:
            embedder = self._spaces.of(plan.space).embedder()
            tokens = math.ceil(embedder.count_tokens(texts) * due / len(texts)) if texts and due else 0
            speed = self._measure_speed(plan, embedder) if tokens else None
        except (*FAULTS, InvalidInput) as error:
            return _unknown_cost(0, due, error)
        price = self._price_of(plan)
        return Cost(
            documents=0,
            sampled_documents=0,
            sources=0,
            chunks=due,
            tokens=tokens,
            seconds=round(tokens / speed, 1) if speed else None if tokens else 0.0,
            price=None if price is None else tokens * price / MILLION,
            notes=[f"estimated from {len(texts)} of {due} {noun}"] if len(texts) < due else [],
        )

    def of_document(self, plan: Plan, sources: Sequence[SourceText], about: DocumentAbout) -> Cost:
        """For sources of one document, which need not be stored."""
        known = {source.document_id: about for source in sources}
        sample = sources[:SAMPLED_SOURCES]
        factor = len(sources) / len(sample) if sample else 0.0
        return self._cost(plan, [sample], documents=1, sources=len(sources), factor=factor, about=known)

    def require_usable(self, plan: Plan) -> None:
        """Refuse a configuration that no job could follow.

        Raises:
            InvalidInput: saying what is missing.
        """
        if plan.config.is_late and (refusal := refusal_of_parts(plan.space.identity)):
            raise InvalidInput(refusal)
        self._contexts.require_usable(plan.config)

    def advice(self, plan: Plan) -> list[str]:
        """What a person should know about a configuration."""
        unit = SIZES[plan.config.strategy].unit
        words = plan.config.size if unit == "words" else plan.config.size // 6
        limit = plan.space.identity.max_tokens
        if plan.config.strategy != "paragraph" and words > limit:
            size, model = f"{plan.config.size} {unit}", plan.space.identity.model
            return [f"chunks of {size} can be longer than the {limit} tokens of {model}: then they are split"]
        return []

    def _cost(
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
            embedder = self._spaces.of(plan.space).embedder()
            quote = self._contexts.quote(plan, sample, about)
            chunks = self._chunks(plan, embedder, sample, quote.before)
            sampled = CostSample(chunks, len(sample), documents, sources, factor)
            known = self._speeds.get(plan.space.slug)
            speed = self._measure_speed(plan, embedder) if chunks else known
            return cost_of(sampled, embedder, self._price_of(plan), speed, quote.written())
        except (*FAULTS, InvalidInput) as error:
            return _unknown_cost(documents, sources, error)

    def _measure_speed(self, plan: Plan, embedder: Embedder) -> float | None:
        """Tokens a second, measured once; None where a trial would cost money."""
        slug = plan.space.slug
        if plan.space.identity.provider in LOCAL and slug not in self._speeds:
            self._speeds[slug] = tokens_a_second(embedder)
        return self._speeds.get(slug)

    def _chunks(
        self,
        plan: Plan,
        embedder: Embedder,
        sample: Sequence[Sequence[SourceText]],
        before: Before,
    ) -> list[PlannedChunk]:
        planner = Planner(self._graph, plan.config, embedder, self._contexts.sentence_vectors(plan.config))
        return [
            each
            for sources in sample
            if sources
            for each in planner.of_passages(planner.passages(sources), before)
        ]


def _unknown_cost(documents: int, sources: int, error: Exception) -> Cost:
    return Cost(
        documents=documents,
        sampled_documents=0,
        sources=sources,
        chunks=0,
        tokens=0,
        seconds=None,
        price=None,
        notes=[f"chunks and tokens could not be counted: {error}"],
    )
