from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from prometheus_client import CollectorRegistry

from kg_api.graph.spaces import Space
from kg_api.providers.embedding import EmbeddingMetrics, MeteredEmbedder
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.spaces import ModelChoice, SimilarityCalibration
from kg_api.spaces import open_spaces
from kg_api.spaces.open_spaces import PROBE_TEXT, OpenSpace
from tests.process.providers.provider import Model, Provider
from tests.support.providers import Asking
from tests.unit.search.canned import CannedGraph

NAME = "text-embedding-3-small"
CHOICE = ModelChoice("openai", NAME, 64)


@dataclass
class Opened:
    space: OpenSpace
    model: Model
    registry: CollectorRegistry

    @property
    def sent(self) -> list[list[str]]:
        return [each.body["input"] for each in self.model.requests]

    def counted(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, {"model": NAME, **labels}) or 0


@pytest.fixture
def opened() -> Iterator[Opened]:
    registry = CollectorRegistry()
    with Provider() as provider, Asking("openai", provider, CHOICE, timeout=10, query_seconds=2) as asking:
        embedder: Embedder = MeteredEmbedder(asking.embedder, EmbeddingMetrics(registry))
        probe = asking.embedder.embed_query(PROBE_TEXT)
        provider.requests.clear()
        space = Space("far", embedder.identity, probe, calibration=SimilarityCalibration(0.8, 0.1))
        found = OpenSpace(CannedGraph(), space, lambda: embedder)
        yield Opened(found, provider.model(NAME), registry)
        found.close()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_spaces, "PROVEN_SECONDS", -1.0)
    monkeypatch.setattr(open_spaces, "OPEN_SECONDS", 0.0)
