"""What a cross-encoder's scores make of a fused order, blended into it in several ways.

    python -m benchmarks.rerank_blend --store FOLDER [--data ../shared/data] [--sets claude_docs ...]

Each set is one collection, cut by kg's default chunking: exact cosine (bge-small) and BM25, the best 50 of
each, fused by reciprocal rank and by z-scores. The local cross-encoder reads the first 30.
--store keeps vectors and scores for the next run: 78 pairs of 120 tokens a second on two quiet cores.

A blend's cell is its nDCG@10 and, in parentheses, t of the paired differences to the order without it.
`held out` is the weight that is best on all other sets together, tried on this one.
"""

from __future__ import annotations

import argparse
import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.chunk_retrieval import Vectors
from benchmarks.chunking import opened
from benchmarks.rerank_sets import Collection, Fused, by_rank, by_score, lanes, load
from kg_api.providers.cross_encoder import CrossEncoder
from kg_api.providers.embedding_port import BGE_SMALL
from kg_api.providers.rerank import blend_scores, require_packaged, to_relevance

DATA = Path(__file__).parents[2] / "shared/data"
SETS = {
    "claude_docs": 100,
    "musique_train100": 100,
    "chroma_chunking": 50,
    "xquad/en": 60,
    "xquad/de": 48,
    "xquad/es": 39,
    "xquad/en:passages": 16,
}
"""With how many of their questions are asked."""
READ = 30
TOP = 10
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)

Floats = NDArray[np.float64]
Blend = Callable[[Floats, Floats], Floats]
"""Fused scores and the cross-encoder's plain outputs to what orders the hits."""


@dataclass(frozen=True)
class Case:
    """One question of a set in one fusion."""

    fused: Floats
    logits: Floats
    right: list[bool]
    """Of each fused hit in turn, those that were not read included."""
    things: list[object]
    wanted: int

    def ndcg(self, blended: Floats | None) -> float:
        """nDCG@10 when the hits that were read are ordered so; None: as they were."""
        read = len(self.logits)
        first = range(read) if blended is None else np.argsort(-blended, kind="stable").tolist()
        order = [*first, *range(read, len(self.right))]
        places = dict[object, bool]()
        for at in order:
            places.setdefault(self.things[at], self.right[at])
        return ndcg(list(places.values())[:TOP], self.wanted)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--store", type=Path, required=True)
    arguments.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    given = arguments.parse_args()
    given.store.mkdir(exist_ok=True)
    vectors, scores = Vectors(opened(BGE_SMALL), given.store), Scores(given.store / "pairs.db")
    found = {name: cases(load(given.data, name, SETS[name], vectors), vectors, scores) for name in given.sets}
    for fusion in ("rank", "score"):
        print(f"\n{fusion}\n{table({name: each[fusion] for name, each in found.items()})}", flush=True)


class Scores:
    """The cross-encoder's plain outputs, each pair read once."""

    def __init__(self, path: Path) -> None:
        self._model = CrossEncoder(require_packaged())
        self._pool = ThreadPoolExecutor(2)
        self._store = sqlite3.connect(path)
        self._store.execute("CREATE TABLE IF NOT EXISTS s (k BLOB PRIMARY KEY, s REAL)")

    def of(self, question: str, texts: Sequence[str]) -> list[float]:
        """In the order of the texts."""
        keys = [hashlib.sha256(f"{question}\0{text}".encode()).digest() for text in texts]
        missing = [(key, text) for key, text in zip(keys, texts, strict=True) if self._find(key) is None]
        new = self._pool.map(lambda pair: (pair[0], self._model.score(question, pair[1])), missing)
        self._store.executemany("INSERT OR REPLACE INTO s VALUES (?, ?)", list(new))
        self._store.commit()
        return [self._find(key) or 0.0 for key in keys]

    def _find(self, key: bytes) -> float | None:
        row = self._store.execute("SELECT s FROM s WHERE k = ?", (key,)).fetchone()
        return row[0] if row else None


def cases(collection: Collection, vectors: Vectors, scores: Scores) -> dict[str, list[Case]]:
    """All questions of a set, in each fusion."""
    found: dict[str, list[Case]] = {"rank": [], "score": []}
    for question, (meaning, words) in enumerate(lanes(collection, vectors)):
        wanted = collection.wanted(question)
        orders = {"rank": by_rank(meaning, words), "score": by_score(meaning, words)}
        for fusion, order in orders.items():
            found[fusion].append(case(collection, question, order, wanted, scores))
    print(
        collection.name,
        len(collection.questions),
        "questions,",
        len(collection.chunked.texts),
        "chunks",
        flush=True,
    )
    return found


def case(collection: Collection, question: int, order: Fused, wanted: int, scores: Scores) -> Case:
    chunks = [chunk for chunk, _ in order]
    logits = scores.of(
        collection.questions[question], [collection.chunked.texts[each] for each in chunks[:READ]]
    )
    return Case(
        np.array([score for _, score in order[:READ]]),
        np.array(logits),
        [collection.answers(question, chunk) for chunk in chunks],
        [collection.thing(chunk) for chunk in chunks],
        wanted,
    )


def ndcg(right: Sequence[bool], wanted: int) -> float:
    discounts = 1 / np.log2(np.arange(2, TOP + 2))
    return float(np.dot(right, discounts[: len(right)]) / discounts[:wanted].sum()) if wanted else 0.0


def standard(values: Floats) -> Floats:
    return (values - values.mean()) / (values.std() or 1) if len(values) else values


def spread(values: Floats) -> Floats:
    """From 0 to 1."""
    return (values - values.min()) / (np.ptp(values) or 1) if len(values) else values


def by_place(weight: float) -> Blend:
    """Minus the logarithm of the place, plus a share of the plain output: kg's own."""
    return lambda fused, logits: weight * logits - np.log(1 + np.arange(len(fused)))


def own(fused: Floats, logits: Floats) -> Floats:
    """As the product blends."""
    return np.array(blend_scores(fused.tolist(), [to_relevance(each) for each in logits.tolist()]))


BLENDS: dict[str, Blend] = {
    "cross-encoder alone": lambda _, logits: logits,
    "ranks, RRF": lambda _, logits: (
        1 / (61 + np.arange(len(logits))) + 1 / (61 + (-logits).argsort().argsort())
    ),
    **{
        f"z-scores {weight}": lambda fused, logits, weight=weight: (
            (1 - weight) * standard(fused) + weight * standard(logits)
        )
        for weight in (0.3, 0.5, 0.7)
    },
    "min-max 0.5": lambda fused, logits: spread(fused) + spread(logits),
    "min-max + probability": lambda fused, logits: spread(fused) + 1 / (1 + np.exp(-logits)),
    **{
        f"z-score + {weight} output": lambda fused, logits, weight=weight: standard(fused) + weight * logits
        for weight in (0.2, 0.3, 0.5)
    },
    **{f"place + {weight} output": by_place(weight) for weight in WEIGHTS},
    "kg": own,
}


def of(cases_: Sequence[Case], how: Blend | None) -> Floats:
    """nDCG@10 of each question."""
    return np.array([each.ndcg(how(each.fused, each.logits) if how else None) for each in cases_])


def table(sets: dict[str, list[Case]]) -> str:
    """Markdown."""
    plain = {name: of(each, None) for name, each in sets.items()}
    rows = [["blend", *sets], ["---"] * (1 + len(sets))]
    rows.append(["none", *(f"{values.mean():.3f}" for values in plain.values())])
    for blended, how in BLENDS.items():
        rows.append([blended, *(cell(of(each, how), plain[name]) for name, each in sets.items())])
    rows.append(
        [
            "held out",
            *(cell(of(sets[name], by_place(held_out(sets, plain, name))), plain[name]) for name in sets),
        ]
    )
    rows.append(["its weight", *(str(held_out(sets, plain, name)) for name in sets)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def held_out(sets: dict[str, list[Case]], plain: dict[str, Floats], name: str) -> float:
    """The weight with the highest mean gain on the other sets."""
    others = [each for each in sets if each != name] or [name]
    gains = {w: np.mean([(of(sets[o], by_place(w)) - plain[o]).mean() for o in others]) for w in WEIGHTS}
    return max(gains, key=lambda weight: gains[weight])


def cell(values: Floats, plain: Floats) -> str:
    different = bool(np.any(values != plain))
    t = float(stats.ttest_rel(values, plain).statistic) if different else 0.0
    return f"{values.mean():.3f} ({t:+.1f})"


if __name__ == "__main__":
    main()
