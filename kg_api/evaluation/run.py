"""Provenance of a run, retries, and the documents that a run sends."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

import kg_api
from kg_api.errors import KgError
from kg_api.schemas.embedding import EmbeddingConfiguration
from kg_api.schemas.evaluation import FoundSpan, SetDocument
from kg_api.schemas.formats import TextFormat
from kg_api.schemas.spaces import SpaceInfo

# Provenance of a result: version of kg, machine and embedding

_DECIDING = ("concepts", "extraction", "graph", "ingest", "jobs", "providers", "search", "spaces", "text")
"""Packages whose code affects the results of a search."""


def describe_kg(version: str) -> dict[str, Any]:
    """Return the version of the service, a hash of its code, and the commit, if it is a checkout."""
    package = Path(kg_api.__file__).parent
    files = [path for name in _DECIDING for path in (package / name).rglob("*.py")]
    for folder in (package / "cypher", package.parent / "cypher"):
        files += folder.glob("*.cypher")
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + path.read_bytes())
    facts = {"version": version, "code": digest.hexdigest()[:16]}
    if commit := _run_git(package, "rev-parse", "HEAD"):
        facts["commit"] = commit + ("-dirty" if _run_git(package, "status", "--porcelain", "-uno") else "")
    return facts


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
    facts = {"ontology": ontology, "chunking": answering.chunking.model_dump(mode="json")}
    if space is not None:
        names = ("slug", "provider", "model", "revision", "dimensions", "fingerprint")
        facts["space"] = {name: getattr(space, name) for name in names}
    facts["stored"] = {"sources": found.total, "embedded": found.embedded, "refused": found.refused}
    return facts


def _run_git(folder: Path, *arguments: str) -> str:
    """Return the output of git, or '' outside a checkout."""
    if not (folder.parent / ".git").exists():
        return ""
    try:
        completed = subprocess.run(
            ["git", "-C", str(folder.parent), *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip()


# Retries

T = TypeVar("T")


def retry_call(
    call: Callable[[], T],
    errors: tuple[type[KgError], ...],
    seconds: float,
    pause: float,
    before: Callable[[RetryCallState], None] | None = None,
) -> T:
    again, stop, wait = retry_if_exception_type(errors), stop_after_delay(seconds), wait_fixed(pause)
    return Retrying(retry=again, stop=stop, wait=wait, before_sleep=before, reraise=True)(call)


# Documents of a set as stored in kg, and offsets of hits in the set's own text

_MAX_TITLE_LENGTH = 1000

EVALUATED = "urn:kg-eval:"  # URI prefix of documents stored by an evaluation


@dataclass(frozen=True, slots=True)
class SentDocument:
    document: str
    text: str
    title: str | None
    format: TextFormat
    shift: int  # length of the text before the set's own text
    length: int  # length of the set's own text

    @property
    def uri(self) -> str:
        """URI with a hash of the document, so that another run finds it unchanged."""
        digest = hashlib.sha256(f"{self.format}\n{self.title}\n{self.text}".encode()).hexdigest()
        return f"{EVALUATED}{digest[:32]}"

    def find_span(self, start: int, end: int) -> FoundSpan:
        """Convert offsets in the sent text to offsets in the set's text."""
        at = [min(max(place - self.shift, 0), self.length) for place in (start, end)]
        return FoundSpan(document=self.document, start=at[0], end=at[1])


def build_sent_document(document: SetDocument, *, in_place: bool = False) -> SentDocument:
    """Build a document as sent, with its title above a plain text, or `in_place` as it is stored."""
    text, title, form = document.text, document.title[:_MAX_TITLE_LENGTH], document.format
    begins = text.partition("\n")[0].rstrip() == title
    before = f"{title}\n\n" if not in_place and title and form is None and not begins else ""
    return SentDocument(
        document.document, before + text, title or None, form or "text", len(before), len(text)
    )
