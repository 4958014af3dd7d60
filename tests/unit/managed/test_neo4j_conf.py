import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.local import processes
from kg_api.local.neo4j import Memory, format_argument_file, render, size_memory
from kg_api.local.processes import Home, ProcessId, Role
from kg_api.local.supervisor import Policy, Watch
from kg_api.settings import Settings
from kg_cli.stack import roles

GIB = 1024**3


def entries(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    pairs = dict(line.split("=", 1) for line in lines)
    assert len(pairs) == len(lines)
    return pairs


def test_neo4j_listens_on_loopback_without_telemetry() -> None:
    conf = entries(render(17687, Memory(512, 256), {}))
    assert {value for name, value in conf.items() if "address" in name} == {"127.0.0.1", "127.0.0.1:17687"}
    off = (
        *("server.http.enabled", "server.https.enabled", "dbms.usage_report.enabled"),
        *("dbms.fleet_manager.enabled", "server.fleet_discovery.enabled"),
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


PANIC = "it has panicked"
SLEEP = ("-c", "import time; time.sleep(60)")


def sleeper(folder: Path, broken: Callable[[], str | None]) -> Role:
    return Role(
        name="sleeper",
        argv=(sys.executable, *SLEEP),
        env=processes.inherit(),
        cwd=folder,
        log=folder / "sleeper.log",
        pid_file=folder / "sleeper.pid",
        waiting_for=lambda: "it to answer",
        broken=broken,
    )


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def adopted(tmp_path: Path) -> Iterator[ProcessId]:
    process = processes.start(sleeper(tmp_path, lambda: None))
    yield process
    process.kill()


def attended(role: Role, seconds: float) -> Watch:
    """Return the check that a supervisor would run this long after a role has started."""
    clock = Clock()
    watch = Watch(role, Policy(), clock)
    watch.attend(set())
    clock.now = seconds
    watch.attend(set())
    return watch


def test_neo4j_broken_at_start_is_restarted(tmp_path: Path, adopted: ProcessId) -> None:
    watch = attended(sleeper(tmp_path, lambda: PANIC), Policy().check_seconds + 1)
    assert (watch.state, watch.deaths) == ("pausing", 1)
    assert PANIC in watch.message
    assert not adopted.is_alive()


def test_pauses_double_until_a_death_after_long_health(tmp_path: Path) -> None:
    clock, policy = Clock(), Policy()
    watch = Watch(sleeper(tmp_path, lambda: None), policy, clock)
    for pause, uptime, deaths in ((0, 1.0, 1), (1, 1.0, 2), (2, policy.healthy_after + 1, 1)):
        clock.now += pause - 0.1
        watch.attend(set())
        assert watch.process is None
        clock.now += 0.2
        watch.attend(set())
        assert watch.process is not None
        watch.process.kill()
        clock.now += uptime
        watch.attend(set())
        assert (watch.state, watch.deaths) == ("pausing", deaths)


@pytest.mark.parametrize(("waits", "panic"), [("the port", None), (None, PANIC)])
def test_unresponsive_neo4j_receives_no_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: str | None, panic: str | None
) -> None:
    asked: list[str] = []
    probe = SimpleNamespace(panic=lambda: asked.append("panic") or PANIC)
    monkeypatch.setattr(roles, "_probe", lambda *_: probe)
    waiting = replace(sleeper(tmp_path, lambda: None), name="neo4j", waiting_for=lambda: waits)
    monkeypatch.setattr(roles, "build_neo4j_role", lambda *_: waiting)
    neo4j = roles.build_roles(Home(tmp_path), Settings())[0]
    assert neo4j.broken() == panic
    assert len(asked) == (0 if waits else 1)


def test_arguments_are_quoted_for_java() -> None:
    assert format_argument_file(["-cp", 'C:\\a b\\"c".jar']) == '"-cp"\n"C:\\\\a b\\\\\\"c\\".jar"\n'
