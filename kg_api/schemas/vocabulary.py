"""Terms and limits that REST, CLI, MCP, and the client share. `kg --help` imports them without pydantic."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

SourceKind = Literal["passage", "image"]  # Kinds of sources. The text of an image is its description.
RelatedLane = Literal["document", "concepts", "words", "picture_space", "link"]
"""Relation of an image to a passage. `link`: a user accepted a proposed link."""
ImageLane = Literal["picture_space", "words", "concepts"]
SearchMode = Literal["hybrid", "vector", "text"]
HybridMode = Literal["hybrid", "graph", "concept", "source", "text"]
Fusion = Literal["adaptive", "rrf", "weighted"]
DegradedPart = Literal[
    "embedding", "vector_index", "text_index", "query", "spelling", "vectors", "rerank", "windows",
    "concepts", "hyde", "answer",
]  # fmt: skip
GroupBy = Literal["source", "chunk"]

TextLanguage = Literal[
    "auto", "ar", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "hi", "hu", "id", "it", "nl",
    "no", "pl", "pt", "ro", "ru", "sv", "tr",
]  # fmt: skip
Strategy = Literal["sentence", "paragraph", "count", "semantic", "paragraph_group", "hierarchical"]
ContextMode = Literal["none", "template", "llm", "late", "late_template"]
Provider = Literal["local", "openai", "nomic", "deterministic"]
ImageProvider = Literal["histogram", "onnx", "nomic", "openai"]
Modality = Literal["text", "image"]
EmbeddedKind = Literal["source", "concept", "image", "edge"]
ExtractorName = Literal["keyphrase", "llm", "none"]
Selection = Literal["due", "missing", "stale"]


NodeKind = Literal["concept", "passage", "image", "document"]
EdgeKind = Literal["related_to", "appears_in", "part_of", "next_to"]
EdgeDirection = Literal["out", "in", "both"]
SeedKind = Literal["text", "concept", "relationship", "source", "image"]
SubgraphOrder = Literal["text", "pagerank", "connections"]
CutReason = Literal["fan_out", "hub", "frontier", "nodes", "edges", "time", "filter", "limit"]


KeyScope = Literal["read", "write", "admin"]  # Scopes of API keys. Each includes the previous scopes.
KeyState = Literal["active", "expired", "revoked"]


class JobState(StrEnum):
    """State of a job. Only queued and running jobs hold their unique key."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    SUCCEEDED_WITH_ERRORS = "succeeded_with_errors"
    """The job is finished and recorded the reason for each skipped item."""
    CANCELLED = "cancelled"
    FAILED = "failed"

    @classmethod
    def _missing_(cls, value: object) -> JobState | None:
        """Accept the names until 0.2 in filters."""
        names = {"completed": "SUCCEEDED", "completed_with_errors": "SUCCEEDED_WITH_ERRORS", "dead": "FAILED"}
        return cls[names[value]] if isinstance(value, str) and value in names else None


MAX_RELEVANCE = 2
Target = Literal["documents", "passages", "spans"]
"""Unit of relevance: documents, judged passages, or the exact spans of the answer."""
Tier = Literal["pilot", "standard", "full"]

MAX_KEY_NAME = 100
MAX_KEY_DAYS = 3650
MAX_KEY_ONTOLOGIES = 100
USUAL_OVERLAP_HOURS = 24
MAX_OVERLAP_HOURS = 24 * 30
MAX_LIMIT = 100
MAX_PAGED_HITS = 1000  # maximum number of results on all pages of one search
MAX_CURSOR_CHARACTERS = 7000
MAX_PAGE = 1000
MAX_OFFSET = 1_000_000
MAX_NAMES = 1000  # maximum number of ontologies or documents in a search
MAX_QUERY_CHARACTERS = 20_000
MIN_PAGE_WIDTH, DEFAULT_PAGE_WIDTH, MAX_PAGE_WIDTH = 100, 1200, 2400  # width of a rendered page in pixels
MAX_HYPOTHETICAL = 5
DEFAULT_WINDOW, MAX_WINDOW = 2, 20
MAX_PARAGRAPH = 10_000_000
USUAL_READ = 4000  # default number of tokens for one read of a document
MAX_TOKEN_BUDGET = 1_000_000

MAX_ANSWER_PASSAGES = 50
MIN_ANSWER_TOKENS = 100

MAX_PER_PIECE = 50
MIN_PIECE, MAX_PIECE = 64, 8192
MAX_PIECE_OVERLAP = 2048

MAX_CENTRAL_PASSAGES = 50

MAX_NEIGHBOURS = 50
MAX_NODES = 5000
USUAL_MAP_POINTS, MAX_MAP_POINTS = 20_000, 50_000

MAX_PER_SOURCE = 50
MAX_PHRASE = 2000
MAX_ONTOLOGIES = 20
MAX_TYPES = 20
MAX_STATEMENTS = 5
MAX_HOPS = 4
MAX_RELATED = 200
MAX_EVIDENCE = 200
MAX_PASSAGES = 100
MAX_PATHS = 20
MAX_FACETS = 10
MAX_FACET_VALUES = 1000
MAX_MERGED_TYPES = 50
ALIKE = 0.75  # minimum cosine similarity of synonymous relationship types in the default model (ADR 70)
Stance = Literal["supports", "contradicts", "supported by", "contradicted by", "neutral"]
"""Stance of a relationship type towards its target, or, with `by`, towards its start."""
MAX_STEPS = 12
MAX_SEEDS = 50
MAX_FAN_OUT = 100
MAX_SUBGRAPH_NODES, MAX_SUBGRAPH_EDGES = 1000, 5000
MAX_QUERY_SECONDS = 30
ProposalKind = Literal["source", "concept"]
ProposalState = Literal["open", "accepted", "rejected"]
MAX_COMPARED = 10
LINKED = "linked by hand"  # Type of a relationship from an accepted proposal. No text states it.
