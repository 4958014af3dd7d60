"""Source searches, their results, and sources with context."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated

from pydantic import Field, model_validator

from kg_api.schemas.base import Answer, Flag, NodeId, Page
from kg_api.schemas.documents import DocumentSummary
from kg_api.schemas.filters import (
    HitsCursor,
    Hypothetical,
    Kinds,
    Limit,
    Narrowed,
    Number,
    QueryText,
    Share,
    Similarity,
    TokenBudget,
    Window,
)
from kg_api.schemas.formats import CONVERTED
from kg_api.schemas.images import ImageType
from kg_api.schemas.metadata import MetadataValue
from kg_api.schemas.vocabulary import DEFAULT_WINDOW, DegradedPart, Fusion, GroupBy, SearchMode, SourceKind


class ImageFacts(Answer):
    """Properties of an image. `GET /images/{id}` returns the image for the id of its source."""

    storage_key: str
    """SHA-256 of the file. Equal images have equal keys."""
    content_type: ImageType
    """Media type, detected from the content."""
    width: int
    """Width in pixels after rotation."""
    height: int
    bytes: int


class SourcePlace(Answer):
    source_id: str
    ontology: str
    document: str
    document_id: str
    paragraph: int
    """Position in reading order, from 0."""
    heading: list[str]
    """Path of headings above the source."""
    start: int
    """First code point in the document's text."""
    end: int
    """Code point after the last one."""
    page: int | None = None
    """First page, slide, or sheet, from 1. Null if the document has no pages."""
    last_page: int | None = None
    """Last page, slide, or sheet."""
    ocr: bool = False
    """Whether some text comes from OCR and can contain errors."""
    ocr_confidence: float | None = None
    """Confidence of OCR from 0 to 1."""
    kind: SourceKind = "passage"
    """Kind of source. The text of an image is its description."""
    image: ImageFacts | None = None

    @property
    def position(self) -> str | None:
        """Page, slide, or sheet, such as `page 3`, `pages 3-4`, or `sheet Costs`."""
        if self.page is None:
            return None
        suffix = PurePath(self.document).suffix.lower()
        if suffix in CONVERTED["spreadsheet"]:
            return f"sheet {self.heading[0] if self.heading else self.page}"
        unit = "slide" if suffix in CONVERTED["pptx"] else "page"
        is_single = self.last_page in {None, self.page}
        return f"{unit} {self.page}" if is_single else f"{unit}s {self.page}-{self.last_page}"


class Place(SourcePlace):
    full_text: str


class WordMatch(Answer):
    """Match of keywords, in code points of `full_text`. Add the `start` of the source for the document."""

    start: int
    end: int
    """Code point after the last one."""


class DescribedPlace(Place):
    title: str | None = None
    uri: str | None = None
    format: str | None = None
    metadata: dict[str, MetadataValue] = Field(default_factory=dict[str, MetadataValue])
    """Metadata of the document, such as `author` and `date`."""


class ImagePage(Page):
    """Images in the order of ontologies, documents, and positions."""

    images: list[Place]


class ContextWindow(Answer):
    """Consecutive paragraphs of one document. Overlapping windows of several results are merged."""

    document_id: str
    ontology: str
    document: str
    heading: list[str]
    start: int
    end: int
    text: str
    """Unchanged text of the document from `start` to `end`."""
    source_ids: list[str]
    hits: list[str]
    tokens: int
    """Number of tokens in the tokenizer of the space's model, or an estimate without the tokenizer."""


# Search requests and results

MAX_FIRST_STAGE = 100
MAX_DIMENSIONS = 4096


class SourceSearch(Narrowed):
    query_text: QueryText | None = None
    """Query in plain language. There is no query syntax."""
    query_vector: Annotated[list[Number], Field(min_length=1, max_length=MAX_DIMENSIONS)] | None = None
    """Query vector from the client, instead of an embedding of `query_text`. Requires `space`."""
    space: NodeId | None = None
    """Embedding space of `query_vector`."""
    kinds: Kinds | None = None
    """Kinds of sources to return, such as `["image"]`. Default: all."""
    mode: SearchMode = "hybrid"
    """`vector`: vector search. `text`: full-text search. `hybrid`: both, fused."""
    prefix: Flag = False
    """Match words that begin with the last word of `query_text`, for search while typing. kg then corrects
    no spelling of that word and does not judge the relevance (`near`)."""
    limit: Limit = 10
    cursor: HitsCursor | None = None
    """`next_cursor` of the previous page. Repeat the other fields unchanged. All pages together contain at
    most 1,000 results. Not with `hyde`, which generates new answers for each request."""
    min_similarity: Similarity | None = None
    """Minimum cosine similarity. It also excludes sources without a vector. If the query cannot be embedded,
    full-text results have `similarity` null and `degraded` reports it. Not for mode `text`."""
    fusion: Fusion = "adaptive"
    """Fusion of the retrievers in `hybrid`. `adaptive`: by scores, with a higher weight for a retriever with
    outstanding best results. `rrf`: by ranks. `weighted`: by scores with fixed weights."""
    rrf_k: Annotated[int, Field(strict=True, ge=1, le=1000)] = 60
    """Constant of `rrf`. A larger value reduces the advantage of the first ranks."""
    vector_weight: Share = 0.7
    """Weight of vector search for `weighted`. Full-text search gets the rest."""
    mmr_lambda: Share | None = None
    """Diversity by maximal marginal relevance: 1 ranks by relevance only, 0 by diversity only."""
    per_document: Limit | None = None
    collapse_duplicates: Flag = False
    """Return one of several near-duplicates. The result lists the others."""
    group_by: GroupBy = "source"
    """`source`: one result per source, with its best chunk. `chunk`: one result per chunk."""
    rerank: Flag = False
    """Rerank with a cross-encoder, which reads query and passage together. kg blends both scores."""
    first_stage_limit: Annotated[int, Field(strict=True, ge=10, le=MAX_FIRST_STAGE)] = 50
    """Number of fused results to rerank or diversify."""
    exact: Flag = False
    """Compare with every vector instead of the approximate index."""
    hyde: Hypothetical = 0
    """Number of hypothetical answers that a language model writes for the search (HyDE). kg searches with the
    mean vector of query and answers. `auto`: 3 if the query has at least 12 words."""
    explain: Flag = False
    concepts: Flag = False
    """Also retrieve sources through concepts in the query and the best results, and related concepts.
    Helps if the answer needs several passages."""
    graph: Flag = False
    """Keep the first five results and fill the rest from the graph: sources of concepts in the query and the
    best three results, of similar concepts, and of related concepts. Not with `concepts`."""
    include_concepts: Flag = False
    expand_context: Flag = False
    """Return the neighbours of each result, and all neighbours as merged windows."""
    window_size: Window = DEFAULT_WINDOW
    token_budget: TokenBudget | None = None
    """Maximum number of tokens of all windows. The windows of the best results come first."""

    @property
    def follows_concepts(self) -> bool:
        return self.concepts or self.graph

    @model_validator(mode="after")
    def _check_query(self) -> SourceSearch:
        if self.concepts and self.graph:
            raise ValueError("concepts and graph both follow concepts. Omit one of the two")
        if self.query_text is None and self.query_vector is None:
            raise ValueError("query_text is missing")
        if (self.query_vector is None) != (self.space is None):
            raise ValueError("query_vector and space go together")
        if self.query_vector is not None and not any(self.query_vector):
            raise ValueError("query_vector is zero and has no direction")
        if self.query_text is None and self.mode != "vector":
            raise ValueError(f"mode {self.mode!r} needs query_text")
        if self.mode == "text" and self.min_similarity is not None and self.query_vector is None:
            raise ValueError(
                "min_similarity needs vectors, but mode 'text' searches without them. Omit one of the two"
            )
        if self.hyde and self.hyde != "auto" and (self.mode == "text" or self.query_vector is not None):
            raise ValueError("hyde computes the vector. Omit hyde with mode 'text' or with query_vector")
        if self.hyde and self.cursor is not None:
            raise ValueError(
                "cursor: hyde has no pages, because each request writes new hypothetical answers"
            )
        return self


class MatchedChunk(Answer):
    """Part of a document. Offsets are code points of the document's text."""

    text: str
    start: int
    end: int
    source_ids: list[str] = Field(default_factory=list[str])
    """Sources that contain the chunk, in reading order. A chunk larger than a paragraph has several."""


class Ranks(Answer):
    """Ranks of a result in each retriever, from 1. Null if the retriever did not find the result."""

    vector: int | None = None
    text: int | None = None
    concepts: int | None = None
    pictures: int | None = None
    """Rank by image embedding, if an image space can embed text."""


class CarriedConcept(Answer):
    concept_id: str
    label: str
    verified: bool = True
    """Whether a quote in the source proves the concept."""


class LanePart(Answer):
    """Contribution of one retriever to a result."""

    lane: str
    """`text`, `concepts`, `vector:SPACE`, or `pictures:SPACE`."""
    index: str
    """Name of the index, or `exact` for a comparison with every vector."""
    rank: int | None
    """Rank from 1. Null if only another retriever found the result."""
    score: float
    """Score of the retriever: cosine similarity or Lucene score."""
    weight: float
    contribution: float


class Explanation(Answer):
    lanes: list[LanePart]
    fusion: str
    """Method of fusion, or `none` for one retriever."""
    fused_rank: int
    fused_score: float
    passage_rank: int | None = None
    """With concepts or images: rank in the fusion of vector and full-text search."""
    rerank_score: float | None = None
    """Score of the cross-encoder, if it read the result."""
    rerank_rank: int | None = None
    mmr_score: float | None = None
    mmr_rank: int | None = None


class SourceHit(DescribedPlace):
    similarity: float | None
    """Cosine similarity of query and passage, -1 to 1. Null without a vector. Compare only in one space."""
    space: str | None = None
    """Embedding space of `similarity`."""
    score: float
    """Sort key of the results: similarity, full-text score, or fused score."""
    ranks: Ranks
    chunk: MatchedChunk
    parent: MatchedChunk | None = None
    """Larger chunk to read instead, for the strategy `hierarchical`."""
    concepts: list[CarriedConcept] = Field(default_factory=list[CarriedConcept])
    """Concepts of the source with `include_concepts`: at most ten, best evidence first."""
    through: list[CarriedConcept] = Field(default_factory=list[CarriedConcept])
    """Concepts that led to the source: at most three, strongest first."""
    duplicates: list[str] = Field(default_factory=list[str])
    matches: list[WordMatch] = Field(default_factory=list[WordMatch])
    """Matches of query keywords in `full_text`, in any form and case: at most 50. Adjacent keywords of the
    query are one match. A stop word matches only next to another keyword."""
    explanation: Explanation | None = None
    context: list[Place] | None = None
    """The source and its neighbours in reading order, with `expand_context`."""


class Degradation(Answer):
    """Failed part of a search and its effect on the results."""

    part: DegradedPart
    effect: str


class Respelling(Answer):
    """Query keyword that no searched text contains."""

    word: str
    """Keyword in lower case."""
    meant: list[str]
    """Similar words of the texts that kg also searched: other accents or one typo."""


class LeftOut(Answer):
    """Candidates below a minimum similarity."""

    below_similarity: int = 0
    without_vector: int = 0
    """Number of candidates with unknown similarity, because they or the query have no vector."""
    nearest: float | None = None
    """Highest similarity below the minimum."""


class SourceHits(Answer):
    query_text: str | None
    mode: SearchMode
    """Search mode. If it is not the requested mode, `degraded` explains the reason."""
    space: str | None
    """Embedding space of the results. Null without vectors or with several spaces."""
    spaces: list[str] = Field(default_factory=list[str])
    """Searched embedding spaces. The query is embedded once for each."""
    picture_spaces: list[str] = Field(default_factory=list[str])
    hypothetical: list[str] = Field(default_factory=list[str])
    sources: list[SourceHit]
    next_cursor: str | None = None
    """Cursor of the next page, which may be empty. Null if there are no more results, and with `hyde`."""
    left_out: LeftOut = Field(default_factory=LeftOut)
    """Candidates that `min_similarity` excluded."""
    near: bool | None = None
    """Whether a result is relevant: the first has half of the query keywords, or the similarity is high. Only
    keywords decide if the model does not know the language. Null if unknown, as in mode `text` or with
    `hyde`."""
    note: str | None = None
    """Note that no result is relevant, or that the model does not know the language of the query."""
    windows: list[ContextWindow] = Field(default_factory=list[ContextWindow])
    """Merged windows of all results within the token budget, with `expand_context`."""
    did_you_mean: list[Respelling] = Field(default_factory=list[Respelling])
    """Unknown keywords and the words that kg also searched. `degraded` has the same as a sentence."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]


# Context of a source


class SourceContext(Answer):
    """Source and its neighbours in the same document."""

    source_id: str
    window_size: int
    sources: list[Place]


class SourceWindow(SourceContext):
    """Source and as many neighbours as a token budget allows: whole paragraphs without a gap."""

    token_budget: int | None = None
    tokens: int | None = None
    """Number of tokens in the tokenizer of the space's model. Null without a budget."""
    left_out: int = 0
    """Number of paragraphs in the window that exceed the budget."""
    degraded: list[Degradation] = Field(default_factory=list[Degradation])


# Document reading in portions


class DocumentReading(Answer):
    """Consecutive whole paragraphs of a document."""

    document: DocumentSummary
    start: int
    """First paragraph, from 0."""
    sources: list[Place]
    """Paragraphs in reading order. At least one, unless the document is empty."""
    tokens: int
    """Number of tokens in the tokenizer of the space's model, or an estimate without the tokenizer."""
    next: int | None = None
    """Start of the next portion. Null at the end of the document."""
    left: int = 0
    degraded: list[Degradation] = Field(default_factory=list[Degradation])
