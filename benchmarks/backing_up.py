"""How long Neo4j stands still for a backup, idle and while somebody writes; and whether each is good.

Every backup that is made while somebody writes is restored: Neo4j starts with it, holds all that was
acknowledged before it stood still and no half of a transaction, and its own `database check` finds nothing
wrong. Beside it the other way: stop, `database dump`, start. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Self

import neo4j

from benchmarks.stack import machine
from kg_api.graph.schema import migrate
from kg_api.local import neo4j as jars
from kg_api.local import neo4j as java
from kg_api.local import processes
from kg_api.local.neo4j import Memory, build_neo4j_role
from kg_api.local.processes import Home
from kg_api.settings import Settings, load_settings
from kg_api.transfer import backup
from kg_api.transfer.backup import BackupMaker, BackupProgress, RunningDatabase, files_below, running_database
from kg_api.transfer.restore import Restorer

A_WRITE = 100
WRITE = (
    "UNWIND range($first, $first + $count - 1) AS id CREATE (:Measured {id: id, batch: $first / $count, "
    "text: 'passage ' + id, v: [x IN range(1, 384) | rand()]})"
)
INDEX = "CREATE RANGE INDEX measured IF NOT EXISTS FOR (n:Measured) ON (n.id)"
VECTORS = (
    "CREATE VECTOR INDEX measured_v IF NOT EXISTS FOR (n:Measured) ON n.v "
    "OPTIONS {indexConfig: {`vector.dimensions`: 384}}"
)
FOUND = (
    "MATCH (n:Measured) WHERE n.id >= 0 WITH count(n) AS there, max(n.id) AS last, min(n.id) AS first "
    "MATCH (m:Measured) RETURN there, last, first, count(m) AS read"
)
QUIET = BackupProgress(lambda *_: None, lambda _: None, lambda _: None)


class Writer:
    """Writes batches one after the other, and notes what was acknowledged and how long the slowest took."""

    def __init__(self, driver: neo4j.Driver, first: int) -> None:
        self.sent = self.acknowledged = first
        self.slowest = 0.0
        self._driver = driver
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._stop.is_set():
            begun = time.monotonic()
            first, self.sent = self.sent, self.sent + A_WRITE
            self._driver.execute_query(WRITE, first=first, count=A_WRITE)
            self.acknowledged = self.sent
            self.slowest = max(self.slowest, time.monotonic() - begun)


class Bench:
    """One home that grows."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "kg")
        self.folder = folder
        self.settings = load_settings(home=self.home.path)
        self.count = 0

    def fill(self, driver: neo4j.Driver, target: int) -> None:
        """Write passages until there are so many."""
        while self.count < target:
            driver.execute_query(WRITE, first=self.count, count=A_WRITE)
            self.count += A_WRITE

    def back_up(self, database: RunningDatabase) -> tuple[Path, dict[str, Any]]:
        """Make a backup."""
        begun = time.monotonic()
        path, manifest = BackupMaker(self.home, self.settings, QUIET).make(database, self.folder / "backups")
        seconds = round(time.monotonic() - begun, 2)
        return path, {
            "seconds": seconds,
            "paused": manifest.paused_seconds,
            "mb": manifest.bytes // 1_000_000,
        }

    def while_writing(
        self, database: RunningDatabase, driver: neo4j.Driver, *, restore: bool
    ) -> dict[str, Any]:
        """Make a backup while somebody writes, and look at it."""
        bounds = dict[str, int]()
        with Writer(driver, self.count) as writer, noting(writer, bounds):
            time.sleep(2)
            path, told = self.back_up(database)
        self.count = writer.sent
        looked = self.restored(path, bounds) if restore else {}
        return {**told, "slowest_write": round(writer.slowest, 2), **looked}

    def restored(self, path: Path, bounds: dict[str, int]) -> dict[str, Any]:
        """Restore a backup into a home of its own, and look at it."""
        target = Home(self.folder / "again").create()
        restorer = Restorer(target, self.settings, QUIET)
        manifest = backup.read(path)
        begun = time.monotonic()
        with restorer.aside():
            restorer.copy(path, manifest)
            aside = Home(target.restoring)
            aside.remember(neo4j=processes.find_free_port())
            own = self.settings.model_copy(update={"home": aside.path})
            with running_database(aside, own, lambda _: None, lambda: False):
                there, last, first, read = ask(aside)
            checked = check(aside, self.settings)
        whole = there == read == last + 1 and first == 0 and there % A_WRITE == 0
        held = bounds["acknowledged"] <= there <= bounds["sent"]
        return {"restored_in": round(time.monotonic() - begun, 1), "whole": whole and held, "check": checked}


def ask(home: Home) -> tuple[int, int, int, int]:
    with driver_of(home) as driver:
        row = driver.execute_query(FOUND).records[0]
        return row["there"], row["last"], row["first"], row["read"]


@contextlib.contextmanager
def driver_of(home: Home) -> Generator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(home.bolt_uri() or "", auth=("neo4j", home.password() or "")) as driver:
        yield driver


@contextlib.contextmanager
def noting(writer: Writer, bounds: dict[str, int]) -> Generator[None]:
    """Note what was acknowledged before Neo4j stood still, and what was sent until it went on."""
    usual = backup.standing_still

    @contextlib.contextmanager
    def noted(process: Any) -> Generator[Any]:
        bounds["acknowledged"] = writer.acknowledged
        with usual(process) as still_so:
            yield still_so
            bounds["sent"] = writer.sent

    backup.standing_still = noted
    try:
        yield
    finally:
        backup.standing_still = usual


def check(home: Home, settings: Settings) -> str:
    """Let Neo4j's own tool look at a database that was stopped."""
    code, out = admin(home, settings, "database", "check", "neo4j", f"--report-path={home.path}")
    return "nothing wrong" if code == 0 else out[-300:]


def admin(home: Home, settings: Settings, *words: str) -> tuple[int, str]:
    paths = jars.fetch(settings.cache)
    arguments = home.path / "admin.args"
    flags = java.build_server_flags(paths, Memory(heap_mb=1024, pagecache_mb=256))
    arguments.write_text(java.format_argument_file(flags))
    env = java.environment(NEO4J_HOME=str(home.neo4j), NEO4J_CONF=str(home.neo4j_conf))
    command = [str(java.java()), f"@{arguments}", java.ADMIN_CLASS, *words]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def dumped(bench: Bench) -> dict[str, float]:
    """Stop, dump, start: the other way, and how long nobody is answered."""
    role = build_neo4j_role(bench.home, bench.settings)
    moments = [time.monotonic()]
    processes.stop(role)
    moments.append(time.monotonic())
    to = bench.folder / "dumps"
    to.mkdir(exist_ok=True)
    code, out = admin(
        bench.home,
        bench.settings,
        "database",
        "dump",
        "neo4j",
        f"--to-path={to}",
        "--overwrite-destination=true",
    )
    assert code == 0, out
    moments.append(time.monotonic())
    with running_database(bench.home, bench.settings, lambda _: None, lambda: True):
        moments.append(time.monotonic())
    size = sum(path.stat().st_size for path in files_below(to))
    stop, dump, start = (round(b - a, 1) for a, b in itertools.pairwise(moments))
    return {"stop": stop, "dump": dump, "start": start, "mb": size // 1_000_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 20_000, 100_000])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--restores", type=int, default=3, help="Backups of each size that are restored.")
    options = parser.parse_args()
    results = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(prefix="kg-backing-up-") as folder:
        bench = Bench(Path(folder))
        with running_database(bench.home, bench.settings, lambda _: None, lambda: True) as database:
            migrate(database.graph)
        try:
            for size in options.sizes:
                results.append(measured(bench, size, options.times, options.restores))
                print(json.dumps(results[-1]), flush=True)
        finally:
            processes.stop(build_neo4j_role(bench.home, bench.settings))
    print(json.dumps({"machine": machine(), "sizes": results}))


def measured(bench: Bench, size: int, times: int, restores: int) -> dict[str, Any]:
    with (
        running_database(bench.home, bench.settings, lambda _: None, lambda: True) as database,
        driver_of(bench.home) as driver,
    ):
        driver.execute_query(INDEX)
        driver.execute_query(VECTORS)
        bench.fill(driver, size)
        driver.execute_query("CALL db.awaitIndexes(600)")
        idle = [bench.back_up(database)[1] for _ in range(times)]
        writing = [bench.while_writing(database, driver, restore=n < restores) for n in range(times)]
    return {"passages": size, "idle": idle, "writing": writing, "dump": dumped(bench)}


if __name__ == "__main__":
    main()
