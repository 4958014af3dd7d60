"""Backups of a home: consistent copies of the files of Neo4j and of images, with a manifest.

kg copies most files while everything runs. Then it suspends Neo4j while it copies the rest, usually for a
moment.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

import filelock
import psutil
import structlog
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator

from kg_api import __version__
from kg_api.atomic_write import FOLDER_MODE, write_whole
from kg_api.errors import Conflict, KgError, ManagedProcessError, NotFound, StorageFull, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.readiness import DatabaseProbe
from kg_api.graph.schema import require_known_schema
from kg_api.local import neo4j, processes
from kg_api.local.neo4j import build_neo4j_role, choose_bolt_port
from kg_api.local.processes import Home, OnWait, ProcessId
from kg_api.settings import Settings, list_set_variables, variables

log = structlog.get_logger()

PIECE: Final = 4 * 1024 * 1024
MIB: Final = 1024 * 1024
OnBytes = Callable[[int], None]  # called with the bytes copied or read since the last call


@dataclass(frozen=True, slots=True)
class BackupProgress:
    """Callbacks that report the progress of a backup or a restore."""

    on_step: Callable[[str, int], None]  # called with the name of a new step and its size in bytes
    on_bytes: OnBytes
    on_wait: OnWait


# Files


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every file below a folder. A missing folder has none."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def copy_file(source: Path, to: Path, on_bytes: OnBytes, hashed: Any = None) -> None:
    """Copy a file with read permission for its owner only, and update a hash with its content."""
    with source.open("rb") as file:
        to.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        handle = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as copy:
            while piece := file.read(PIECE):
                copy.write(piece)
                if hashed is not None:
                    hashed.update(piece)
                on_bytes(len(piece))


def require_room(folder: Path, needed: int, reserve: int) -> None:
    """Raise StorageFull if the disk lacks the space."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed + reserve:
        raise StorageFull(
            f"the disk of {folder} has {free / MIB:.0f} MiB left, but the backup needs "
            f"{needed / MIB:.0f} MiB and {reserve / MIB:.0f} MiB must stay free. Free some space, or "
            "choose a folder on another disk"
        )


YOUNG_NS: Final = 2_000_000_000
"""Minimum age of a reliable modification time. Clock steps can hide a later write to a younger file."""


class Mirror:
    """A copy of folders in use. It is refreshed during writes, and a last time without writes."""

    def __init__(
        self, trees: Sequence[tuple[Path, str]], to: Path, wanted: Callable[[Path], bool] = lambda _: True
    ) -> None:
        self._trees = trees
        self._to = to
        self._wanted = wanted
        self._copied: dict[Path, tuple[int, int, int] | None] = {}
        """Inode, size, and modification time of each copied file (None: copy again)."""

    def measure(self) -> int:
        """Return the number of bytes to copy."""
        return sum(state[1] for _, _, state in self._find())

    def refresh(self, on_bytes: OnBytes) -> int:
        """Copy changed files and remove deleted ones. Return the copied bytes."""
        there, size = set[Path](), 0
        for source, to, state in self._find():
            if self._copied.get(to) != state:
                is_young = time.time_ns() - state[2] < YOUNG_NS
                self._copied[to] = None
                try:
                    copy_file(source, to, on_bytes)
                except FileNotFoundError:  # deleted after the listing
                    continue
                self._copied[to] = None if is_young else state
                size += state[1]
            there.add(to)
        for gone in self._copied.keys() - there:
            gone.unlink(missing_ok=True)
            del self._copied[gone]
        return size

    def _find(self) -> Iterator[tuple[Path, Path, tuple[int, int, int]]]:
        for folder, name in self._trees:
            for path in files_below(folder):
                below = path.relative_to(folder)
                if self._wanted(below):
                    with contextlib.suppress(FileNotFoundError):
                        found = path.stat()
                        yield path, self._to / name / below, (found.st_ino, found.st_size, found.st_mtime_ns)


# Suspending a process for a moment
#
# A process stopped by SIGSTOP has the same files as after SIGKILL: readers see all its writes, and no more
# follow. Neo4j recovers from SIGKILL. The process continues even if the one that suspended it dies.

# Maximum pause that users of the database accept. After it, Neo4j continues, and the copy is unusable
LIMIT_SECONDS = 20.0
STOP_SECONDS = 5.0


@contextlib.contextmanager
def standing_still(process: ProcessId, limit_seconds: float = LIMIT_SECONDS) -> Generator[Callable[[], bool]]:
    """Suspend a process until the block ends, this process dies, or the limit expires."""
    # Yields a function that returns whether the process is still stopped. Call it after copying.
    limit = threading.Timer(limit_seconds, process.signal, (signal.SIGCONT,))
    limit.daemon = True
    # A shell waits for the end of this process, however it dies: its input closes, and it resumes Neo4j
    guard = subprocess.Popen(
        ["/bin/sh", "-c", f"read -r end; kill -CONT {process.pid}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        limit.start()
        process.signal(signal.SIGSTOP)
        deadline = time.monotonic() + STOP_SECONDS
        while not is_stopped(process):
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"process {process.pid} does not stop. Check whether the process still exists"
                )
            time.sleep(0.005)
        yield lambda: is_stopped(process)
    finally:
        limit.cancel()
        process.signal(signal.SIGCONT)
        guard.communicate()


def is_stopped(process: ProcessId) -> bool:
    """Return whether a process is alive and none of its threads runs."""
    if not process.alive():
        return False
    tasks = Path(f"/proc/{process.pid}/task")
    try:
        if tasks.exists():
            states = [(task / "stat").read_bytes().rpartition(b")")[2].split()[0] for task in tasks.iterdir()]
            return set(states) <= {b"T", b"t"}
        return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    except (OSError, psutil.Error):
        return False


def continue_forgotten(home: Home, process: ProcessId | None) -> None:
    """Resume a Neo4j that a killed backup left suspended."""
    if process is None or not is_stopped(process):
        return
    with contextlib.suppress(filelock.Timeout), filelock.FileLock(home.backup_lock, timeout=0):
        process.signal(signal.SIGCONT)


# Manifest, written last, so that a folder without it is not a backup

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
DATABASE: Final = "database"
BLOBS: Final = "blobs"
NAME_OF_DATABASE: Final = "neo4j"
Count = Annotated[int, Field(ge=0)]
Measure = Annotated[float, Field(ge=0)]

LEFT_OUT: Final = (
    "the password of Neo4j and the accounts of its `system` database: a restore creates new ones",
    (
        "folder-key: a restore creates a new one. Run `kg folders add` again for synced folders outside "
        "of KG_SYNC__ROOTS"
    ),
    "settings (KG_* and providers' variables) and their keys: they are not kept in the home",
    "logs, ports and pids, Neo4j's own program and the models: made or fetched again",
)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class BackupCounts(_Frozen):
    ontologies: Count
    documents: Count
    sources: Count
    concepts: Count
    pictures: Count


class BackedUpFile(_Frozen):
    path: str  # relative to the backup, with `/`
    bytes: Count
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @field_validator("path")
    @classmethod
    def _stays_below(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if len(parts) < 2 or parts[0] not in {DATABASE, BLOBS} or ".." in parts or re.search(r"[\\\0]", path):  # noqa: PLR2004
            raise ValueError("the path is not inside a backup")
        return path


class BackupManifest(_Frozen):
    format: int
    kg_version: str
    neo4j_version: str
    schema_version: str  # last migration (empty: no service has opened the database)
    made_at: AwareDatetime
    seconds: Measure
    paused_seconds: Measure  # time for which Neo4j was suspended
    home: str
    counts: BackupCounts
    counts_exact: bool  # whether the counts stayed the same during the backup
    settings: list[str]  # names of set variables, which a restore needs again
    left_out: list[str]
    files: list[BackedUpFile]

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.files)


def write(folder: Path, manifest: BackupManifest) -> None:
    write_whole(folder / MANIFEST, manifest.model_dump_json(indent=1).encode(), prefix=f".{MANIFEST}")


def read(folder: Path) -> BackupManifest:
    try:
        manifest = BackupManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise Conflict(
            f"no backup found in {folder}: {MANIFEST}, which is written last, is missing"
        ) from None
    except (OSError, ValidationError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) else ("the manifest is damaged, or of a newer kg")
        )
        raise Conflict(f"{folder / MANIFEST} cannot be read: {reason}") from None
    if manifest.format != FORMAT:
        raise Conflict(
            f"{folder} was written by kg {manifest.kg_version}, in a form that this kg does not know"
        )
    return manifest


# Managed Neo4j during a backup or the test of a restore


@dataclass(frozen=True, slots=True)
class RunningDatabase:
    process: ProcessId
    graph: Graph

    def count(self) -> BackupCounts:
        return BackupCounts.model_validate(self.graph.read("backup/counts")[0])

    def schema_version(self) -> str:
        """Return the name of the last migration, or an empty text if there is none."""
        rows = require_known_schema(self.graph)
        return str(rows[-1]["name"]) if rows else ""


@contextlib.contextmanager
def running_database(
    home: Home, settings: Settings, on_wait: OnWait, needed_by_others: Callable[[], bool]
) -> Generator[RunningDatabase]:
    """Yield the Neo4j of a home. Start it if necessary, and stop it afterwards."""
    role, seconds = build_neo4j_role(home, settings), settings.neo4j.start_timeout_seconds
    ours = processes.running(role) is None
    if ours:
        choose_bolt_port(home, settings)
    process = processes.start(role)
    process.signal(signal.SIGCONT)  # a killed backup may have left it suspended
    try:
        with Graph(home.bolt_uri() or "", "neo4j", home.password() or "") as graph:
            deadline = time.monotonic() + seconds
            processes.wait(role, process, timeout=seconds, on_wait=on_wait)
            probe = DatabaseProbe(graph)
            while (trouble := probe.trouble()) is not None:
                if time.monotonic() > deadline or not process.alive():
                    raise ManagedProcessError(f"Neo4j does not answer: {trouble}")
                on_wait(trouble)
                time.sleep(processes.POLL_SECONDS)
            yield RunningDatabase(process, graph)
    finally:
        if ours and not needed_by_others():
            on_wait("Neo4j to stop")
            processes.stop(role)


# Making a backup

MAX_PASSES: Final = 6
SMALL_BYTES: Final = 32 * MIB  # bytes to copy while Neo4j is suspended: a tenth of a second
TRIES: Final = 3
LOCK_SECONDS: Final = 5
UNFINISHED: Final = ".unfinished-"
OWNER: Final = "owner.pid"


class BackupMaker:
    def __init__(self, home: Home, settings: Settings, progress: BackupProgress) -> None:
        self._home = home
        self._settings = settings
        self._progress = progress

    def make(self, database: RunningDatabase, folder: Path) -> tuple[Path, BackupManifest]:
        processes.make_folder(folder)
        remove_interrupted(folder)
        begun, started = dt.datetime.now(tz=dt.UTC), time.monotonic()
        name = new_name(folder, begun)
        part = folder / f"{UNFINISHED}{name}"
        blobs = self._settings.blobs
        elsewhere = f"the bucket {blobs.s3.bucket}" if blobs.s3.bucket else blobs.folder
        left_out = [*LEFT_OUT]
        if elsewhere:
            told = f"images and PDFs in {elsewhere}"
            left_out.append(f"{told}: copy them after the backup, and give a restored kg its own copy")
        # A restore cannot use variables with paths of this machine
        known = {name for name, _ in variables()} - {"KG_HOME", "KG_CACHE", "KG_BACKUP__FOLDER"}
        part.mkdir(mode=FOLDER_MODE)
        try:
            if me := processes.identify(os.getpid()):
                processes.write_json(part / OWNER, asdict(me))
            schema, before = database.schema_version(), database.count()
            paused = self._copy(database, part, with_blobs=not elsewhere)
            manifest = BackupManifest(
                format=FORMAT,
                kg_version=__version__,
                neo4j_version=neo4j.VERSION,
                schema_version=schema,
                made_at=begun,
                paused_seconds=round(paused, 3),
                home=str(self._home.path),
                counts=before,
                counts_exact=before == database.count(),
                settings=sorted(list_set_variables() & known),
                left_out=left_out,
                files=self._hash(part),
                seconds=round(time.monotonic() - started, 3),
            )
            write(part, manifest)
            (part / OWNER).unlink()
            part.rename(folder / name)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return folder / name, manifest

    def _copy(self, database: RunningDatabase, part: Path, *, with_blobs: bool) -> float:
        """Copy all files. Return the seconds for which Neo4j was suspended."""
        data = self._home.neo4j_data
        kinds = ("databases", "transactions")
        trees = [(data / kind / NAME_OF_DATABASE, f"{DATABASE}/{kind}") for kind in kinds]
        if with_blobs:
            trees.append((self._home.blobs, BLOBS))
        mirror = Mirror(trees, part, lambda path: not path.name.startswith(".writing-"))
        size = mirror.measure()
        require_room(part, size, self._settings.neo4j.disk_reserve_mb * MIB)
        self._progress.on_step("copying", size)
        for _ in range(MAX_PASSES):
            if mirror.refresh(self._progress.on_bytes) < SMALL_BYTES:
                break
        for _ in range(TRIES):
            begun = time.monotonic()
            with standing_still(database.process) as still_so:
                mirror.refresh(lambda _: None)
                whole = still_so()
            if whole:
                return time.monotonic() - begun
            if not database.process.alive():
                raise Conflict("Neo4j stopped during the backup. Try again when kg is up, or down")
        raise Unavailable("too many writes are in progress for a backup. Try again when kg is less busy")

    def _hash(self, part: Path) -> list[BackedUpFile]:
        """Return the descriptions of all files, and flush them to disk."""
        paths = sorted(path for path in files_below(part) if path.name != OWNER)
        self._progress.on_step("checksums", sum(path.stat().st_size for path in paths))
        files = list[BackedUpFile]()
        for path in paths:
            hashed, size = hashlib.sha256(), 0
            with path.open("rb") as file:
                while piece := file.read(PIECE):
                    hashed.update(piece)
                    size += len(piece)
                    self._progress.on_bytes(len(piece))
                os.fsync(file.fileno())
            name = path.relative_to(part).as_posix()
            files.append(BackedUpFile(path=name, bytes=size, sha256=hashed.hexdigest()))
        return files


@contextlib.contextmanager
def one_at_a_time(home: Home) -> Generator[BackupRecord]:
    """Allow only one backup of a home at a time, and record its result."""
    try:
        with filelock.FileLock(home.backup_lock, timeout=LOCK_SECONDS):
            begun = begin(home)
            try:
                yield begun
            except (KgError, OSError) as error:
                fail(home, begun, str(error))
                raise
    except filelock.Timeout:
        raise Conflict(f"a backup of {home.path} is being made") from None


# Record of the last backup, for `kg status`, `kg doctor`, and the metrics


@dataclass(frozen=True, slots=True)
class BackupRecord:
    """The last attempt and the last success."""

    begun: float = 0.0  # seconds since 1970
    ended: float | None = None
    error: str | None = None
    made: float | None = None  # start of the last complete backup
    path: str | None = None
    bytes: int = 0
    paused_seconds: float = 0.0
    pid: int = 0
    pid_created: float = 0.0

    def running(self) -> bool:
        return self.ended is None and ProcessId(self.pid, self.pid_created).alive()

    def trouble(self) -> str | None:
        """Return why the last attempt failed. None: it succeeded or is running."""
        if self.ended is None:
            return None if self.running() else "the backup was interrupted"
        return self.error


def read_record(home: Home) -> BackupRecord | None:
    """Return the record, or None if there was no backup."""
    try:
        return BackupRecord(**processes.read_json(home.backup_file)) if home.backup_file.exists() else None
    except TypeError:
        return None


def begin(home: Home) -> BackupRecord:
    last, me = read_record(home) or BackupRecord(), processes.identify(os.getpid())
    begun = replace(last, begun=time.time(), ended=None, error=None, pid=os.getpid())
    return _keep(home, replace(begun, pid_created=me.created if me else 0.0))


def fail(home: Home, begun: BackupRecord, error: str) -> None:
    _keep(home, replace(begun, ended=time.time(), error=error))


def succeed(home: Home, begun: BackupRecord, path: str, size: int, paused_seconds: float) -> None:
    made = replace(begun, ended=time.time(), made=begun.begun)
    _keep(home, replace(made, path=path, bytes=size, paused_seconds=paused_seconds))


def _keep(home: Home, record: BackupRecord) -> BackupRecord:
    processes.rewrite_json(home.backup_file, asdict(record))
    return record


# Schedule of backups by the supervisor of `kg up`, based on the record of the last backup

HOUR: Final = 3600.0
RETRY_SECONDS: Final = 600.0  # delay after a failure, unless the next backup is due earlier


class BackupSchedule:
    """A schedule that starts a process for each backup and logs its result."""

    def __init__(
        self,
        home: Home,
        every_seconds: float,
        start: Callable[[], ProcessId],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._every = every_seconds
        self._start = start
        self._clock = clock
        self._process: ProcessId | None = None
        self._not_before = 0.0

    def attend(self, working: set[str]) -> None:
        """Start a backup if one is due and Neo4j is among the running roles."""
        if self._process is not None and self._process.alive():
            return
        known, now = read_record(self._home), self._clock()
        if self._process is not None:
            self._process = None
            trouble = known.trouble() if known else "the backup left no record"
            if trouble or known is None:
                log.error("backup failed", reason=trouble, log=str(self._home.log_file("backup")))
            else:
                paused = known.paused_seconds
                log.info("backup made", path=known.path, bytes=known.bytes, paused_seconds=paused)
        is_due = now >= max(self._not_before, get_next_backup_time(known, self._every))
        if "neo4j" in working and is_due and not (known and known.running()):
            self._not_before = now + min(self._every, RETRY_SECONDS)
            self._process = self._start()
            log.info("backup starts", pid=self._process.pid)


def get_next_backup_time(known: BackupRecord | None, every_seconds: float) -> float:
    """Return the time of the next backup, in seconds since 1970."""
    if known is None:
        return 0.0
    after_last = 0.0 if known.made is None else known.made + every_seconds
    if known.trouble() is None:
        return after_last
    return max(after_last, known.begun + min(every_seconds, RETRY_SECONDS))


def is_overdue(known: BackupRecord | None, every_seconds: float, now: float) -> bool:
    """Return whether the last complete backup is older than two intervals."""
    return known is None or known.made is None or now - known.made > 2 * every_seconds


# Backups in a folder


@dataclass(frozen=True, slots=True)
class FoundBackup:
    """A complete or incomplete backup."""

    path: Path
    manifest: BackupManifest | None
    problem: str | None = None  # reason why it is incomplete, by file sizes and not by contents

    def as_json(self) -> dict[str, Any]:
        """Return JSON values without the files."""
        told = self.manifest.model_dump(mode="json", exclude={"files"}) if self.manifest else {}
        size = {"bytes": self.manifest.bytes, "files": len(self.manifest.files)} if self.manifest else {}
        whole = self.problem is None
        return {"path": str(self.path), "whole": whole, "problem": self.problem, **told, **size}


def new_name(folder: Path, now: dt.datetime) -> str:
    """Return a name from the time in UTC, with a number for a further backup in the same second."""
    name = now.astimezone(dt.UTC).strftime("kg-%Y%m%d-%H%M%S")
    taken = {path.name.removeprefix(UNFINISHED) for path in folder.glob("*kg-*")}
    further = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *further) if each not in taken)


def list_backups(folder: Path) -> list[FoundBackup]:
    """Return the backups of a folder, newest first."""
    found = [*folder.glob("kg-*"), *folder.glob(f"{UNFINISHED}kg-*")]
    ordered = sorted(found, key=lambda path: path.name.removeprefix(UNFINISHED), reverse=True)
    return [inspect_backup(path) for path in ordered if path.is_dir()]


def inspect_backup(path: Path) -> FoundBackup:
    """Check the manifest of a backup, and the existence and size of every file."""
    if path.name.startswith(UNFINISHED):
        at_work = processes.load(path / OWNER) is not None
        return FoundBackup(
            path, None, "the backup is in progress" if at_work else "the backup was interrupted"
        )
    try:
        manifest = read(path)
    except Conflict as error:
        return FoundBackup(path, None, str(error))
    for each in manifest.files:
        try:
            size = (path / each.path).stat().st_size
        except OSError:
            return FoundBackup(path, manifest, f"{each.path} is missing")
        if size != each.bytes:
            return FoundBackup(path, manifest, f"{each.path} has {size} bytes, not {each.bytes}")
    return FoundBackup(path, manifest)


def find_backup(named: Path, folder: Path) -> Path:
    """Return a backup by its path, or by its name in the default folder."""
    for path in (named.expanduser(), folder / named):
        if path.is_dir():
            return path.absolute()
    raise NotFound(f"backup {str(named)!r} not found. `kg admin backups` lists the backups in {folder}")


def remove_oldest(folder: Path, keep: int, home: str) -> list[Path]:
    """Remove complete backups of a home except the newest `keep`, at least 1. Return the removed ones."""
    whole = [each for each in list_backups(folder) if each.problem is None]
    own = [each.path for each in whole if each.manifest and each.manifest.home == home]
    gone = own[max(keep, 1) :]
    for path in gone:
        (path / MANIFEST).unlink()  # the manifest first, so that a partly removed backup is not valid
        shutil.rmtree(path)
    return gone


def remove_interrupted(folder: Path) -> list[Path]:
    """Remove the remains of killed backups. Return the removed ones."""
    left = folder.glob(f"{UNFINISHED}kg-*")
    gone = [path for path in left if path.is_dir() and processes.load(path / OWNER) is None]
    for path in gone:
        shutil.rmtree(path)
    return gone
