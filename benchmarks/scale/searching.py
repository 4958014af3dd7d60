"""How fast searches are and how much of the truly nearest they find: by lane, by filter, by clients."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.crowd import crowd
from benchmarks.scale.exact import TOP, Scope
from benchmarks.scale.seeds import Seeds, Vectors
from benchmarks.stack import Stack
from kg_api.client import KgClient

WARMING, ALONE = 100, 200
SPACE = "default"
TOGETHER = ("vector", "text", "hybrid")


def ways(seeds: Seeds, scopes: Mapping[str, Scope]) -> dict[str, list[dict[str, Any]]]:
    """What is asked for, by lane and filter: one search a question."""
    texts = [{"query_text": each} for each in seeds.questions]
    given = [{"query_vector": each.tolist(), "space": SPACE} for each in seeds.question_vectors]
    plain = {
        "vector given": [{**each, "mode": "vector"} for each in given],
        **{mode: [{**each, "mode": mode} for each in texts] for mode in TOGETHER},
    }
    filtered = {
        f"{mode}, {name}": [{**each, **_filter(scope)} for each in plain[mode]]
        for name, scope in scopes.items()
        for mode in TOGETHER
        if scope != Scope()
    }
    return {**plain, **filtered}


def alone(running: Stack, asked: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """One client: milliseconds of each way over HTTP, and in the service."""
    with running.client() as client:
        return {name: _timed(client, searches) for name, searches in asked.items()}


def together(
    running: Stack, asked: Mapping[str, Sequence[dict[str, Any]]], clients: int, seconds: float
) -> dict[str, Any]:
    """Several clients at once, for so many seconds a way."""
    return {name: crowd(running, asked[name], clients, seconds) for name in TOGETHER}


def recall(
    running: Stack, questions: Vectors, scopes: Mapping[str, Scope], exact: Mapping[str, list[set[str]]]
) -> dict[str, float]:
    """Of the truly nearest ten, how many are among the ten that are found."""
    with running.client() as client:
        return {name: _share(client, questions, scope, exact[name]) for name, scope in scopes.items()}


def _share(client: KgClient, questions: Vectors, scope: Scope, exact: list[set[str]]) -> float:
    shares = list[float]()
    for vector, right in ((each, true) for each, true in zip(questions, exact, strict=True) if true):
        given: dict[str, Any] = {"query_vector": vector.tolist(), "space": SPACE, **_filter(scope)}
        found = client.search_sources(None, mode="vector", limit=TOP, **given).sources
        shares.append(len(right & {each.source_id for each in found}) / len(right))
    return round(statistics.mean(shares), 4) if shares else 1.0


def _filter(scope: Scope) -> dict[str, Any]:
    told: dict[str, Any] = {
        "ontology": scope.ontology,
        "documents": [scope.document] if scope.document else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _timed(client: KgClient, searches: Sequence[dict[str, Any]]) -> dict[str, float]:
    for search in searches[:WARMING]:
        client.search_sources(**search)
    whole, inside = list[float](), list[float]()
    for search in searches[-ALONE:]:
        begun = time.perf_counter()
        answer = client.search_sources(**search)
        whole.append((time.perf_counter() - begun) * 1000)
        inside.append(answer.timings_ms["total"])
    return {**_percentiles(whole), "p50 in the service": round(float(np.percentile(inside, 50)), 1)}


def _percentiles(taken: Sequence[float]) -> dict[str, float]:
    return {f"p{each}": round(float(np.percentile(taken, each)), 1) for each in (50, 95)}
