"""Backups of a home: the files of Neo4j and of pictures as they were at one moment, with a manifest.

Most is copied while everything runs. Then Neo4j stands still while the rest is copied, mostly for a moment.
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
from kg_api.local.neo4j import choose_bolt_port, neo4j_role
from kg_api.local.processes import Home, OnWait, ProcessId
from kg_api.settings import Settings, given_variables, variables

log = structlog.get_logger()

PIECE: Final = 4 * 1024 * 1024
MIB: Final = 1024 * 1024
OnBytes = Callable[[int], None]  # called with the bytes that were copied or read since the last call


@dataclass(frozen=True, slots=True)
class BackupProgress:
    """Callbacks that report how far a backup or a restore is."""

    on_step: Callable[[str, int], None]  # called with what begins, and how many bytes it is about
    on_bytes: OnBytes
    on_wait: OnWait


# Files.


def files_below(folder: Path) -> Iterator[Path]:
    """Return every file below a folder; none if there is no such folder."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def copy_file(source: Path, to: Path, on_bytes: OnBytes, hashed: Any = None) -> None:
    """Copy a file to one that nobody else may read, and feed each piece to a hash."""
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
    """Begin only what there is room for."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed + reserve:
        raise StorageFull(
            f"the disk of {folder} has {free / MIB:.0f} MiB left; {needed / MIB:.0f} MiB are to be written, "
            f"with {reserve / MIB:.0f} MiB to spare: free some space, or name a folder on another disk"
        )


YOUNG_NS: Final = 2_000_000_000
"""A further write may come within the clock's own step: the time of a file so young proves nothing."""


class Mirror:
    """A copy of folders that are in use: refreshed while others write, and last while nobody does."""

    def __init__(
        self, trees: Sequence[tuple[Path, str]], to: Path, wanted: Callable[[Path], bool] = lambda _: True
    ) -> None:
        self._trees = trees
        self._to = to
        self._wanted = wanted
        self._copied: dict[Path, tuple[int, int, int] | None] = {}
        """Inode, size and time of change of what was copied; None: to be copied again."""

    def measure(self) -> int:
        """Return the bytes of all that is to be copied."""
        return sum(state[1] for _, _, state in self._find())

    def refresh(self, on_bytes: OnBytes) -> int:
        """Copy what has changed since it was copied, and remove what no longer exists; return the bytes."""
        there, size = set[Path](), 0
        for source, to, state in self._find():
            if self._copied.get(to) != state:
                is_young = time.time_ns() - state[2] < YOUNG_NS
                self._copied[to] = None
                try:
                    copy_file(source, to, on_bytes)
                except FileNotFoundError:  # deleted since it was found
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


# Letting a process stand still for a moment, and go on whatever becomes of the one that asked.
#
# A process that was stopped by SIGSTOP has its files as they would be after SIGKILL: what it has written is
# there for all readers, and nothing more comes. Neo4j recovers from that, as it does from SIGKILL.

LIMIT_SECONDS = 20.0  # longer nobody waits for a database; it goes on then, and what was copied is of no use
STOP_SECONDS = 5.0


@contextlib.contextmanager
def standing_still(process: ProcessId, limit_seconds: float = LIMIT_SECONDS) -> Generator[Callable[[], bool]]:
    """Let a process stand still; it goes on when the block ends, this process dies, or the limit is over."""
    # Gives a function that tells whether it has stood still ever since: whoever copies asks it at the end.
    limit = threading.Timer(limit_seconds, process.signal, (signal.SIGCONT,))
    limit.daemon = True
    # A shell waits for our end: its input closes, however we die, and it lets the process go on
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
                raise Unavailable(f"process {process.pid} does not stop; is it still there?")
            time.sleep(0.005)
        yield lambda: is_stopped(process)
    finally:
        limit.cancel()
        process.signal(signal.SIGCONT)
        guard.communicate()


def is_stopped(process: ProcessId) -> bool:
    """Return whether a process lives and no thread of it runs."""
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
    """Let a Neo4j go on that stands still while nobody makes a backup: whoever did was killed."""
    if process is None or not is_stopped(process):
        return
    with contextlib.suppress(filelock.Timeout), filelock.FileLock(home.backup_lock, timeout=0):
        process.signal(signal.SIGCONT)


# The manifest: written last, so that a folder without it is no backup.

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
DATABASE: Final = "database"
BLOBS: Final = "blobs"
NAME_OF_DATABASE: Final = "neo4j"
Count = Annotated[int, Field(ge=0)]
Measure = Annotated[float, Field(ge=0)]

LEFT_OUT: Final = (
    "the password of Neo4j and the accounts of its `system` database: made anew by a restore",
    "folder-key: made anew; `kg folders add` again for followed folders outside of KG_SYNC__ROOTS",
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
    path: str  # below the backup, with `/`
    bytes: Count
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @field_validator("path")
    @classmethod
    def _stays_below(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if len(parts) < 2 or parts[0] not in {DATABASE, BLOBS} or ".." in parts or re.search(r"[\\\0]", path):  # noqa: PLR2004
            raise ValueError("it is no place within a backup")
        return path


class BackupManifest(_Frozen):
    format: int
    kg_version: str
    neo4j_version: str
    schema_version: str  # the last migration; empty if no service has ever opened the database
    made_at: AwareDatetime
    seconds: Measure
    paused_seconds: Measure  # how long Neo4j stood still for it
    home: str
    counts: BackupCounts
    counts_exact: bool  # whether nothing changed them while it was made
    settings: list[str]  # names of the variables that were set: they are needed again
    left_out: list[str]
    files: list[BackedUpFile]

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.files)


def write(folder: Path, manifest: BackupManifest) -> None:
    write_whole(folder / MANIFEST, manifest.model_dump_json(indent=1).encode(), prefix=f".{MANIFEST}")


def read(folder: Path) -> BackupManifest:
    """Read the manifest of a backup."""
    try:
        manifest = BackupManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise Conflict(
            f"there is no backup in {folder}: it has no {MANIFEST}, which is written last"
        ) from None
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged, or of a newer kg"
        raise Conflict(f"{folder / MANIFEST} cannot be read: {reason}") from None
    if manifest.format != FORMAT:
        raise Conflict(
            f"{folder} was written by kg {manifest.kg_version}, in a form that this kg does not know"
        )
    return manifest


# The managed Neo4j of a home while it is backed up or tried out.


@dataclass(frozen=True, slots=True)
class RunningDatabase:
    process: ProcessId
    graph: Graph

    def count(self) -> BackupCounts:
        return BackupCounts.model_validate(self.graph.read("backup/counts")[0])

    def schema_version(self) -> str:
        """Return the name of the last migration; empty if there is none."""
        rows = require_known_schema(self.graph)
        return str(rows[-1]["name"]) if rows else ""


@contextlib.contextmanager
def running_database(
    home: Home, settings: Settings, on_wait: OnWait, needed_by_others: Callable[[], bool]
) -> Generator[RunningDatabase]:
    """Give the Neo4j of a home, started if it does not run, and stopped again then."""
    role, seconds = neo4j_role(home, settings), settings.neo4j.start_timeout_seconds
    ours = processes.running(role) is None
    if ours:
        choose_bolt_port(home, settings)
    process = processes.start(role)
    process.signal(signal.SIGCONT)  # a backup that was killed may have left it standing
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


# Making a backup.

MAX_PASSES: Final = 6
SMALL_BYTES: Final = 32 * MIB  # so much is copied while Neo4j stands still: a tenth of a second
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
            told = f"pictures and PDFs in {elsewhere}"
            left_out.append(f"{told}: copy them after the backup, and give a restored copy its own")
        # variables that say where things are on this machine are of no use to a restore
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
                settings=sorted(given_variables() & known),
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
        """Copy all; return the seconds that Neo4j stood still."""
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
                raise Conflict("Neo4j was stopped while it was backed up: try again when kg is up, or down")
        raise Unavailable("too much is written for a backup at the moment: try again when less is going on")

    def _hash(self, part: Path) -> list[BackedUpFile]:
        """Describe all files, and see to it that they are on the disk."""
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
    """Let one backup of a home be made at a time, and record what becomes of it."""
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


# The record of the last backup of a home, for `kg status`, `kg doctor` and the metrics.


@dataclass(frozen=True, slots=True)
class BackupRecord:
    """The last attempt, and the last that succeeded."""

    begun: float = 0.0  # seconds since 1970
    ended: float | None = None
    error: str | None = None
    made: float | None = None  # when the last whole one was begun
    path: str | None = None
    bytes: int = 0
    paused_seconds: float = 0.0
    pid: int = 0
    pid_created: float = 0.0

    def running(self) -> bool:
        return self.ended is None and ProcessId(self.pid, self.pid_created).alive()

    def trouble(self) -> str | None:
        """Say why the last attempt came to nothing; None if it succeeded, or goes on."""
        if self.ended is None:
            return None if self.running() else "it was interrupted"
        return self.error


def read_record(home: Home) -> BackupRecord | None:
    """Return the record; None if there never was a backup."""
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


# When the supervisor of `kg up` makes backups: by the record of the last one, whoever made that.

HOUR: Final = 3600.0
RETRY_SECONDS: Final = 600.0  # after one that failed, unless the next is due sooner


class BackupSchedule:
    """Starts a process for each backup that is due, and logs what became of it."""

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
        """Start a backup if one is due and Neo4j is among the roles that work."""
        if self._process is not None and self._process.alive():
            return
        known, now = read_record(self._home), self._clock()
        if self._process is not None:
            self._process = None
            trouble = known.trouble() if known else "it left no record"
            if trouble or known is None:
                log.error("backup failed", reason=trouble, log=str(self._home.log_file("backup")))
            else:
                paused = known.paused_seconds
                log.info("backup made", path=known.path, bytes=known.bytes, paused_seconds=paused)
        is_due = now >= max(self._not_before, due_at(known, self._every))
        if "neo4j" in working and is_due and not (known and known.running()):
            self._not_before = now + min(self._every, RETRY_SECONDS)
            self._process = self._start()
            log.info("backup starts", pid=self._process.pid)


def due_at(known: BackupRecord | None, every_seconds: float) -> float:
    """Return when the next backup is due, seconds since 1970."""
    if known is None:
        return 0.0
    after_last = 0.0 if known.made is None else known.made + every_seconds
    if known.trouble() is None:
        return after_last
    return max(after_last, known.begun + min(every_seconds, RETRY_SECONDS))


def is_overdue(known: BackupRecord | None, every_seconds: float, now: float) -> bool:
    """Return whether a whole backup is missing for longer than two are apart."""
    return known is None or known.made is None or now - known.made > 2 * every_seconds


# The backups of a folder: found, named, and the oldest removed.


@dataclass(frozen=True, slots=True)
class FoundBackup:
    """A backup, or the rest of one."""

    path: Path
    manifest: BackupManifest | None
    problem: str | None = None  # why it is not whole; sizes are looked at, contents by a restore alone

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, without its files."""
        told = self.manifest.model_dump(mode="json", exclude={"files"}) if self.manifest else {}
        size = {"bytes": self.manifest.bytes, "files": len(self.manifest.files)} if self.manifest else {}
        whole = self.problem is None
        return {"path": str(self.path), "whole": whole, "problem": self.problem, **told, **size}


def new_name(folder: Path, now: dt.datetime) -> str:
    """Name a backup by its time, UTC; a second one of that second gets a number."""
    name = now.astimezone(dt.UTC).strftime("kg-%Y%m%d-%H%M%S")
    taken = {path.name.removeprefix(UNFINISHED) for path in folder.glob("*kg-*")}
    further = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *further) if each not in taken)


def list_backups(folder: Path) -> list[FoundBackup]:
    """List the backups of a folder, the newest first."""
    found = [*folder.glob("kg-*"), *folder.glob(f"{UNFINISHED}kg-*")]
    ordered = sorted(found, key=lambda path: path.name.removeprefix(UNFINISHED), reverse=True)
    return [look_at(path) for path in ordered if path.is_dir()]


def look_at(path: Path) -> FoundBackup:
    """Look at one: its manifest, and that every file is there with its size."""
    if path.name.startswith(UNFINISHED):
        at_work = processes.load(path / OWNER) is not None
        return FoundBackup(path, None, "it is being made" if at_work else "it was interrupted")
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
    """Return the backup that somebody names: by its path, or by its name alone in the usual folder."""
    for path in (named.expanduser(), folder / named):
        if path.is_dir():
            return path.absolute()
    raise NotFound(f"there is no backup {str(named)!r}: `kg admin backups` lists those of {folder}")


def remove_oldest(folder: Path, keep: int, home: str) -> list[Path]:
    """Remove whole backups of a home beyond the newest `keep`, at least 1; return the removed ones."""
    whole = [each for each in list_backups(folder) if each.problem is None]
    own = [each.path for each in whole if each.manifest and each.manifest.home == home]
    gone = own[max(keep, 1) :]
    for path in gone:
        (path / MANIFEST).unlink()  # first: half of a backup must not look like one
        shutil.rmtree(path)
    return gone


def remove_interrupted(folder: Path) -> list[Path]:
    """Remove what killed backups left; return the removed ones."""
    left = folder.glob(f"{UNFINISHED}kg-*")
    gone = [path for path in left if path.is_dir() and processes.load(path / OWNER) is None]
    for path in gone:
        shutil.rmtree(path)
    return gone
