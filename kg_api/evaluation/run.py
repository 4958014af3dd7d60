"""Asking every question once: answers are kept as they come, so that an interrupted run can go on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
from pydantic import ValidationError
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

import kg_api
from kg_api.errors import InvalidInput, KgError
from kg_api.schemas.documents import Format
from kg_api.schemas.embedding import EmbeddingConfiguration
from kg_api.schemas.evaluation import FoundSpan, QuestionResult, SetDocument, SetQuery, Titles
from kg_api.schemas.spaces import SpaceInfo

Searcher = Callable[[SetQuery], QuestionResult]
"""Asks the service one question."""


class AnswerFile:
    """Answers on disk, one a line; the first line names the run that they belong to."""

    def __init__(self, path: Path, key: str) -> None:
        """Read what is there. Answers of another run, and a line that was cut by a kill, are dropped."""
        self.path = path
        self.answers: dict[str, QuestionResult] = {}
        with _readable(path):
            for asked in _read_kept(path, key):
                self.answers[asked.query_id] = asked
            lines = [json.dumps({"key": key}), *(each.model_dump_json() for each in self.answers.values())]
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def add(self, asked: QuestionResult) -> None:
        self.answers[asked.query_id] = asked
        with _readable(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(asked.model_dump_json() + "\n")


def ask_all(
    queries: Sequence[SetQuery], search: Searcher, kept: AnswerFile, tell: Callable[[], None]
) -> Mapping[str, QuestionResult]:
    """Ask what has no answer yet, keep each answer, and `tell` after each."""
    due = [query for query in queries if query.query_id not in kept.answers]
    if due:
        search(due[0])  # the first request of a connection is slower: it is not measured
    for query in due:
        kept.add(search(query))
        tell()
    return {query.query_id: kept.answers[query.query_id] for query in queries}


@contextmanager
def _readable(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"the answers in {path} cannot be kept: {error.strerror}") from error


def _read_kept(path: Path, key: str) -> list[QuestionResult]:
    """Read answers of the same run; those that lacked a part are asked for again."""
    if not path.is_file():
        return []
    header, *lines = path.read_bytes().split(b"\n")
    try:
        if json.loads(header) != {"key": key}:
            return []
    except ValueError:
        return []
    found = list[QuestionResult]()
    for line in lines[:-1]:  # behind the last line end is nothing, or what a kill has cut
        with suppress(ValidationError):
            found.append(QuestionResult.model_validate_json(line))
    return [asked for asked in found if not asked.degraded]


# Which kg, on which machine, embedded how: what a result says about where it comes from.

_DECIDING = ("concepts", "extraction", "graph", "ingest", "jobs", "providers", "search", "spaces", "text")
"""Packages whose code decides over what a search answers."""


def describe_kg(version: str) -> dict[str, Any]:
    """The service's version, the commit of the checkout if there is one, and a hash of the code."""
    package = Path(kg_api.__file__).parent
    files = [path for name in _DECIDING for path in (package / name).rglob("*.py")]
    for folder in (package / "cypher", package.parent / "cypher"):
        files += folder.glob("*.cypher")
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + path.read_bytes())
    told = {"version": version, "code": digest.hexdigest()[:16]}
    if commit := _git(package, "rev-parse", "HEAD"):
        told["commit"] = commit + ("-dirty" if _git(package, "status", "--porcelain", "-uno") else "")
    return told


def describe_machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load": [round(load, 2) for load in psutil.getloadavg()],
    }


def describe_embedding(
    ontology: str, found: EmbeddingConfiguration, spaces: Iterable[SpaceInfo]
) -> dict[str, Any]:
    answering = found.answering or found.config
    space = {each.slug: each for each in spaces}.get(answering.space)
    told = {"ontology": ontology, "chunking": answering.chunking.model_dump(mode="json")}
    if space is not None:
        names = ("slug", "provider", "model", "revision", "dimensions", "fingerprint")
        told["space"] = {name: getattr(space, name) for name in names}
    told["stored"] = {"sources": found.total, "embedded": found.embedded, "refused": found.refused}
    return told


def _git(folder: Path, *arguments: str) -> str:
    """What git says; nothing where this is no checkout."""
    if not (folder.parent / ".git").exists():
        return ""
    try:
        told = subprocess.run(
            ["git", "-C", str(folder.parent), *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip()


# Asking again while a part of kg is away for a moment.

T = TypeVar("T")


def ask_again(
    call: Callable[[], T],
    errors: tuple[type[KgError], ...],
    seconds: float,
    pause: float,
    before: Callable[[RetryCallState], None] | None = None,
) -> T:
    """Call, again and again while it fails in a way that passes; the call must be safe to repeat."""
    again, stop, wait = retry_if_exception_type(errors), stop_after_delay(seconds), wait_fixed(pause)
    return Retrying(retry=again, stop=stop, wait=wait, before_sleep=before, reraise=True)(call)


# How a set's documents are sent to kg, and how what is found there is said in the set's own offsets.

_MAX_TITLE_LENGTH = 1000

EVALUATED = "urn:kg-eval:"
"""How the address of what an evaluation stored begins."""


@dataclass(frozen=True, slots=True)
class SentDocument:
    """A document as it goes to kg."""

    document: str
    text: str
    title: str | None
    format: Format
    shift: int
    """So many characters stand before the set's own text."""
    length: int
    """Characters of the set's own text."""

    @property
    def uri(self) -> str:
        """Names what was sent, so that another run sees that it is there unchanged."""
        told = hashlib.sha256(f"{self.format}\n{self.title}\n{self.text}".encode()).hexdigest()
        return f"{EVALUATED}{told[:32]}"

    def found(self, start: int, end: int) -> FoundSpan:
        """A place in what was sent, in offsets of the set's text."""
        at = [min(max(place - self.shift, 0), self.length) for place in (start, end)]
        return FoundSpan(document=self.document, start=at[0], end=at[1])


def as_sent(document: SetDocument, titles: Titles) -> SentDocument:
    """Give a document the form in which it is taken in."""
    text, title, form = document.text, document.title[:_MAX_TITLE_LENGTH], document.format
    begins = text.partition("\n")[0].rstrip() == title
    before = f"{title}\n\n" if titles == "above" and title and form is None and not begins else ""
    return SentDocument(
        document.document, before + text, title or None, form or "text", len(before), len(text)
    )
