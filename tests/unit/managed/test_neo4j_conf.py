from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.local.neo4j import Memory, argument_file_text, render, size_memory

GIB = 1024**3


def entries(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    pairs = dict(line.split("=", 1) for line in lines)
    assert len(pairs) == len(lines)
    return pairs


def test_it_listens_on_loopback_and_tells_nobody() -> None:
    conf = entries(render(17687, Memory(512, 256), {}))
    assert {value for name, value in conf.items() if "address" in name} == {"127.0.0.1", "127.0.0.1:17687"}
    off = (
        "server.http.enabled",
        "server.https.enabled",
        "dbms.usage_report.enabled",
        "dbms.fleet_manager.enabled",
        "server.fleet_discovery.enabled",
        "dbms.security.allow_csv_import_from_file_urls",
    )
    assert {conf[name] for name in off} == {"false"}
    assert conf["server.config.strict_validation.enabled"] == "true"
    assert conf["db.transaction.timeout"] == "120s"


def test_memory_is_written_as_sized() -> None:
    conf = entries(render(1, Memory(heap_mb=2048, pagecache_mb=300), {}))
    assert conf["server.memory.heap.max_size"] == "2048m"
    assert conf["server.memory.heap.initial_size"] == "512m"
    assert conf["server.memory.pagecache.size"] == "300m"


@given(st.integers(0, 4096 * GIB))
def test_memory_fits_the_machine(total: int) -> None:
    memory = size_memory(total)
    assert 512 <= memory.heap_mb <= 4096
    assert 256 <= memory.pagecache_mb <= 4096
    if total >= 4 * GIB:
        assert (memory.heap_mb + memory.pagecache_mb) * 2**20 <= total / 4


def test_settings_win_over_the_machine() -> None:
    assert size_memory(64 * GIB, heap_mb=300, pagecache_mb=64) == Memory(300, 64)
    assert size_memory(16 * GIB) == Memory(2048, 2048)


def test_arguments_are_quoted_for_java() -> None:
    assert argument_file_text(["-cp", 'C:\\a b\\"c".jar']) == '"-cp"\n"C:\\\\a b\\\\\\"c\\".jar"\n'


def test_further_entries_win() -> None:
    conf = entries(render(1, Memory(512, 256), {"db.transaction.timeout": "300s", "db.format": "block"}))
    assert conf["db.transaction.timeout"] == "300s"
    assert conf["db.format"] == "block"
