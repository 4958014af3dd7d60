"""The jars of the pinned Neo4j, checked before each start."""

from __future__ import annotations

import hashlib
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kg_api import maven

LOCK = Path(__file__).with_name("neo4j-2026.08.1.lock.toml")
VERSION = "2026.08.1"


def fetch(cache: Path, on_progress: maven.Progress | None = None) -> list[Path]:
    """Give every jar, fetching those that are missing.

    Raises:
        ManagedProcessError: a jar cannot be had.
    """
    return maven.fetch(LOCK, cache, on_progress)


def check_jars(cache: Path, on_progress: maven.Progress | None = None) -> list[Path]:
    """Give every jar, each with the checksum of the lock; missing and damaged ones are fetched.

    Raises:
        ManagedProcessError: a jar cannot be had.
    """
    paths = fetch(cache, on_progress)
    if broken := find_damaged(paths):
        for path in broken:
            path.unlink(missing_ok=True)
        paths = fetch(cache, on_progress)
    return paths


def inspect(cache: Path) -> tuple[list[Path], list[Path]]:
    """Give the jars that are missing and those that are damaged; nothing is fetched."""
    bad = find_damaged([_place(cache, entry) for entry in _entries()])
    return [path for path in bad if not path.exists()], [path for path in bad if path.exists()]


def find_damaged(paths: list[Path]) -> list[Path]:
    """Give those of the jars, in the lock's order, that are missing or have another checksum."""
    expected = [entry["sha256"] for entry in _entries()]
    with ThreadPoolExecutor() as pool:
        found = pool.map(_sha256, paths)
        return [path for path, has, wants in zip(paths, found, expected, strict=True) if has != wants]


def _entries() -> list[dict[str, str]]:
    return tomllib.loads(LOCK.read_text(encoding="utf-8"))["dependencies"]


def _place(cache: Path, entry: dict[str, str]) -> Path:
    """Where Maven's layout puts an artifact."""
    folder = cache.joinpath("m2", *entry["groupId"].split("."), entry["artifactId"], entry["version"])
    name = "-".join(filter(None, (entry["artifactId"], entry["version"], entry.get("classifier"))))
    return folder / f"{name}.jar"


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
