"""Download of Maven packages with the checksums of a lock file.

The lock file has jgo's format. It contains all coordinates, so kg reads no POM and downloads in parallel.
jgo itself opens two connections for each file: 237 files take 58 s, and 2 s over connections that are kept.
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
    from jgo.maven import Artifact
    from requests import Session

Progress = Callable[[int, int, str], None]
"""Callback with the number of finished files, the number of all files, and the name of the last file."""

PARALLEL_DOWNLOADS = 8
TIMEOUT_SECONDS = 60


def fetch(lock: Path, cache: Path, on_progress: Progress | None = None) -> list[Path]:
    """Return the paths of the locked files, and download missing files. Safe for parallel processes."""
    from jgo.env import LockFile  # noqa: PLC0415 - jgo imports requests and more, 0.2 s
    from requests import Session  # noqa: PLC0415

    entries = LockFile.load(lock).dependencies
    artifacts = [_find_artifact(cache, entry) for entry in entries]
    paths = [*map(_build_path, artifacts)]
    verified = cache / "verified" / hashlib.sha256(lock.read_bytes()).hexdigest()
    if verified.exists() and all(path.exists() for path in paths):
        return paths
    cache.mkdir(parents=True, exist_ok=True)
    with (
        filelock.FileLock(cache / "maven.lock"),
        Session() as session,
        ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool,
    ):
        fetched = pool.map(partial(_fetch_one, session), artifacts, entries)
        for finished, path in enumerate(fetched, start=1):
            if on_progress:
                on_progress(finished, len(entries), path.name)
        verified.parent.mkdir(parents=True, exist_ok=True)
        verified.touch()
    return paths


def find_damaged(lock: Path, cache: Path) -> list[Path]:
    """Find the locked files that are missing or damaged."""
    from jgo.env import LockFile  # noqa: PLC0415

    entries = LockFile.load(lock).dependencies
    paths = [_build_path(_find_artifact(cache, entry)) for entry in entries]
    return [path for path, entry in zip(paths, entries, strict=True) if not _is_intact(path, entry)]


def _is_intact(path: Path, entry: LockedDependency) -> bool:
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == entry.sha256


def _fetch_one(session: Session, artifact: Artifact, entry: LockedDependency) -> Path:
    path = _build_path(artifact)
    if _is_intact(path, entry):
        return path
    try:
        _download(session, artifact, path, entry.sha256)
    except OSError as error:  # also from requests
        raise ManagedProcessError(
            f"{entry.artifactId} {entry.version} cannot be downloaded from Maven Central: "
            f"{error}\nCheck the network and run the command again. Finished downloads are kept."
        ) from error
    return path


@retry(
    retry=retry_if_exception_type(OSError),
    stop=stop_after_attempt(3),
    wait=wait_exponential(multiplier=1, max=4),
    reraise=True,
)
def _download(session: Session, artifact: Artifact, path: Path, sha256: str | None) -> None:
    repository = next(iter(artifact.context.remote_repos.values()))
    url = f"{repository}/{artifact.component.path_prefix.as_posix()}/{artifact.filename}"
    response = session.get(url, timeout=TIMEOUT_SECONDS)
    response.raise_for_status()
    content = response.content
    if hashlib.sha256(content).hexdigest() != sha256:
        raise OSError(f"{path.name} does not have the checksum that kg expects")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _build_path(artifact: Artifact) -> Path:
    path = artifact.cached_path
    if path is None:
        raise ManagedProcessError(f"{artifact.filename} has no path in the cache")
    return path


def _find_artifact(cache: Path, entry: LockedDependency) -> Artifact:
    from jgo.maven import MavenContext  # noqa: PLC0415

    component = MavenContext(repo_cache=cache / "m2").project(entry.groupId, entry.artifactId)
    return component.at_version(entry.version).artifact(entry.classifier or "", entry.packaging)
