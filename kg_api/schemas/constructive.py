"""A constructive query: steps that build a subgraph."""

from __future__ import annotations

from typing import Annotated, Any, Literal

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
    """Bring nodes to begin with."""

    step: Literal["seed"]
    by: SeedKind = "text"
    """What `value` is. `text`: words that passages are searched by. `concept`: a concept's name or id, or a
    phrase for it. `relationship`: what concepts have to do with each other, in words. `source`: a source's
    id, or ONTOLOGY/DOCUMENT#PARAGRAPH. `image`: the same of a stored picture."""
    value: Value
    """What to begin with; not blank."""
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_SEEDS)] = 10
    """At most so many nodes; of `relationship` so many relationships, each with its two concepts."""
    mode: SearchMode = "hybrid"
    """Of `text`: by meaning (`vector`), by words (`text`), or both."""
    kinds: Kinds | None = None
    """Of `text`: only passages, or only images (`["image"]`)."""
    where: Where | None = None
    """Of `text`: only in documents for which this holds too; later steps may leave them."""

    @model_validator(mode="after")
    def _fits(self) -> SeedStep:
        given = {"mode": self.mode != "hybrid", "kinds": bool(self.kinds), "where": bool(self.where)}
        if self.by != "text" and any(given.values()):
            named = ", ".join(name for name, has in given.items() if has)
            raise ValueError(f"{named}: only a seed by 'text' takes it, not by {self.by!r}")
        return self


class ExpandStep(Body):
    """Follow edges from all nodes there are, and add what they lead to."""

    step: Literal["expand"]
    along: Annotated[list[EdgeKind], Field(min_length=1, max_length=4)]
    """Which edges. `related_to`: from concept to concept, as sources state it. `appears_in`: from a concept
    to the passages and pictures that carry it. `part_of`: from a source to its document. `next_to`: from a
    source to the one behind it in its document, such as from a picture to the passage below it."""
    direction: EdgeDirection = "both"
    """`out`: as `along` says it. `in`: against it, as from a passage to its concepts. `both`."""
    types: Annotated[list[TypeName], Field(min_length=1, max_length=MAX_TYPES)] | None = None
    """Of `related_to`: only relationships of these types, such as `["requires"]`."""
    hops: Hops = 1
    """Maximum number of edges from a node."""
    fan_out: Annotated[int, Field(strict=True, ge=1, le=MAX_FAN_OUT)] = 10
    """From one node at most so many edges of each kind, those with the surest or most evidence."""
    limit: NodeLimit = 100
    """Maximum number of new nodes."""

    @model_validator(mode="after")
    def _fits(self) -> ExpandStep:
        if self.types is not None and "related_to" not in self.along:
            raise ValueError("types: only edges along 'related_to' have them; add it, or leave types out")
        return self


class FilterStep(Body):
    """Keep only what fits; what later steps bring is not filtered."""

    step: Literal["filter"]
    kinds: NodeKinds | None = None
    """Only nodes of these kinds."""
    where: Where | None = None
    """Only documents for which all this holds, their sources, and concepts that appear in them. A text is
    read as a condition: `date>=2025-01-01`, `tags=oncall`."""
    documents: DocumentNames | None = None
    """Only these documents, their sources, and concepts that appear in them."""

    @model_validator(mode="after")
    def _fits(self) -> FilterStep:
        if self.kinds is None and not self.where and self.documents is None:
            raise ValueError("a filter needs kinds, where or documents")
        return self


class RankStep(Body):
    """Put the nodes in another order; before it the nearest to the seeds come first."""

    step: Literal["rank"]
    by: SubgraphOrder
    """`text`: by likeness to `text`. `pagerank`: by personalised PageRank from the seeds over the edges there
    are. `connections`: by the number of edges."""
    text: Value | None = None
    """Of `text`: what to compare with; unset: the value of the first seed by text."""

    @model_validator(mode="after")
    def _fits(self) -> RankStep:
        if self.text is not None and self.by != "text":
            raise ValueError(f"text: only a rank by 'text' takes it, not by {self.by!r}")
        return self


class LimitStep(Body):
    """Keep the best nodes only, in the order there is."""

    step: Literal["limit"]
    nodes: NodeLimit
    """Maximum number of nodes."""
    kinds: NodeKinds | None = None
    """Count and leave out only nodes of these kinds; the others stay."""


Step = Annotated[SeedStep | ExpandStep | FilterStep | RankStep | LimitStep, Field(discriminator="step")]


class ConstructiveQuery(Narrowed):
    """Steps that are done one after the other; the first one is a seed."""

    steps: Annotated[list[Step], Field(min_length=1, max_length=MAX_STEPS)]
    seconds: Annotated[Number, Field(gt=0, le=MAX_QUERY_SECONDS)] = 10
    """After so long nothing more is searched or followed; what there is is filtered, ranked and given."""

    @property
    def text(self) -> str | None:
        return next((each.value for each in self.steps if each.step == "seed" and each.by == "text"), None)

    @model_validator(mode="after")
    def _in_order(self) -> ConstructiveQuery:
        first = self.steps[0].step
        if first != "seed":
            raise ValueError(f"step 1 is {first!r}, but there is no node yet: begin with 'seed'")
        for number, each in enumerate(self.steps, start=1):
            if each.step == "rank" and each.by == "text" and each.text is None and self.text is None:
                raise ValueError(f"step {number} ranks by text, and no seed has one: give text")
        return self


# What a constructive query gives: nodes, edges, and what each step did and left out.


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
    """What the last rank step ordered by; none without one, or where it could not be told."""
    similarity: float | None = None
    """Cosine to the text of the last rank step by text. Compare those of one kind and space only."""
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
    """Of `related_to` in the words of the sources; else as the kind says it."""
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

    def of_kind(self, *kinds: str) -> list[Any]:
        return [node for node in self.nodes if node.kind in kinds]
