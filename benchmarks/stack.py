"""A whole kg in a folder of its own, for benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neo4j

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.local.processes import Home
from kg_api.schemas.operations import FINISHED

POLL_SECONDS = 0.25
QUIET_SECONDS = 3.0
"""For so long no job may appear before kg counts as idle."""
UNFINISHED = "MATCH (j:Job) WHERE NOT j.state IN $finished RETURN j.state LIMIT 1"


@dataclass(frozen=True)
class Stack:
    """A running kg."""

    home: Home

    def kg(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        """Run a command; give what it prints."""
        env = {**os.environ, "KG_HOME": str(self.home.path)}
        done = subprocess.run(
            [sys.executable, "-m", "kg_cli.main", *arguments], env=env, check=False, stdout=subprocess.PIPE
        )
        if done.returncode not in codes:
            raise SystemExit(f"kg {' '.join(arguments)} failed with {done.returncode}")
        return done.stdout.decode()

    def client(self) -> KgClient:
        """A client of its service."""
        return KgClient(self.home.build_api_url() or "", timeout_seconds=120)

    def graph(self) -> Graph:
        """Its database."""
        return Graph(self.home.build_bolt_uri() or "", "neo4j", self.home.read_password() or "")

    def driver(self) -> neo4j.Driver:
        """A way to its database behind the product's back."""
        auth = ("neo4j", self.home.read_password() or "")
        return neo4j.GraphDatabase.driver(self.home.build_bolt_uri() or "", auth=auth)

    def rest(self, quiet_seconds: float = QUIET_SECONDS) -> None:
        """Wait until no job is left, also of the kinds that `kg jobs list` omits."""
        last = time.monotonic()
        with self.driver() as driver:
            while time.monotonic() - last < quiet_seconds:
                if driver.execute_query(UNFINISHED, finished=list(FINISHED)).records:
                    last = time.monotonic()
                time.sleep(POLL_SECONDS)

    def status(self) -> dict[str, Any]:
        """What `kg status` tells."""
        return json.loads(self.kg("status", "--json", codes=(0, 69)))

    def pids(self) -> dict[str, int]:
        """The processes that run, by role."""
        return {each["role"]: each["pid"] for each in self.status()["processes"] if each["pid"]}

    def pid(self, role: str) -> int | None:
        """The process of a role."""
        return self.pids().get(role)


VECTORS = """MATCH (s:Source) WHERE s.ontology = $ontology
RETURN s.source_id AS id, s.ontology AS ontology, s.full_text AS text, s.embedding AS vector,
       COUNT { (:Chunk)-[:CHUNK_OF]->(s) } AS chunks"""


def stored_vectors(running: Stack, ontology: str) -> list[dict[str, Any]]:
    """All sources of an ontology with their vectors, read behind the product's back."""
    with running.driver() as driver:
        return driver.execute_query(VECTORS, ontology=ontology, result_transformer_=neo4j.Result.data)


@contextmanager
def stack() -> Generator[Stack]:
    """Start a kg in a temporary home; stop it and delete the home at the end."""
    with tempfile.TemporaryDirectory(prefix="kg-benchmark-", ignore_cleanup_errors=True) as folder:
        running = Stack(Home(Path(folder)))
        try:
            running.kg("up")
            yield running
        finally:
            running.kg("down")


def machine() -> dict[str, Any]:
    """Where it was measured."""
    return {"cores": os.cpu_count(), "python": sys.version.split()[0], "date": time.strftime("%Y-%m-%d")}
