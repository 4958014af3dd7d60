"""What a constructive query gives: nodes, edges, and what each step did and left out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from kg_api.models.base import Answer
from kg_api.models.concepts.queries import Concept
from kg_api.models.library.metadata import MetadataValue
from kg_api.models.queries.places import DescribedPlace
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import CutReason, EdgeKind


class Reached(Answer):
    """One way in which a node came into the subgraph."""

    step: int
    """Its number, from 1."""
    hops: int
    """Edges from a seed; 0: it is one."""
    along: EdgeKind | None = None
    """The last edge; none of a seed."""
    via: str | None = None
    """The node before it."""
    rank: int
    """At which place the step found it, from 1."""


class SubgraphNode(Answer):
    """What all nodes have."""

    id: str
    """Edges name it."""
    rank: int
    """From 1, the best."""
    score: float | None = None
    """What the last rank step ordered by; none without one, or where it could not be told."""
    similarity: float | None = None
    """Cosine to the text of the last rank step by text. Compare those of one kind and space only."""
    reached: list[Reached]
    """How it came, the nearest and best way first; at most three."""
    more_reached: int = 0
    """Further ways."""


class SubgraphConcept(SubgraphNode):
    """A concept."""

    kind: Literal["concept"]
    concept: Concept


class SubgraphSource(SubgraphNode):
    """A passage or a picture, with its exact place."""

    kind: Literal["passage", "image"]
    source: DescribedPlace


class DocumentFacts(Answer):
    """What is known of a document."""

    document_id: str
    ontology: str
    document: str
    title: str | None = None
    uri: str | None = None
    format: str | None = None
    characters: int
    sources: int
    metadata: dict[str, MetadataValue] = Field(default_factory=dict[str, MetadataValue])


class SubgraphDocument(SubgraphNode):
    """A document."""

    kind: Literal["document"]
    document: DocumentFacts


AnyNode = Annotated[SubgraphConcept | SubgraphSource | SubgraphDocument, Field(discriminator="kind")]


class EdgeQuote(Answer):
    """Words of a source that prove an edge."""

    quote: str
    """Verbatim; empty where no quote proves it."""
    start: int | None = None
    """Its first code point in the document's text."""
    end: int | None = None
    source_id: str
    ontology: str
    document: str
    paragraph: int
    statement: str | None = None
    """Of `related_to`: subject, type and object in this source's words."""


class SubgraphEdge(Answer):
    """An edge between two nodes of the subgraph."""

    kind: EdgeKind
    subject: str
    """Id of the node that it goes from."""
    type: str
    """Of `related_to` in the words of the sources; else as the kind says it."""
    object: str
    steps: list[int]
    """The steps that found it."""
    sources: int = 1
    """How many sources state it, within the query's documents."""
    verified: bool = True
    """Of `appears_in`: whether a quote proves it."""
    quotes: list[EdgeQuote] = Field(default_factory=list[EdgeQuote])
    """At most three."""


class Cut(Answer):
    """What a step left out."""

    by: CutReason
    left_out: int | None = None
    """How many, where they are counted."""
    effect: str


class StepReport(Answer):
    """What a step did."""

    number: int
    """From 1."""
    step: Literal["seed", "expand", "filter", "rank", "limit"]
    added: int = 0
    """Nodes that are new."""
    removed: int = 0
    nodes: int
    """There are after it."""
    edges: int
    cut: list[Cut]
    """Empty: nothing was left out."""
    milliseconds: float


class Subgraph(Answer):
    """The answer to a constructive query."""

    nodes: list[AnyNode]
    """The best first."""
    edges: list[SubgraphEdge]
    """Between them, those found first first."""
    steps: list[StepReport]
    note: str | None = None
    """Why there is nothing, where that is so."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]

    def of_kind(self, *kinds: str) -> list[Any]:
        """Its nodes of some kinds."""
        return [node for node in self.nodes if node.kind in kinds]
