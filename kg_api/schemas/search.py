"""Searches of sources, their hits, and sources in their context."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from kg_api.schemas.base import Answer, Body, Flag, NodeId, Page, Text, visible
from kg_api.schemas.documents import DocumentSummary
from kg_api.schemas.filters import (
    DocumentNames,
    HitsCursor,
    Hypothetical,
    Kinds,
    Limit,
    Number,
    Ontologies,
    Share,
    Similarity,
    TokenBudget,
    Where,
    Window,
)
from kg_api.schemas.images import ImageType
from kg_api.schemas.metadata import MetadataValue
from kg_api.schemas.vocabulary import (
    DEFAULT_WINDOW,
    MAX_QUERY_CHARACTERS,
    DegradedPart,
    Fusion,
    GroupBy,
    SearchMode,
    SourceKind,
)


class ImageFacts(Answer):
    """What is known of a picture; `GET /images/{id}` gives the picture itself, by the source's id."""

    storage_key: str
    """The SHA-256 of its file: pictures with the same one are the same."""
    content_type: ImageType
    """By its content, whatever its name says."""
    width: int
    """In pixels, as it is shown."""
    height: int
    bytes: int
    """Of its file."""
    perceptual_hash: str
    """64 bits of what it looks like, in hexadecimal digits: near-duplicates differ in few of them."""


class SourcePlace(Answer):
    """Where a source is."""

    source_id: str
    ontology: str
    document: str
    document_id: str
    paragraph: int
    """Its number in reading order, from 0."""
    heading: list[str]
    """The path of headings above it."""
    start: int
    """Its first code point in the document's text."""
    end: int
    """Behind its last code point."""
    page: int | None = None
    """On which it begins, from 1; a slide or a sheet, too. None: its document has no pages."""
    last_page: int | None = None
    """On which it ends."""
    ocr: bool = False
    """Whether OCR read it, or a part of it, from a picture: its words may be wrong."""
    ocr_confidence: float | None = None
    """How sure OCR was of its words, from 0 to 1."""
    kind: SourceKind = "passage"
    """Of an image the text is the words that stand for it."""
    image: ImageFacts | None = None
    """The picture, of an image."""


class Place(SourcePlace):
    """A source and its exact place."""

    full_text: str


class WordMatch(Answer):
    """Where words of the question stand in a source: code points of its `full_text`, from 0.

    In its document they are at the source's `start` and so many code points more.
    """

    start: int
    end: int
    """Behind the last code point."""


class DescribedPlace(Place):
    """A source with what is known of its document."""

    title: str | None = None
    """Of the document."""
    uri: str | None = None
    """Where the document came from."""
    format: str | None = None
    """What kind of file the document is."""
    metadata: dict[str, MetadataValue] = Field(default_factory=dict[str, MetadataValue])
    """The document's: `author`, `date` and whatever else it or its sender says."""


class ImagePage(Page):
    """Pictures, ordered by ontology, document and place in it."""

    images: list[Place]


class ContextWindow(Answer):
    """Consecutive paragraphs of one document: the windows of its hits, merged where they touch."""

    document_id: str
    ontology: str
    document: str
    heading: list[str]
    """Of its first paragraph."""
    start: int
    end: int
    text: str
    """The document's text from `start` to `end`, unchanged."""
    source_ids: list[str]
    """Its paragraphs in reading order."""
    hits: list[str]
    """Those that were found, the best first."""
    tokens: int
    """By the tokenizer of the space's model, or estimated where that is not at hand."""


# Search: what is asked and what comes back.

MAX_FIRST_STAGE = 100
MAX_DIMENSIONS = 4096


class SourceSearch(Body):
    """A search for sources."""

    query_text: (
        Annotated[Text, StringConstraints(max_length=MAX_QUERY_CHARACTERS), AfterValidator(visible)] | None
    ) = None
    """What to look for, in plain words; no query language."""
    query_vector: Annotated[list[Number], Field(min_length=1, max_length=MAX_DIMENSIONS)] | None = None
    """A vector made by the client, instead of embedding `query_text`; needs `space`."""
    space: NodeId | None = None
    """The space that `query_vector` belongs to."""
    ontology: Ontologies | None = None
    """Search only these; unset or null: all."""
    documents: DocumentNames | None = None
    """Search only these documents: by name, `ONTOLOGY/NAME` or id; unset or null: all."""
    where: Where | None = None
    """Only documents for which all these hold; a text is read as one: `date>=2025-01-01`, `tags=oncall`."""
    kinds: Kinds | None = None
    """Only sources of these kinds, such as `["image"]`; unset or null: all."""
    mode: SearchMode = "hybrid"
    """`vector`: by meaning; `text`: by words; `hybrid`: both, fused."""
    limit: Limit = 10
    cursor: HitsCursor | None = None
    """`next_cursor` of the page before, for the hits behind it; all else as in that request. Pages give 1,000
    hits at most. Not with `hyde`, whose answers are written anew each time."""
    min_similarity: Similarity | None = None
    """Leave out sources whose cosine similarity is lower, or that have no vector yet. If the question cannot
    be embedded, what words find has `similarity` null, and `degraded` says so. Not for mode `text`."""
    fusion: Fusion = "adaptive"
    """How `hybrid` joins its lanes. `adaptive`: by scores, a lane weighing as much as it sets its best hits
    apart; `rrf`: by ranks alone; `weighted`: by scores with fixed weights."""
    rrf_k: Annotated[int, Field(strict=True, ge=1, le=1000)] = 60
    """For `rrf`: the larger, the less the first ranks stand out."""
    vector_weight: Share = 0.7
    """For `weighted`: the share of the vectors; the rest is full text's."""
    mmr_lambda: Share | None = None
    """Order for diversity by maximal marginal relevance: 1 is relevance alone, 0 difference alone."""
    per_document: Limit | None = None
    """At most so many hits of one document."""
    collapse_duplicates: Flag = False
    """Give near-duplicates once; the hit names the others."""
    group_by: GroupBy = "source"
    """`source`: each source once, by its best chunk; `chunk`: each chunk is a hit."""
    rerank: Flag = False
    """Let a cross-encoder read question and passage together, and blend its scores into the order."""
    first_stage_limit: Annotated[int, Field(strict=True, ge=10, le=MAX_FIRST_STAGE)] = 50
    """How many of the fused hits are reranked or diversified."""
    exact: Flag = False
    """Compare the question's vector with every vector, instead of asking the approximate index."""
    hyde: Hypothetical = 0
    """Search by so many hypothetical answers of a language model besides the question, by the mean of their
    vectors (HyDE); similarities are to that mean. `auto`: 3 for a question of 12 words or more."""
    explain: Flag = False
    """Tell how each hit came to its place."""
    concepts: Flag = False
    """Let concepts bring sources too: those that the question and the best hits name, and what these are
    related to. Finds what answers only together with another passage."""
    graph: Flag = False
    """Leave the first five hits as they are and fill up behind them from the graph: with what the concepts of
    the question and of the best three hits lead to, what is near to these in meaning, and what they are
    related to. Not with `concepts`, which lets them change the first hits too."""
    include_concepts: Flag = False
    """Name the concepts that each hit carries."""
    expand_context: Flag = False
    """Give each hit's neighbours too, and all of them as merged windows."""
    window_size: Window = DEFAULT_WINDOW
    """How many paragraphs before and after."""
    token_budget: TokenBudget | None = None
    """How many tokens the windows may have together; those of the best hits come first."""

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are searched; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology

    @property
    def follows_concepts(self) -> bool:
        """Whether concepts bring sources."""
        return self.concepts or self.graph

    @model_validator(mode="after")
    def _asks_something(self) -> SourceSearch:
        if self.concepts and self.graph:
            raise ValueError("concepts and graph both follow concepts; leave one out")
        if self.query_text is None and self.query_vector is None:
            raise ValueError("query_text is missing")
        if (self.query_vector is None) != (self.space is None):
            raise ValueError("query_vector and space go together")
        if self.query_vector is not None and not any(self.query_vector):
            raise ValueError("query_vector is zero; it has no direction")
        if self.query_text is None and self.mode != "vector":
            raise ValueError(f"mode {self.mode!r} needs query_text")
        if self.mode == "text" and self.min_similarity is not None and self.query_vector is None:
            raise ValueError("min_similarity needs vectors, and mode 'text' searches without; leave one out")
        if self.hyde and self.hyde != "auto" and (self.mode == "text" or self.query_vector is not None):
            raise ValueError("hyde makes the vector; leave it out with mode 'text', or with query_vector")
        if self.hyde and self.cursor is not None:
            raise ValueError(
                "cursor: with hyde there are no pages, for its answers are written anew each time"
            )
        return self


class MatchedChunk(Answer):
    """A part of a document; offsets are code points of the document's text."""

    text: str
    start: int
    end: int
    source_ids: list[str] = Field(default_factory=list[str])
    """The sources it lies in, in reading order: several where chunks are larger than a paragraph."""


class Ranks(Answer):
    """At which place each lane had the hit, from 1; none where it did not find it."""

    vector: int | None = None
    text: int | None = None
    concepts: int | None = None
    pictures: int | None = None
    """By what it shows, where a space of pictures reads text."""


class CarriedConcept(Answer):
    """A concept by its name."""

    concept_id: str
    label: str
    verified: bool = True
    """Whether a quote of the source proves it."""


class LanePart(Answer):
    """What one lane had to say about a hit."""

    lane: str
    """`text`, `concepts`, `vector:` and the space, or `pictures:` and the space of pictures."""
    index: str
    """The index that was asked; `exact` when every vector was compared."""
    rank: int | None
    """From 1; none where another lane found the hit, and this one only measured it."""
    score: float
    """The lane's own: cosine, or Lucene's score."""
    weight: float
    """The lane's weight for this question."""
    contribution: float
    """What it adds to the fused score."""


class Explanation(Answer):
    """How a hit came to its place."""

    lanes: list[LanePart]
    fusion: str
    """How the lanes were joined; `none` when there was one."""
    fused_rank: int
    fused_score: float
    passage_rank: int | None = None
    """With concepts or pictures: the place among what vectors and words found, joined with theirs by rank."""
    rerank_score: float | None = None
    """The cross-encoder's own score, where it read the hit."""
    rerank_rank: int | None = None
    """The place after blending it in, from 1."""
    mmr_score: float | None = None
    mmr_rank: int | None = None


class SourceHit(DescribedPlace):
    """A source that was found."""

    similarity: float | None
    """Cosine of query and passage, -1 to 1; none without a vector. Compare those of one space only."""
    space: str | None = None
    """The embedding space of the similarity."""
    score: float
    """What the hits are ordered by: the similarity, the full-text score, or the fused score."""
    ranks: Ranks
    chunk: MatchedChunk
    """What matched."""
    parent: MatchedChunk | None = None
    """The larger part to read in its place, where the ontology's strategy is `hierarchical`."""
    concepts: list[CarriedConcept] = Field(default_factory=list[CarriedConcept])
    """Those that it carries, if asked for: at most ten, those of the surest evidence first."""
    through: list[CarriedConcept] = Field(default_factory=list[CarriedConcept])
    """Through which concepts it came, if concepts brought it: at most three, the strongest first."""
    duplicates: list[str] = Field(default_factory=list[str])
    """Sources that say almost the same and were left out for it."""
    matches: list[WordMatch] = Field(default_factory=list[WordMatch])
    """Where words of `query_text` stand in `full_text`, as full text compares them: in any form and case;
    words beside each other as in the question are one. Stop words only beside others. The first 50."""
    explanation: Explanation | None = None
    """How it came to its place, if asked for."""
    context: list[Place] | None = None
    """The neighbours and the source itself in reading order, if asked for."""


class Degradation(Answer):
    """Something that could not be done, and what was done instead."""

    part: DegradedPart
    effect: str


class Respelling(Answer):
    """A word of the question that no text has, where it was searched."""

    word: str
    """In lower case."""
    meant: list[str]
    """Words of the texts that were looked for as well: other accents, or a slip of the finger."""


class LeftOut(Answer):
    """What the lanes found and a least similarity left out."""

    below_similarity: int = 0
    """Less similar than that."""
    without_vector: int = 0
    """Their similarity is not known: they are not embedded yet, or the question could not be."""
    nearest: float | None = None
    """The similarity of the nearest one."""


class SourceHits(Answer):
    """The answer to a search."""

    query_text: str | None
    mode: SearchMode
    """The mode that was used; another than the one asked for is explained in `degraded`."""
    space: str | None
    """The one embedding space of this answer; none without vectors, or when there are several."""
    spaces: list[str] = Field(default_factory=list[str])
    """All embedding spaces that were searched: the question was embedded once in each."""
    picture_spaces: list[str] = Field(default_factory=list[str])
    """The spaces of pictures that the question was looked for in, besides the words of pictures."""
    hypothetical: list[str] = Field(default_factory=list[str])
    """The hypothetical answers that were searched by besides the question; with `hyde`."""
    sources: list[SourceHit]
    next_cursor: str | None = None
    """For the hits behind these; none when there are no more, and with `hyde`. The next page may be empty."""
    left_out: LeftOut = Field(default_factory=LeftOut)
    """What `min_similarity` left out of what was looked at."""
    near: bool | None = None
    """Whether a passage is near the question, by what its model's cosines mean, or because it has all of the
    question's words. Null: nobody can say, as in mode `text`, or with `hyde`."""
    note: str | None = None
    """That nothing is near, where that is so: what was found is only the nearest there is."""
    windows: list[ContextWindow] = Field(default_factory=list[ContextWindow])
    """What to read: neighbours of all hits, merged and within the budget; with `expand_context`."""
    did_you_mean: list[Respelling] = Field(default_factory=list[Respelling])
    """Words that no text has, and what was looked for as well; `degraded` says it as a sentence."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]


# Reading around one source, within a budget.


class SourceContext(Answer):
    """A source among its neighbours of the same document."""

    source_id: str
    window_size: int
    sources: list[Place]


class SourceWindow(SourceContext):
    """A source among its neighbours, as many of them as a budget of tokens allows.

    Paragraphs are whole or left out; what is given follows each other without a gap.
    """

    token_budget: int | None = None
    """The one asked for."""
    tokens: int | None = None
    """Of the paragraphs given, by the tokenizer of the space's model; only counted for a budget."""
    left_out: int = 0
    """Paragraphs of the window that did not fit."""
    degraded: list[Degradation] = Field(default_factory=list[Degradation])


# Reading a document in its order, as much of it at once as a budget allows.


class DocumentReading(Answer):
    """Consecutive paragraphs of a document, whole ones, from a place on."""

    document: DocumentSummary
    start: int
    """The paragraph that it begins with, from 0."""
    sources: list[Place]
    """In reading order, without a gap; one at least, unless the document has none."""
    tokens: int
    """Of these, by the tokenizer of the space's model, or estimated where that is not at hand."""
    next: int | None = None
    """The paragraph to go on from; null where the document ends."""
    left: int = 0
    """Paragraphs behind these."""
    degraded: list[Degradation] = Field(default_factory=list[Degradation])
