"""neo4j.conf of the managed Neo4j. The server refuses to start on a name it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    return Memory(
        heap_mb=heap_mb or _within(share, HEAP_MB), pagecache_mb=pagecache_mb or _within(share, PAGECACHE_MB)
    )


def render(port: int, memory: Memory, further: Mapping[str, str]) -> str:
    """Give the text of neo4j.conf for a server on this machine's loopback address alone.

    Entries of `further` win; the settings see to it that none is of an address, a folder or security.
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


def _within(value: int, limits: tuple[int, int]) -> int:
    low, high = limits
    return max(low, min(value, high))
