"""The managed Neo4j as a role of the stack."""

from __future__ import annotations

from dataclasses import replace

from kg_api.machine import memory_bytes
from kg_api.managed import files, logfiles, ports, processes, roles
from kg_api.managed.home import Home
from kg_api.managed.neo4j import bolt, conf, java
from kg_api.managed.neo4j import jars as neo4j_jars
from kg_api.managed.neo4j.conf import Memory
from kg_api.managed.neo4j.disk import MIB, DiskRoom
from kg_api.managed.processes import ProcessId
from kg_api.managed.roles import Role
from kg_api.neo4j_settings import Neo4jSettings
from kg_api.settings import Settings

NAME = "neo4j"
USERS = ("api", "worker")
"""Roles that keep the address with which they began."""
LACK_OF_HEAP = "java.lang.OutOfMemoryError"
RECOVERY_HEAP_MB = 6144


def neo4j_role(home: Home, settings: Settings) -> Role:
    """Describe the Neo4j of a home; its port must have been chosen.

    Raises:
        ManagedProcessError: there is no Java runtime.
    """
    arguments = home.neo4j_conf / "java.args"
    known = set[tuple[ProcessId, int]]()
    where = (f"--home-dir={home.neo4j}", f"--config-dir={home.neo4j_conf}")
    return Role(
        name=NAME,
        argv=(str(java.java()), f"@{arguments}", java.SERVER_CLASS, *where),
        env=java.environment(),
        cwd=home.neo4j,
        log=home.log_file(NAME),
        pid_file=home.pid_file(NAME),
        waiting_for=lambda: _waiting_for(home, known),
        marks=(java.SERVER_CLASS, where[0]),
        prepare=lambda: prepare(home, settings),
        more_logs=(home.neo4j_logs / "neo4j.log",),
        markers=("ERROR", "Exception", "Caused by", "Error:"),
        grace_seconds=60,
        blocked=disk_room(home, settings).too_little_to_start,
    )


def choose_bolt_port(home: Home, settings: Settings) -> int:
    """Choose the Bolt port and remember it; a Neo4j that runs keeps the one it has.

    Raises:
        ConfigurationError: the port that the settings ask for is taken.
    """
    home.create()
    known = home.bolt_port()
    if known is not None and roles.running(neo4j_role(home, settings)):
        return known
    port = ports.choose_port(
        wanted=settings.neo4j.port, remembered=known, default=bolt.DEFAULT_PORT, variable="KG_NEO4J__PORT"
    )
    home.remember(neo4j=port)
    return port


def prepare(home: Home, settings: Settings) -> None:
    """Write what the server reads at its start: configuration, JVM arguments and, once, its password.

    A port that somebody else has taken since it was chosen is changed for another, if nobody knows it yet.

    Raises:
        ManagedProcessError: the jars or the Java runtime cannot be had.
        ConfigurationError: the password of an existing database is gone.
    """
    jars = neo4j_jars.check_jars(settings.cache)
    memory = _memory_for_start(home, settings.neo4j)
    port = _port_for_start(home, settings)
    files.keep_text(home.neo4j_conf / "neo4j.conf", conf.render(port, memory, settings.neo4j.conf or {}))
    flags = java.server_flags(jars, memory)
    files.keep_text(home.neo4j_conf / "java.args", java.argument_file_text(flags))
    password = home.ensure_password()
    if not home.has_data():
        java.set_initial_password(home.neo4j, jars, password)


def _port_for_start(home: Home, settings: Settings) -> int:
    """The port of a server that is about to start: a known one stays where others wait for it, or want it."""
    known = home.bolt_port()
    is_waited_for = any(processes.load(home.pid_file(each)) for each in USERS)
    if known is not None and (is_waited_for or known == settings.neo4j.port):
        return known
    return choose_bolt_port(home, settings)


def machine_memory(settings: Neo4jSettings) -> Memory:
    """Size the managed Neo4j for this machine, as far as the settings leave it open."""
    return conf.size_memory(memory_bytes(), heap_mb=settings.heap_mb, pagecache_mb=settings.pagecache_mb)


def disk_room(home: Home, settings: Settings) -> DiskRoom:
    """Give the room on the disk of the managed Neo4j."""
    return DiskRoom(home.neo4j_data, settings.neo4j.disk_reserve_mb * MIB)


def _memory_for_start(home: Home, settings: Neo4jSettings) -> Memory:
    """Give more heap to a start after a lack of it.

    A transaction log that a full disk has torn makes recovery ask for up to 2 GB at once, whatever the log's
    size; without them the database would never start again.
    """
    memory = machine_memory(settings)
    if not any(LACK_OF_HEAP in line for line in logfiles.tail(home.log_file(NAME), 3)):
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
    if port is None or not bolt.answers(ports.LOOPBACK, port):
        return f"Neo4j to answer on port {port}"
    if process is None or (process, port) in known:
        return None
    if not process.listens(port):  # two that started at once chose one port
        return f"Neo4j to listen on port {port}, where another server answers"
    known.add((process, port))
    return None
