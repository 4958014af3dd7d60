"""Copying files for their owner alone, in pieces, and what their bytes hash to."""

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
from kg_api.local.processes import Home, OnWait, ProcessId, Role
from kg_api.settings import Settings, given_variables, variables

PIECE: Final = 4 * 1024 * 1024
MIB: Final = 1024 * 1024
OnBytes = Callable[[int], None]
"""Called with the bytes that were copied or read since it was called last."""


def files_below(folder: Path) -> Iterator[Path]:
    """Give every file below a folder; none where there is no such folder."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def size_below(folder: Path) -> int:
    """Give the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in files_below(folder))


def copy_file(source: Path, to: Path, on_bytes: OnBytes, hashed: Any = None) -> None:
    """Copy a file that nobody else may read; what it held is replaced.

    Args:
        source: the file.
        to: its copy; folders above it are made.
        on_bytes: told of each piece.
        hashed: a hash that gets each piece.

    Raises:
        OSError: one cannot be read, or the other not written.
    """
    to.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with (
        source.open("rb") as file,
        os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as copy,
    ):
        while piece := file.read(PIECE):
            copy.write(piece)
            if hashed is not None:
                hashed.update(piece)
            on_bytes(len(piece))


def hash_and_keep(path: Path, on_bytes: OnBytes) -> str:
    """Give the SHA-256 of a file, and see to it that it is on the disk.

    Raises:
        OSError: it cannot be read.
    """
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            hashed.update(piece)
            on_bytes(len(piece))
        os.fsync(file.fileno())
    return hashed.hexdigest()


def require_room(folder: Path, needed: int, reserve: int) -> None:
    """Begin only what there is room for.

    Raises:
        StorageFull: saying how much is missing.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed + reserve:
        raise StorageFull(
            f"the disk of {folder} has {free / MIB:.0f} MiB left; {needed / MIB:.0f} MiB are to be written, "
            f"with {reserve / MIB:.0f} MiB to spare: free some space, or name a folder on another disk"
        )


# Letting a process stand still for a moment, and go on whatever becomes of the one that asked.
#
# A process that was stopped by SIGSTOP has its files as they would be after SIGKILL: what it has written is
# there for all readers, and nothing more comes. Neo4j recovers from that, as it does from SIGKILL.

LIMIT_SECONDS = 20.0
"""Longer nobody waits for a database; it goes on then, and what was copied is of no use."""
STOP_SECONDS = 5.0
_STOPPED = {"T", "t"}


@contextlib.contextmanager
def standing_still(process: ProcessId, limit_seconds: float = LIMIT_SECONDS) -> Generator[Callable[[], bool]]:
    """Let a process stand still.

    Gives a function that tells whether it has stood still ever since: whoever copies asks it at the end.

    Args:
        process: it goes on when the block ends, when this process dies, or after the limit.
        limit_seconds: how long it may take.

    Raises:
        Unavailable: it does not stop.
    """
    limit = threading.Timer(limit_seconds, process.signal, (signal.SIGCONT,))
    limit.daemon = True
    with _going_on_without_us(process):
        limit.start()
        try:
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


def is_stopped(process: ProcessId) -> bool:
    """Whether a process lives and no thread of it runs."""
    if not process.alive():
        return False
    tasks = Path(f"/proc/{process.pid}/task")
    try:
        if tasks.exists():
            return all(_state(task) in _STOPPED for task in tasks.iterdir())
        return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    except (OSError, psutil.Error):
        return False


def continue_forgotten(home: Home, process: ProcessId | None) -> None:
    """Let a Neo4j go on that stands still while nobody makes a backup: whoever did was killed."""
    if process is None or not is_stopped(process):
        return
    with contextlib.suppress(filelock.Timeout), filelock.FileLock(home.backup_lock, timeout=0):
        process.signal(signal.SIGCONT)


@contextlib.contextmanager
def _going_on_without_us(process: ProcessId) -> Generator[None]:
    """Let a shell wait for our end: it sees its input close, however we die, and lets the process go on."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", f"read -r end; kill -CONT {process.pid}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.communicate()


def _state(task: Path) -> str:
    return (task / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]


# What a backup says of itself: written last, so that a folder without it is no backup.

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
DATABASE: Final = "database"
BLOBS: Final = "blobs"
Count = Annotated[int, Field(ge=0)]
Measure = Annotated[float, Field(ge=0)]

LEFT_OUT: Final = (
    "the password of Neo4j and the accounts of its `system` database: made anew by a restore",
    "folder-key: made anew; `kg folders add` again for followed folders outside of KG_SYNC__ROOTS",
    "settings (KG_* and providers' variables) and their keys: they are not kept in the home",
    "logs, ports and pids, Neo4j's own program and the models: made or fetched again",
)
"""What is in no backup, in words for a person."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class BackupCounts(_Frozen):
    """What a database holds."""

    ontologies: Count
    documents: Count
    sources: Count
    concepts: Count
    pictures: Count


class BackedUpFile(_Frozen):
    path: str
    """Below the backup, with `/`."""
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
    """All that is known of a backup."""

    format: int
    kg_version: str
    neo4j_version: str
    schema_version: str
    """The last migration; empty where no service has ever opened the database."""
    made_at: AwareDatetime
    seconds: Measure
    """How long it took."""
    paused_seconds: Measure
    """How long Neo4j stood still for it."""
    home: str
    counts: BackupCounts
    counts_exact: bool
    """Whether nothing changed them while it was made."""
    settings: list[str]
    """Names of the variables that were set: they are needed again."""
    left_out: list[str]
    files: list[BackedUpFile]

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.files)


def write(folder: Path, manifest: BackupManifest) -> None:
    """Write the manifest, with which the backup is whole.

    Raises:
        OSError: the folder cannot be written.
    """
    content = manifest.model_dump_json(indent=1).encode()
    write_whole(folder / MANIFEST, content, prefix=f".{MANIFEST}")


def read(folder: Path) -> BackupManifest:
    """Read what a backup says of itself.

    Raises:
        Conflict: there is none, it is damaged, or of a kg that writes others.
    """
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


# The managed Neo4j of a home while it is backed up or tried out: started for that where it does not run.

USER = "neo4j"


@dataclass(frozen=True, slots=True)
class RunningDatabase:
    """A Neo4j that answers."""

    process: ProcessId
    graph: Graph

    def count(self) -> BackupCounts:
        return BackupCounts.model_validate(self.graph.read("backup/counts")[0])

    def schema_version(self) -> str:
        """Give the name of the last migration; empty where there is none.

        Raises:
            SchemaTooNew: a newer kg has written it.
            SchemaTooOld: a version from before the baseline has written it.
        """
        rows = require_known_schema(self.graph)
        return str(rows[-1]["name"]) if rows else ""


@contextlib.contextmanager
def running_database(
    home: Home, settings: Settings, on_wait: OnWait, needed_by_others: Callable[[], bool]
) -> Generator[RunningDatabase]:
    """Give the Neo4j of a home, started where it does not run, and stopped again then.

    Args:
        home: whose.
        settings: what it runs with.
        on_wait: told what is waited for.
        needed_by_others: asked at the end, whether one that was started here is to run on.

    Raises:
        ManagedProcessError: it does not start, or does not answer in time.
    """
    role = neo4j_role(home, settings)
    ours = processes.running(role) is None
    if ours:
        choose_bolt_port(home, settings)
    process = processes.start(role)
    process.signal(signal.SIGCONT)  # a backup that was killed may have left it standing
    try:
        with Graph(home.bolt_uri() or "", USER, home.password() or "") as graph:
            _wait(role, process, DatabaseProbe(graph), settings.neo4j.start_timeout_seconds, on_wait)
            yield RunningDatabase(process, graph)
    finally:
        if ours and not needed_by_others():
            on_wait("Neo4j to stop")
            processes.stop(role)


def _wait(role: Role, process: ProcessId, probe: DatabaseProbe, seconds: float, on_wait: OnWait) -> None:
    deadline = time.monotonic() + seconds
    processes.wait(role, process, timeout=seconds, on_wait=on_wait)
    while (trouble := probe.trouble()) is not None:
        if time.monotonic() > deadline or not process.alive():
            raise ManagedProcessError(f"Neo4j does not answer: {trouble}")
        on_wait(trouble)
        time.sleep(processes.POLL_SECONDS)


# A copy of folders that are in use: brought near in passes, and made equal while nobody writes.
#
# What is copied in a pass is what has changed since the one before. A file's time of change is no proof where
# it is young: a further write may come within the clock's own step. Such files are copied again.

YOUNG_NS: Final = 2_000_000_000


@dataclass(frozen=True, slots=True)
class FileState:
    """By what one sees that a file has changed."""

    inode: int
    size: int
    changed_ns: int


UNKNOWN: Final = FileState(0, 0, 0)


class Mirror:
    """A copy of some folders, below one folder of its own.

    Args:
        trees: pairs of a folder and of its place in the copy.
        to: the folder of the copy, which is there.
        wanted: whether a file is to be copied, by its path below its folder.
    """

    def __init__(
        self, trees: Sequence[tuple[Path, str]], to: Path, wanted: Callable[[Path], bool] = lambda _: True
    ) -> None:
        self._trees = trees
        self._to = to
        self._wanted = wanted
        self._copied: dict[Path, FileState] = {}

    def measure(self) -> int:
        """Give the bytes of all that is to be copied."""
        return sum(state.size for _, _, state in self._find())

    def outstanding(self) -> int:
        """Give the bytes of what has changed since it was copied."""
        return sum(state.size for _, to, state in self._find() if self._copied.get(to) != state)

    def approach(self, on_bytes: OnBytes) -> None:
        """Copy what has changed, while others write: what vanishes meanwhile is passed over."""
        for source, to, state in self._find():
            if self._copied.get(to) != state:
                with contextlib.suppress(FileNotFoundError):
                    self._copy(source, to, state, on_bytes)

    def settle(self, on_bytes: OnBytes) -> None:
        """Make the copy equal, while nobody writes.

        Raises:
            OSError: something cannot be copied.
        """
        there = set[Path]()
        for source, to, state in self._find():
            there.add(to)
            if self._copied.get(to) != state:
                self._copy(source, to, state, on_bytes)
        for gone in self._copied.keys() - there:
            gone.unlink(missing_ok=True)
            del self._copied[gone]

    def _copy(self, source: Path, to: Path, state: FileState, on_bytes: OnBytes) -> None:
        young = time.time_ns() - state.changed_ns < YOUNG_NS
        self._copied[to] = UNKNOWN
        copy_file(source, to, on_bytes)
        if not young:
            self._copied[to] = state

    def _find(self) -> Iterator[tuple[Path, Path, FileState]]:
        for folder, name in self._trees:
            for path in files_below(folder):
                below = path.relative_to(folder)
                if self._wanted(below) and (state := _state_of(path)):
                    yield path, self._to / name / below, state


def _state_of(path: Path) -> FileState | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return FileState(found.st_ino, found.st_size, found.st_mtime_ns)


# Making a backup: a copy of the files of Neo4j and of pictures as they were at one moment.
#
# Most is copied while everything runs. Then Neo4j stands still while the rest is copied, mostly for a moment.

NAME_OF_DATABASE: Final = "neo4j"
MAX_PASSES: Final = 5
SMALL_BYTES: Final = 32 * MIB
"""So much is copied while Neo4j stands still: a tenth of a second."""
TRIES: Final = 3
LOCK_SECONDS: Final = 5
_BEING_WRITTEN: Final = ".writing-"

OnStep = Callable[[str, int], None]
"""Called with what begins, and how many bytes it is about."""


@dataclass(frozen=True, slots=True)
class BackupProgress:
    """Who is told how far it is."""

    on_step: OnStep
    on_bytes: OnBytes
    on_wait: OnWait


class BackupMaker:
    """Makes backups of a home.

    Args:
        home: whose.
        settings: where its pictures are, and how much room is to be left.
        progress: who is told how far it is.
    """

    def __init__(self, home: Home, settings: Settings, progress: BackupProgress) -> None:
        self._home = home
        self._settings = settings
        self._progress = progress

    def make(self, database: RunningDatabase, folder: Path) -> tuple[Path, BackupManifest]:
        """Make a backup in a folder of its own below `folder`.

        Raises:
            StorageFull: there is no room for it.
            SchemaTooNew: a newer kg has written the database.
            Unavailable: too much was written for a moment of rest.
            OSError: something cannot be read or written.
        """
        processes.make_folder(folder)
        remove_interrupted(folder)
        begun, started = dt.datetime.now(tz=dt.UTC), time.monotonic()
        name = new_name(folder, begun)
        part = folder / f"{UNFINISHED}{name}"
        with _own_folder(part):
            schema, before = database.schema_version(), database.count()
            paused = self._copy(database, part)
            after = database.count()
            manifest = BackupManifest(
                format=FORMAT,
                kg_version=__version__,
                neo4j_version=neo4j.VERSION,
                schema_version=schema,
                made_at=begun,
                seconds=0,
                paused_seconds=round(paused, 3),
                home=str(self._home.path),
                counts=before,
                counts_exact=before == after,
                settings=_variables_set(),
                left_out=[*LEFT_OUT, *_pictures_elsewhere(self._settings)],
                files=self._hash(part),
            )
            manifest = manifest.model_copy(update={"seconds": round(time.monotonic() - started, 3)})
            write(part, manifest)
            (part / OWNER).unlink()
            part.rename(folder / name)
        return folder / name, manifest

    def _copy(self, database: RunningDatabase, part: Path) -> float:
        """Copy all; gives the seconds that Neo4j stood still."""
        data = self._home.neo4j_data
        trees = [
            (data / kind / NAME_OF_DATABASE, f"{DATABASE}/{kind}") for kind in ("databases", "transactions")
        ]
        if _pictures_here(self._settings):
            trees.append((self._home.blobs, BLOBS))
        mirror = Mirror(trees, part, lambda path: not path.name.startswith(_BEING_WRITTEN))
        size = mirror.measure()
        require_room(part, size, self._settings.neo4j.disk_reserve_mb * MIB)
        self._progress.on_step("copying", size)
        for _ in range(MAX_PASSES):
            mirror.approach(self._progress.on_bytes)
            if mirror.outstanding() < SMALL_BYTES:
                break
        for _ in range(TRIES):
            begun = time.monotonic()
            with standing_still(database.process) as still_so:
                mirror.settle(lambda _: None)
                whole = still_so()
            if whole:
                return time.monotonic() - begun
            if not database.process.alive():
                raise Conflict("Neo4j was stopped while it was backed up: try again when kg is up, or down")
        raise Unavailable("too much is written for a backup at the moment: try again when less is going on")

    def _hash(self, part: Path) -> list[BackedUpFile]:
        found = sorted(path for path in files_below(part) if path.name != OWNER)
        self._progress.on_step("checksums", sum(path.stat().st_size for path in found))
        return [self._describe(part, path) for path in found]

    def _describe(self, part: Path, path: Path) -> BackedUpFile:
        sha256 = hash_and_keep(path, self._progress.on_bytes)
        return BackedUpFile(path=path.relative_to(part).as_posix(), bytes=path.stat().st_size, sha256=sha256)


@contextlib.contextmanager
def one_at_a_time(home: Home) -> Generator[BackupRecord]:
    """Let one backup of a home be made at a time, and note what becomes of it.

    Raises:
        Conflict: one is being made.
    """
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


@contextlib.contextmanager
def _own_folder(part: Path) -> Generator[None]:
    """Make the folder of a backup that is not whole yet, with the pid of its maker; it goes with an error."""
    part.mkdir(mode=0o700)
    try:
        if me := processes.identify(os.getpid()):
            processes.save(part / OWNER, me)
        yield
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _variables_set() -> list[str]:
    """Names of the variables that are set, but for those that say where things are on this machine."""
    known = {name for name, _ in variables()} - {"KG_HOME", "KG_CACHE", "KG_BACKUP__FOLDER"}
    return sorted(given_variables() & known)


def _pictures_here(settings: Settings) -> bool:
    return settings.blobs.s3.bucket is None and settings.blobs.folder is None


def _pictures_elsewhere(settings: Settings) -> list[str]:
    if _pictures_here(settings):
        return []
    where = (
        f"the bucket {settings.blobs.s3.bucket}" if settings.blobs.s3.bucket else f"{settings.blobs.folder}"
    )
    return [f"pictures and PDFs in {where}: copy them after the backup, and give a restored copy its own"]


# What became of the last backup of a home, for `kg status`, `kg doctor` and the metrics.


@dataclass(frozen=True, slots=True)
class BackupRecord:
    """The last attempt, and the last that succeeded."""

    begun: float = 0.0
    """Seconds since 1970."""
    ended: float | None = None
    error: str | None = None
    made: float | None = None
    """When the last whole one was begun."""
    path: str | None = None
    """Of that."""
    bytes: int = 0
    paused_seconds: float = 0.0
    pid: int = 0
    pid_created: float = 0.0

    def running(self) -> bool:
        """Whether its process is at work."""
        return self.ended is None and processes.ProcessId(self.pid, self.pid_created).alive()

    def trouble(self) -> str | None:
        """Say why the last attempt came to nothing; None where it succeeded, or goes on."""
        if self.ended is None:
            return None if self.running() else "it was interrupted"
        return self.error


def read_record(home: Home) -> BackupRecord | None:
    """Give what is known; None where there never was a backup."""
    try:
        return BackupRecord(**processes.read_json(home.backup_file)) if home.backup_file.exists() else None
    except TypeError:
        return None


def begin(home: Home) -> BackupRecord:
    """Note that this process begins a backup."""
    me = processes.identify(os.getpid())
    last = read_record(home) or BackupRecord()
    begun = replace(
        last,
        begun=time.time(),
        ended=None,
        error=None,
        pid=os.getpid(),
        pid_created=me.created if me else 0.0,
    )
    return _keep(home, begun)


def fail(home: Home, begun: BackupRecord, error: str) -> None:
    """Note why it came to nothing."""
    _keep(home, replace(begun, ended=time.time(), error=error))


def succeed(home: Home, begun: BackupRecord, path: str, size: int, paused_seconds: float) -> None:
    made = replace(
        begun, ended=time.time(), made=begun.begun, path=path, bytes=size, paused_seconds=paused_seconds
    )
    _keep(home, made)


def _keep(home: Home, record: BackupRecord) -> BackupRecord:
    processes.rewrite_json(home.backup_file, asdict(record))
    return record


# When the supervisor of `kg up` makes backups: by what is known of the last one, whoever made it.

log = structlog.get_logger()

HOUR: Final = 3600.0
RETRY_SECONDS: Final = 600.0
"""After one that failed, unless the next is due sooner."""


class BackupSchedule:
    """Starts a process for each backup that is due, and says in the log what became of it.

    Args:
        home: whose backups.
        every_seconds: how long after the beginning of one the next is due.
        start: starts the process.
        clock: seconds since 1970.
    """

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
        """Look after it once.

        Args:
            working: names of the roles that work; Neo4j is not started for this.
        """
        if self._process is not None:
            if self._process.alive():
                return
            self._process = None
            self._report()
        known = read_record(self._home)
        now = self._clock()
        if "neo4j" not in working or now < max(self._not_before, due_at(known, self._every)):
            return
        if known is not None and known.running():
            return
        self._not_before = now + min(self._every, RETRY_SECONDS)
        self._process = self._start()
        log.info("backup starts", pid=self._process.pid)

    def _report(self) -> None:
        known = read_record(self._home)
        trouble = known.trouble() if known else "it left no record"
        if trouble or known is None:
            log.error("backup failed", reason=trouble, log=str(self._home.log_file("backup")))
        else:
            log.info("backup made", path=known.path, bytes=known.bytes, paused_seconds=known.paused_seconds)


def due_at(known: BackupRecord | None, every_seconds: float) -> float:
    """Give when the next backup is due, seconds since 1970."""
    if known is None:
        return 0.0
    after_last = 0.0 if known.made is None else known.made + every_seconds
    if known.trouble() is None:
        return after_last
    return max(after_last, known.begun + min(every_seconds, RETRY_SECONDS))


def is_overdue(known: BackupRecord | None, every_seconds: float, now: float) -> bool:
    """Whether a whole backup is missing for longer than two are apart."""
    return known is None or known.made is None or now - known.made > 2 * every_seconds


# The backups of a folder: found, named, and the oldest removed.

UNFINISHED: Final = ".unfinished-"
OWNER: Final = "owner.pid"
_NAME: Final = "kg-%Y%m%d-%H%M%S"


@dataclass(frozen=True, slots=True)
class FoundBackup:
    """A backup, or what is left of one."""

    path: Path
    manifest: BackupManifest | None
    problem: str | None = None
    """Why it is not whole; sizes are looked at, contents by a restore alone."""
    at_work: bool = False
    """Whether it is being made."""

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON values, without its files."""
        told = self.manifest.model_dump(mode="json", exclude={"files"}) if self.manifest else {}
        size = {"bytes": self.manifest.bytes, "files": len(self.manifest.files)} if self.manifest else {}
        whole = self.problem is None
        return {"path": str(self.path), "whole": whole, "problem": self.problem, **told, **size}


def new_name(folder: Path, now: dt.datetime) -> str:
    """Name a backup by its time, UTC; a second one of that second gets a number."""
    name = now.astimezone(dt.UTC).strftime(_NAME)
    taken = {path.name.removeprefix(UNFINISHED) for path in folder.glob("*kg-*")}
    further = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *further) if each not in taken)


def list_backups(folder: Path) -> list[FoundBackup]:
    """List what is in a folder, the newest first; nothing where there is none."""
    if not folder.is_dir():
        return []
    found = [*folder.glob("kg-*"), *folder.glob(f"{UNFINISHED}kg-*")]
    ordered = sorted(found, key=lambda path: path.name.removeprefix(UNFINISHED), reverse=True)
    return [look_at(path) for path in ordered if path.is_dir()]


def look_at(path: Path) -> FoundBackup:
    """Look at one: its manifest, and that every file is there with its size."""
    if path.name.startswith(UNFINISHED):
        at_work = processes.load(path / OWNER) is not None
        return FoundBackup(path, None, "it is being made" if at_work else "it was interrupted", at_work)
    try:
        manifest = read(path)
    except Conflict as error:
        return FoundBackup(path, None, str(error))
    return FoundBackup(path, manifest, _missing(path, manifest))


def find_backup(named: Path, folder: Path) -> Path:
    """Give the backup that somebody names: by its path, or by its name alone in the usual folder.

    Raises:
        NotFound: there is none.
    """
    for path in (named.expanduser(), folder / named):
        if path.is_dir():
            return path.absolute()
    raise NotFound(f"there is no backup {str(named)!r}: `kg admin backups` lists those of {folder}")


def remove_oldest(folder: Path, keep: int, home: str) -> list[Path]:
    """Remove whole backups of a home beyond the newest `keep`, at least 1; gives those that went."""
    whole = [each for each in list_backups(folder) if each.problem is None]
    own = [each for each in whole if each.manifest and each.manifest.home == home]
    gone = [each.path for each in own[max(keep, 1) :]]
    for path in gone:
        _remove(path)
    return gone


def remove_interrupted(folder: Path) -> list[Path]:
    """Remove what backups left that were killed; gives those that went."""
    gone = [
        each.path
        for each in list_backups(folder)
        if each.path.name.startswith(UNFINISHED) and not each.at_work
    ]
    for path in gone:
        _remove(path)
    return gone


def _remove(path: Path) -> None:
    """Take its manifest first: half of a backup must not look like one."""
    (path / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(path)


def _missing(path: Path, manifest: BackupManifest) -> str | None:
    for each in manifest.files:
        try:
            size = (path / each.path).stat().st_size
        except OSError:
            return f"{each.path} is missing"
        if size != each.bytes:
            return f"{each.path} has {size} bytes, not {each.bytes}"
    return None
