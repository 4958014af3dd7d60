"""The one place that wires everything."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import structlog

from kg_api.embed.open import open_embedder
from kg_api.embed.port import Embedder
from kg_api.embed.unavailable import UnavailableEmbedder
from kg_api.errors import ConfigurationError, EmbeddingUnavailable, KgError, ManagedProcessError
from kg_api.graph.database import Graph
from kg_api.graph.migrations import migrate
from kg_api.graph.spaces import Space, ensure_space, find_space
from kg_api.ingest.service import IngestService
from kg_api.jobs.backfill import Backfill
from kg_api.jobs.run import Handler
from kg_api.jobs.source_embedding import SourceEmbedding
from kg_api.managed.home import Home
from kg_api.search.service import SearchService
from kg_api.settings import Settings

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Container:
    """All parts of a running kg, opened once a process."""

    settings: Settings
    graph: Graph
    embedder: Embedder
    space: Space
    ingest: IngestService
    search: SearchService

    def handlers(self) -> list[Handler]:
        """What a worker can run."""
        batch = self.settings.worker.batch_size
        return [
            SourceEmbedding(self.graph, self.embedder, self.space, batch),
            Backfill(self.graph, self.space),
        ]

    def close(self) -> None:
        """Close threads and connections."""
        self.search.close()
        self.graph.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_graph(settings: Settings) -> Graph:
    """Connect to the Neo4j that the settings name, else to the managed one of this home.

    Raises:
        ConfigurationError: there is neither.
    """
    neo4j = settings.neo4j
    if neo4j.uri is not None and neo4j.password is not None:
        return Graph(neo4j.uri, neo4j.user, neo4j.password.get_secret_value(), neo4j.database)
    home = Home(settings.home)
    uri, password = home.bolt_uri(), home.password()
    if uri is None or password is None:
        raise ConfigurationError(
            f"there is no Neo4j yet: start the managed one with `kg up` (home {settings.home}), "
            "or set KG_NEO4J__URI and KG_NEO4J__PASSWORD"
        )
    return Graph(uri, "neo4j", password)


def open_container(settings: Settings, *, needs_embedder: bool) -> Container:
    """Open everything: connect, migrate the schema, load the model, check the space.

    Args:
        settings: what to open.
        needs_embedder: whether to refuse when the model cannot be loaded (a worker), or to go on with full
            text only and say so in every answer (the service).

    Raises:
        DatabaseUnavailable: Neo4j does not answer.
        SchemaTooNew: a newer kg has written the database.
        ConfigurationError: the model is not the one whose vectors are stored, or settings are wrong.
    """
    graph = open_graph(settings)
    try:
        applied = migrate(graph)
        if applied:
            log.info("schema migrated", applied=applied)
        embedder, space = _embedder_and_space(settings, graph, needs_embedder=needs_embedder)
    except BaseException:
        graph.close()
        raise
    search = SearchService(graph, embedder, space)
    return Container(settings, graph, embedder, space, IngestService(graph), search)


def _embedder_and_space(settings: Settings, graph: Graph, *, needs_embedder: bool) -> tuple[Embedder, Space]:
    begun = time.perf_counter()
    try:
        embedder = open_embedder(settings)
    except (EmbeddingUnavailable, ManagedProcessError, ConfigurationError) as error:
        if needs_embedder:
            raise
        return _without_embedder(graph, error)
    log.info("model loaded", model=embedder.identity.model, seconds=round(time.perf_counter() - begun, 2))
    return embedder, ensure_space(graph, embedder.identity)


def _without_embedder(graph: Graph, error: KgError) -> tuple[Embedder, Space]:
    space = find_space(graph)
    if space is None:
        raise error
    log.error("searching by full text only: the embedding model cannot be loaded", reason=str(error))
    return UnavailableEmbedder(str(error)), space
