"""The passages that are truly nearest: all vectors read once, in portions, and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import neo4j
import numpy as np

from benchmarks.scale.seeds import Vectors
from benchmarks.stack import Stack

TOP = 10
PORTION = 10_000
READ = """CYPHER 25
MATCH (s:Source) WHERE s.source_id > $after AND s.embedding IS NOT NULL
WITH s ORDER BY s.source_id LIMIT $portion
RETURN s.source_id AS id, s.ontology AS ontology, s.document AS document,
       vector(s.embedding, size(s.embedding), FLOAT32) AS vector"""


@dataclass(frozen=True)
class Scope:
    """Where to look; None: everywhere."""

    ontology: str | None = None
    document: str | None = None

    def holds(self, row: Mapping[str, object]) -> bool:
        """Whether a passage is in it."""
        return self.ontology in (None, row["ontology"]) and self.document in (None, row["document"])


def nearest(running: Stack, questions: Vectors, scopes: Mapping[str, Scope]) -> dict[str, list[set[str]]]:
    """By scope, for each question the ids of the nearest passages."""
    best = {name: [list[tuple[float, str]]() for _ in questions] for name in scopes}
    for rows in _portions(running):
        scores = np.stack([row["vector"].to_numpy() for row in rows]) @ questions.T
        for name, scope in scopes.items():
            inside = [at for at, row in enumerate(rows) if scope.holds(row)]
            for question, kept in enumerate(best[name]):
                order = (
                    sorted(inside, key=lambda at, q=question: -scores[at, q])[:TOP]
                    if len(inside) <= TOP
                    else _top(inside, scores[:, question])
                )
                kept += [(float(scores[at, question]), rows[at]["id"]) for at in order]
                kept.sort(reverse=True)
                del kept[TOP:]
    return {name: [{identity for _, identity in kept} for kept in found] for name, found in best.items()}


def _top(inside: list[int], scores: Vectors) -> list[int]:
    own = np.asarray(inside)
    return own[np.argpartition(-scores[own], TOP)[:TOP]].tolist()


def _portions(running: Stack) -> Iterator[list[neo4j.Record]]:
    after = ""
    with running.driver() as driver:
        while rows := driver.execute_query(READ, after=after, portion=PORTION).records:
            yield rows
            after = rows[-1]["id"]
