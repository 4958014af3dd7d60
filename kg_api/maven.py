"""Download of Maven packages with the checksums of a lock file.

The lock file has jgo's format. It contains all coordinates, so kg reads no POM and downloads in parallel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import filelock
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from kg_api.errors import ManagedProcessError

if TYPE_CHECKING:
    from jgo.env import LockedDependency
    from jgo.maven import MavenContext

Progress = Callable[[int, int, str], None]
"""Callback with the number of finished files, the number of all files, and the name of the last file."""

PARALLEL_DOWNLOADS = 8


def fetch(lock: Path, cache: Path, on_progress: Progress | None = None) -> list[Path]:
    """Return the paths of the locked files, and download missing files. Safe for parallel processes."""
    from jgo.env import LockFile  # noqa: PLC0415 - jgo imports requests and more, 0.2 s

    entries = LockFile.load(lock).dependencies
    verified = cache / "verified" / hashlib.sha256(lock.read_bytes()).hexdigest()
    paths = [_path(cache, entry) for entry in entries]
    if verified.exists() and all(path.exists() for path in paths):
        return paths
    cache.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(cache / "maven.lock"):
        _fetch_all(entries, cache, on_progress)
        verified.parent.mkdir(parents=True, exist_ok=True)
        verified.touch()
    return paths


def _fetch_all(entries: list[LockedDependency], cache: Path, on_progress: Progress | None) -> None:
    with ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
        fetched = pool.map(partial(_fetch_one, cache), entries)
        for finished, path in enumerate(fetched, start=1):
            if on_progress:
                on_progress(finished, len(entries), path.name)


def _fetch_one(cache: Path, entry: LockedDependency) -> Path:
    try:
        return _download(_context(cache), entry)
    except (OSError, RuntimeError) as error:  # OSError from requests, RuntimeError from jgo
        raise ManagedProcessError(
            f"{entry.artifactId} {entry.version} cannot be downloaded from Maven Central: "
            f"{error}\nCheck the network and run the command again. Finished downloads are kept."
        ) from error


@retry(
    retry=retry_if_exception_type((OSError, RuntimeError)),
    stop=stop_after_attempt(3),
    wait=wait_exponential(multiplier=1, max=4),
    reraise=True,
)
def _download(context: MavenContext, entry: LockedDependency) -> Path:
    component = context.project(entry.groupId, entry.artifactId).at_version(entry.version)
    artifact = component.artifact(entry.classifier or "", entry.packaging)
    path = artifact.resolve()
    if hashlib.sha256(path.read_bytes()).hexdigest() != entry.sha256:
        path.unlink()  # an interrupted download looks like a cached file to jgo
        raise RuntimeError(f"{path.name} does not have the checksum that kg expects")
    return path


def _path(cache: Path, entry: LockedDependency) -> Path:
    component = _context(cache).project(entry.groupId, entry.artifactId).at_version(entry.version)
    path = component.artifact(entry.classifier or "", entry.packaging).cached_path
    if path is None:
        raise ManagedProcessError(f"{entry.artifactId} has no path in the cache {cache}")
    return path


def _context(cache: Path) -> MavenContext:
    from jgo.maven import MavenContext, PythonResolver  # noqa: PLC0415

    return MavenContext(resolver=PythonResolver(), repo_cache=cache / "m2", timeout=60)
