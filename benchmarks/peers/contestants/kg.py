"""kg itself: files by `kg ingest`, searches over REST."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.contestants import Search
from benchmarks.peers.embedder import SameEmbedder
from benchmarks.peers.job import Corpus, Passage, Place
from benchmarks.stack import Stack
from kg_api.client import KgClient
from kg_api.local.processes import Home
from kg_api.schemas.search import SourceHits

SPELLING = "spelling"
"""What says that more was looked for than was asked; nothing is missing then."""
LINKS_SECONDS = 45
"""A job for links starts up to half a minute after the last other one, and keeps Neo4j busy for a minute."""


class Kg:
    """With its defaults: the worker embeds, concepts are taken out of the texts afterwards."""

    packages = ("neo4j", "neo4j-rust-ext", "onnxruntime", "tokenizers")

    def __init__(self, place: Place, embedder: SameEmbedder) -> None:
        del embedder  # kg has its own, of the same class
        self._place = place
        self._thread = threading.local()
        self._ontology = ""
        self._files = place.home
        self._filter: str | None = None
        self._space = ""

    def prepare(self, corpus: Corpus) -> None:
        """See `Contestant`: each passage is a file. The first corpus is alone and needs no filter."""
        self._ontology = corpus.name
        self._filter = corpus.name if corpus.number else None
        self._files = self._place.home / f"files-{corpus.number}"
        self._files.mkdir()
        for passage in corpus.passages:
            (self._files / f"{passage.id}.txt").write_text(passage.text, encoding="utf-8")

    def take_in(self, passages: Sequence[Passage]) -> None:
        """See `Contestant`: the command that people use, which ends when all is embedded."""
        command = [sys.executable, "-m", "kg_cli.main", "ingest", str(self._files), "--wait", "--json"]
        env = {**os.environ, "KG_HOME": str(self._place.home)}
        subprocess.run(
            [*command, "--ontology", self._ontology], env=env, check=True, stdout=subprocess.DEVNULL
        )
        if not self._embedded():
            raise SystemExit("kg says that it has embedded all, and has not")
        stored = self._client.documents(self._ontology, limit=1).total
        if stored != len(passages):
            raise SystemExit(f"kg stored {stored} of {len(passages)} documents")

    def settle(self) -> None:
        """See `Contestant`: concepts are extracted and embedded after the last vector, and links proposed."""
        Stack(Home(self._place.home)).rest(LINKS_SECONDS)
        self._space = self._client.search_sources("which space is it").space or ""

    def search(self, question: str, limit: int) -> list[str]:
        """See `Contestant`."""
        return _ids(self._client.search_sources(question, limit=limit, ontology=self._filter))

    def search_vector(self, question: str, vector: Sequence[float], limit: int) -> list[str]:
        """See `Contestant`."""
        return _ids(
            self._client.search_sources(
                question, query_vector=vector, space=self._space, limit=limit, ontology=self._filter
            )
        )

    @property
    def rankings(self) -> Mapping[str, Search]:
        """See `Contestant`."""
        return {"adaptive": self.search}

    @property
    def _client(self) -> KgClient:
        """Each thread has its own, as clients are apart in life."""
        if not hasattr(self._thread, "client"):
            self._thread.client = KgClient(self._place.api_url, timeout_seconds=120)
        return self._thread.client

    def _embedded(self) -> bool:
        status = self._client.embedding_status(self._ontology)
        return status.total > 0 and status.embedded + status.refused >= status.total


def _ids(found: SourceHits) -> list[str]:
    missing = [each.part for each in found.degraded if each.part != SPELLING]
    if missing:
        raise RuntimeError(f"degraded: {missing[0]}")
    return list(dict.fromkeys(Path(hit.document).stem for hit in found.sources))
