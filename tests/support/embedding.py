"""Doing a worker's work within a test."""

from __future__ import annotations

import threading

from kg_api.embed.port import Embedder
from kg_api.graph.database import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.jobs.backfill import Backfill
from kg_api.jobs.runner import Runner
from kg_api.jobs.source_embedding import SourceEmbedding
from kg_api.settings import WorkerSettings
from tests.support.embedders import small_embedder


def run_jobs(graph: Graph, embedder: Embedder | None = None, batch_size: int = 64) -> int:
    """Run all jobs that can be had; give how many."""
    embedder = embedder or small_embedder()
    space = ensure_space(graph, embedder.identity)
    handlers = [SourceEmbedding(graph, embedder, space, batch_size), Backfill(graph, space)]
    runner = Runner(graph, handlers, WorkerSettings(), worker="test", stopping=threading.Event())
    ran = 0
    while runner.run_one():
        ran += 1
    return ran
