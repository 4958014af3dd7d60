"""Which kg, on which machine, embedded how: what a result says about where it comes from."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

import kg_api
from kg_api.models.embedding.configuration import EmbeddingConfiguration
from kg_api.models.embedding.spaces import SpaceInfo

_DECIDING = (
    *("answer", "augment", "chunk", "concepts", "embed", "extract", "graph", "ingest", "jobs", "llm"),
    *("models", "parse", "planning", "provider", "rerank", "search", "spaces"),
)
"""Packages whose code decides over what a search answers."""


def describe_kg(version: str) -> dict[str, Any]:
    """The service's version, the commit of the checkout if there is one, and a hash of the code."""
    package = Path(kg_api.__file__).parent
    told = {"version": version, "code": _code(package)}
    commit = _git(package, "rev-parse", "HEAD")
    if commit:
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
    """How an ontology is embedded, and by which model."""
    answering = found.answering or found.config
    space = {each.slug: each for each in spaces}.get(answering.space)
    told = {"ontology": ontology, "chunking": answering.chunking.model_dump(mode="json")}
    if space is not None:
        names = ("slug", "provider", "model", "revision", "dimensions", "fingerprint")
        told["space"] = {name: getattr(space, name) for name in names}
    told["stored"] = {"sources": found.total, "embedded": found.embedded, "refused": found.refused}
    return told


def _code(package: Path) -> str:
    files = [path for name in _DECIDING for path in (package / name).rglob("*.py")]
    for folder in (package / "cypher", package.parent / "cypher"):
        files += folder.glob("*.cypher")
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


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
