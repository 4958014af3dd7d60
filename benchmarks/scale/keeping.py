"""A kg whose home and figures are kept, so that a run of hours can be interrupted and goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scale.seeds import Seeds
from benchmarks.stack import Stack
from kg_api.local.processes import Home

ROOT = Path(__file__).parents[2]
MODEL = "mixed"


class Notes:
    """What was done and measured, in a file beside the home."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.told: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def __getitem__(self, name: str) -> Any:
        return self.told.get(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.told[name] = value
        anew = self._file.with_suffix(".new")
        anew.write_text(json.dumps(self.told, indent=1))
        anew.replace(self._file)

    def add(self, name: str, seconds: float) -> None:
        """Add to a time that is taken in several runs."""
        self[name] = round((self[name] or 0) + seconds, 2)


@contextmanager
def kept_stack(folder: Path, seeds: Path, known: Seeds) -> Generator[Stack]:
    """Start a kg in a home that stays, embedding by the server of this benchmark."""
    with _server(seeds) as port:
        os.environ |= {
            "KG_EMBEDDING__PROVIDER": "openai",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "OPENAI_EMBED_MODEL": MODEL,
            "OPENAI_EMBED_DIMS": str(known.passage_vectors.shape[1]),
            "KG_EMBEDDING__MAX_TOKENS": "8191",
            "KG_CONCEPTS__EXTRACTOR": os.environ.get("KG_CONCEPTS__EXTRACTOR", "none"),
        }
        os.environ.pop("OPENAI_API_KEY", None)
        running = Stack(Home(folder / "home"))
        try:
            running.kg("up")
            yield running
        finally:
            running.kg("down")


@contextmanager
def _server(seeds: Path) -> Generator[int]:
    """Run the server of mixed vectors; give its port."""
    command = [sys.executable, "-m", "benchmarks.scale.server", str(seeds)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as server:
        try:
            if server.stdout is None or not (line := server.stdout.readline()):
                raise SystemExit("the server of vectors does not start")
            yield int(line)
        finally:
            server.terminate()
