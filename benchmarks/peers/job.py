"""What a contestant's process is given and gives back; another interpreter than kg's reads it, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from kg_api.providers.embedding_port import ModelSpec


@dataclass(frozen=True, slots=True)
class Passage:
    """One document for kg, one node for the others."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One whose right answers are known to whoever judges."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts, and what is asked of them."""

    number: int
    name: str
    passages: list[Passage]
    questions: list[Question] = field(default_factory=list[Question])
    """Judged ones, for the quality."""
    words: list[str] = field(default_factory=list[str])
    """No two alike, for the speed; the last ones have their vectors in `vectors.npy`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where Neo4j, kg and the model are."""

    bolt: str
    password: str
    api_url: str
    home: Path
    model: Path
    spec: ModelSpec


@dataclass(frozen=True, slots=True)
class Pace:
    """How long and how hard is asked."""

    clients: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Job:
    """All that one contestant has to do."""

    contestant: str
    place: Place
    pace: Pace
    corpora: list[Corpus]
    processes: dict[str, int]
    """Those beside the contestant's own whose processor time and memory count, by role."""


@dataclass(slots=True)
class Phase:
    """Searches one after the other, or of several clients at once."""

    clients: int
    searches: int
    seconds: float
    a_second: float
    p50_ms: float
    p95_ms: float
    cpu_ms: dict[str, float]
    """Of one search, by role."""
    errors: dict[str, int]


@dataclass(slots=True)
class Measured:
    """What a contestant did with a corpus."""

    passages: int
    taking_in_seconds: float
    bare_a_second: list[float]
    """The bare embedder on a sample of the same texts, right before and after."""
    share_of_bare: float
    settled_seconds: float
    """What went on by itself after the last vector."""
    cut: int
    """Passages longer than the model reads, of which the others embed the beginning."""
    memory_mb: dict[str, int] = field(default_factory=dict[str, int])
    search: dict[str, Phase] = field(default_factory=dict[str, Phase])
    answers: dict[str, dict[str, list[str]]] = field(default_factory=dict[str, dict[str, list[str]]])
    """Passages found, by way of ranking and question; not printed."""
    failed: dict[str, int] = field(default_factory=dict[str, int])
    """Judged questions that were answered by an error, which counts as nothing found."""


@dataclass(slots=True)
class Report:
    """A contestant's result."""

    versions: dict[str, str]
    corpora: dict[str, Measured]


JOB = TypeAdapter(Job)
REPORT = TypeAdapter(Report)
