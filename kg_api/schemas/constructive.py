"""Constructive queries: steps that build a subgraph."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kg_api.schemas.base import VISIBLE, Answer, Body, Text
from kg_api.schemas.concepts import Concept, Hops, TypeName
from kg_api.schemas.documents import DocumentRef
from kg_api.schemas.filters import DocumentNames, Kinds, Narrowed, Number, Where
from kg_api.schemas.metadata import MetadataValue
from kg_api.schemas.search import Degradation, DescribedPlace
from kg_api.schemas.vocabulary import (
    MAX_FAN_OUT,
    MAX_PHRASE,
    MAX_QUERY_SECONDS,
    MAX_SEEDS,
    MAX_STEPS,
    MAX_SUBGRAPH_NODES,
    MAX_TYPES,
    CutReason,
    EdgeDirection,
    EdgeKind,
    NodeKind,
    SearchMode,
    SeedKind,
    SubgraphOrder,
)

Value = Annotated[Text, StringConstraints(max_length=MAX_PHRASE), *VISIBLE]
NodeLimit = Annotated[int, Field(strict=True, ge=1, le=MAX_SUBGRAPH_NODES)]
NodeKinds = Annotated[list[NodeKind], Field(min_length=1, max_length=4)]


class SeedStep(Body):
    """Step that adds the first nodes."""

    step: Literal["seed"]
    by: SeedKind = "text"
    """Meaning of `value`. `text`: query for passages. `concept`: name, id, or phrase of a concept.
    `relationship`: description of a relationship. `source`: id, or ONTOLOGY/DOCUMENT#PARAGRAPH. `image`: the
    same for a stored image."""
    value: Value
    """Search value. It must not be blank."""
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_SEEDS)] = 10
    """Maximum number of nodes. For `relationship`: number of relationships with two concepts each."""
    mode: SearchMode = "hybrid"
    """For `text`: vector search (`vector`), full-text search (`text`), or both."""
    kinds: Kinds | None = None
    """For `text`: kinds of sources, such as `["image"]`."""
    where: Where | None = None
    """For `text`: additional filters of documents. Later steps can add other documents."""

    @model_validator(mode="after")
    def _fits(self) -> SeedStep:
        is_set = {"mode": self.mode != "hybrid", "kinds": bool(self.kinds), "where": bool(self.where)}
        if self.by != "text" and any(is_set.values()):
            named = ", ".join(name for name, has in is_set.items() if has)
            raise ValueError(f"{named}: only allowed in a seed by 'text', not by {self.by!r}")
        return self


class ExpandStep(Body):
    """Step that follows edges from all nodes and adds their targets."""

    step: Literal["expand"]
    along: Annotated[list[EdgeKind], Field(min_length=1, max_length=4)]
    """Edges to follow. `related_to`: concept to concept, as sources state it. `appears_in`: concept to the
    passages and images that contain it. `part_of`: source to its document. `next_to`: source to the next
    source of its document, such as from an image to the passage below it."""
    direction: EdgeDirection = "both"
    """`out`: direction of `along`. `in`: opposite, as from a passage to its concepts. `both`."""
    types: Annotated[list[TypeName], Field(min_length=1, max_length=MAX_TYPES)] | None = None
    """For `related_to`: types of relationships, such as `["requires"]`."""
    hops: Hops = 1
    """Maximum number of edges from a node."""
    fan_out: Annotated[int, Field(strict=True, ge=1, le=MAX_FAN_OUT)] = 10
    """Maximum number of edges of each kind per node. kg follows edges with the best evidence."""
    limit: NodeLimit = 100
    """Maximum number of new nodes."""

    @model_validator(mode="after")
    def _fits(self) -> ExpandStep:
        if self.types is not None and "related_to" not in self.along:
            raise ValueError("types: only edges along 'related_to' have types. Add it, or omit types")
        return self


class FilterStep(Body):
    """Step that keeps matching nodes. It does not affect nodes of later steps."""

    step: Literal["filter"]
    kinds: NodeKinds | None = None
    """Kinds of nodes to keep."""
    where: Where | None = None
    """Filters of documents, such as `date>=2025-01-01` or `tags=oncall`. kg keeps matching documents, their
    sources, and concepts in them."""
    documents: DocumentNames | None = None
    """Documents to keep, with their sources and concepts in them."""

    @model_validator(mode="after")
    def _fits(self) -> FilterStep:
        if self.kinds is None and not self.where and self.documents is None:
            raise ValueError("a filter needs kinds, where or documents")
        return self


class RankStep(Body):
    """Step that sorts the nodes. Without it, nodes near the seeds come first."""

    step: Literal["rank"]
    by: SubgraphOrder
    """Sort key. `text`: similarity to `text`. `pagerank`: personalised PageRank from the seeds along the
    current edges. `connections`: number of edges."""
    text: Value | None = None
    """For `text`: query to compare with. Default: value of the first seed by text."""

    @model_validator(mode="after")
    def _fits(self) -> RankStep:
        if self.text is not None and self.by != "text":
            raise ValueError(f"text: only allowed in a rank by 'text', not by {self.by!r}")
        return self


class LimitStep(Body):
    """Step that keeps the first nodes in the current order."""

    step: Literal["limit"]
    nodes: NodeLimit
    """Maximum number of nodes."""
    kinds: NodeKinds | None = None
    """Kinds of nodes to limit. Other nodes stay."""


Step = Annotated[SeedStep | ExpandStep | FilterStep | RankStep | LimitStep, Field(discriminator="step")]


class ConstructiveQuery(Narrowed):
    """Query of consecutive steps. The first step is a seed."""

    steps: Annotated[list[Step], Field(min_length=1, max_length=MAX_STEPS)]
    seconds: Annotated[Number, Field(gt=0, le=MAX_QUERY_SECONDS)] = 10
    """Time limit for searches and expansion. After it, kg filters, ranks, and returns the current nodes."""

    @property
    def text(self) -> str | None:
        return next((each.value for each in self.steps if each.step == "seed" and each.by == "text"), None)

    @model_validator(mode="after")
    def _in_order(self) -> ConstructiveQuery:
        first = self.steps[0].step
        if first != "seed":
            raise ValueError(f"step 1 is {first!r} and has no nodes to work on. Start with 'seed'")
        for number, each in enumerate(self.steps, start=1):
            if each.step == "rank" and each.by == "text" and each.text is None and self.text is None:
                raise ValueError(f"step {number} ranks by text, and no seed has one: give text")
        return self


# Result of a constructive query


class Reached(Answer):
    step: int
    hops: int
    along: EdgeKind | None = None
    via: str | None = None
    rank: int


class SubgraphNode(Answer):
    id: str
    rank: int
    score: float | None = None
    """Sort key of the last rank step. Null without a rank step or if unknown."""
    similarity: float | None = None
    """Cosine similarity to the text of the last rank step by text. Comparable only in one kind and space."""
    reached: list[Reached]
    more_reached: int = 0


class SubgraphConcept(SubgraphNode):
    kind: Literal["concept"]
    concept: Concept


class SubgraphSource(SubgraphNode):
    kind: Literal["passage", "image"]
    source: DescribedPlace


class DocumentFacts(DocumentRef):
    title: str | None = None
    uri: str | None = None
    format: str | None = None
    characters: int
    sources: int
    metadata: dict[str, MetadataValue] = Field(default_factory=dict[str, MetadataValue])


class SubgraphDocument(SubgraphNode):
    kind: Literal["document"]
    document: DocumentFacts


AnyNode = Annotated[SubgraphConcept | SubgraphSource | SubgraphDocument, Field(discriminator="kind")]


class EdgeQuote(Answer):
    quote: str
    start: int | None = None
    end: int | None = None
    source_id: str
    ontology: str
    document: str
    paragraph: int
    statement: str | None = None


class SubgraphEdge(Answer):
    kind: EdgeKind
    subject: str
    type: str
    """Type of a `related_to` edge as sources state it. For other edges: depends on the kind."""
    object: str
    steps: list[int]
    sources: int = 1
    verified: bool = True
    quotes: list[EdgeQuote] = Field(default_factory=list[EdgeQuote])


class Cut(Answer):
    by: CutReason
    left_out: int | None = None
    effect: str


class StepReport(Answer):
    number: int
    step: Literal["seed", "expand", "filter", "rank", "limit"]
    added: int = 0
    removed: int = 0
    nodes: int
    edges: int
    cut: list[Cut]
    milliseconds: float


class Subgraph(Answer):
    nodes: list[AnyNode]
    edges: list[SubgraphEdge]
    steps: list[StepReport]
    note: str | None = None
    degraded: list[Degradation]
    timings_ms: dict[str, float]
