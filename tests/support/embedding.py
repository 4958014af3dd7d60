import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kg_api.concepts.merging import link_embedded
from kg_api.graph.client import Graph
from kg_api.graph.library import read_embedding_status
from kg_api.graph.spaces import SpaceUse, StoredConfiguration, build_layout, write_configuration
from kg_api.jobs.backfill import Backfill
from kg_api.jobs.cleanup import SpaceCleanup
from kg_api.jobs.embedding import EmbeddingJob, SourceEmbedding, SpaceModel
from kg_api.jobs.runner import Handler, Runner
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.documents import EmbeddingStatus
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.schemas.spaces import ModelChoice
from kg_api.settings import WorkerSettings
from kg_api.spaces.contexts import Contexts
from kg_api.spaces.plans import read_embedding_states
from kg_api.spaces.registry import CachedPassages, SpaceRegistry
from tests.support.embedders import small_embedder


def open_spaces(
    graph: Graph, embedder: Embedder | None = None, further: Callable[[ModelChoice], Embedder] | None = None
) -> SpaceRegistry:
    def open_model(choice: ModelChoice | None) -> Embedder:
        if choice is None:
            return embedder or small_embedder()
        return further(choice) if further else DeterministicEmbedder(choice.dimensions or 256)

    spaces = SpaceRegistry(graph, open_model)
    spaces.open_first(open_model(None))
    return spaces


def run_jobs(
    graph: Graph,
    embedder: Embedder | None = None,
    batch_size: int = 64,
    *,
    spaces: SpaceRegistry | None = None,
    cached: bool = False,
    contexts: Contexts | None = None,
    worker: str = "test",
    requests_at_once: int = 1,
    further: Sequence[Handler] = (),
) -> int:
    spaces = spaces or open_spaces(graph, embedder)
    models = partial(SpaceModel, spaces, CachedPassages(graph, keeps=cached), requests_at_once)
    handlers: list[Handler] = [
        SourceEmbedding(graph, contexts or Contexts(graph), models, batch_size),
        SpaceCleanup(graph),
        EmbeddingJob(graph, "concept", models, batch_size, partial(link_embedded, graph, spaces)),
        EmbeddingJob(graph, "edge", models, batch_size),
        Backfill(graph, cache_entries=1000),
        *further,
    ]
    runner = Runner(graph, handlers, WorkerSettings(), worker=worker, stopping=threading.Event())
    ran = 0
    while runner.run_one():
        ran += 1
    return ran


def configure_in_place(graph: Graph, ontology: str, **config: Any) -> None:
    """Change the configuration without a build, so that the vectors become stale."""
    given = EmbeddingConfig(**config)
    configured = StoredConfiguration(
        SpaceUse(build_layout(given.space, "", given.chunking)), embed_on_ingest=given.embed_on_ingest
    )
    graph.transaction(lambda tx: write_configuration(tx, ontology, configured))


def status(graph: Graph, ontology: str | None = None) -> EmbeddingStatus:
    counted = [embedding_state.counted for embedding_state in read_embedding_states(graph, ontology).values()]
    return read_embedding_status(graph, counted, ontology)
