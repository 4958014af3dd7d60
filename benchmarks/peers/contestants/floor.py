"""The floor: the smallest service over what kg has stored (benchmarks.peers.floor)."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from benchmarks.peers.contestants import Search
from benchmarks.peers.contestants.kg import Kg
from benchmarks.peers.embedder import SameEmbedder
from benchmarks.peers.job import Place
from kg_api.local.processes import find_free_port

START_SECONDS = 60.0


class Floor(Kg):
    """kg ingests, and a program of sixty lines searches."""

    def __init__(self, place: Place, embedder: SameEmbedder) -> None:
        super().__init__(place, embedder)
        port = find_free_port()
        given: dict[str, Any] = {
            "bolt": place.bolt,
            "password": place.password,
            "model": str(place.model),
            "spec": asdict(place.spec),
        }
        command = [sys.executable, "-m", "uvicorn", "benchmarks.peers.floor:app", "--port", str(port)]
        usual = ["--http", "httptools", "--no-access-log", "--log-level", "warning"]
        env = {**os.environ, "FLOOR": json.dumps(given)}
        self._server = subprocess.Popen([*command, *usual], env=env)
        atexit.register(self._server.terminate)
        self.processes = {"floor": self._server.pid}
        self._url = f"http://127.0.0.1:{port}"

    def settle(self) -> None:
        """See `Contestant`; then wait for the floor."""
        super().settle()
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                self._ask({"query_text": "ready"})
            except httpx.TransportError:
                time.sleep(0.2)
            else:
                return
        raise SystemExit("the floor does not start")

    def search(self, question: str, limit: int) -> list[str]:
        """See `Contestant`; always ten."""
        del limit
        return self._ask({"query_text": question})

    def search_vector(self, question: str, vector: Sequence[float], limit: int) -> list[str]:
        """See `Contestant`."""
        del limit
        return self._ask({"query_text": question, "query_vector": vector})

    @property
    def rankings(self) -> Mapping[str, Search]:
        """See `Contestant`."""
        return {"rrf": self.search}

    def _ask(self, body: Mapping[str, Any]) -> list[str]:
        if not hasattr(self._thread, "http"):
            self._thread.http = httpx.Client(timeout=60)
        found = self._thread.http.post(self._url, json=body).raise_for_status().json()
        return list(dict.fromkeys(Path(hit["document"]).stem for hit in found["sources"]))
