"""How fast LocalEmbedder is, beside a bare onnxruntime loop over the same texts.

    python benchmarks/embedding_speed.py [--texts 256] [--rounds 7]

The bare loop is the fastest way we know: tokenise, run, take the first token, normalise; one text a call, one
ONNX thread, one Python thread per core. Both sides take turns in one run, so that other programs slow both:
look at the ratio. Texts: passages of about 120 tokens from ../shared/data/python_peps when it is there, else
from this repository's own documents.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer

from kg_api.providers.embedding_port import DEFAULT
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import TOKENIZER, WEIGHTS, ensure_model
from kg_api.settings import load_settings

REPOSITORY = Path(__file__).parents[1]
PEPS = REPOSITORY.parent / "shared/data/python_peps/rst"
TOKENS = (100, 140)
WORDS = 85
BATCH = 64
"""What the worker embeds and writes at once."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--texts", type=int, default=256)
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    folder = ensure_model(load_settings())
    threads = os.cpu_count() or 1
    embedder, bare = LocalEmbedder(folder, DEFAULT.spec, threads), Bare(folder, threads)
    texts = passages(bare.tokenizer, given.texts)
    sides = {"kg": lambda: in_batches(embedder, texts), "bare": lambda: bare.embed(texts)}
    assert np.allclose(sides["kg"](), sides["bare"](), atol=1e-5), "both sides must do the same work"
    result = {
        "texts": len(texts),
        "mean_tokens": round(statistics.mean(len(bare.tokenizer.encode(text).ids) for text in texts)),
        "threads": threads,
        "rounds": given.rounds,
        **compare({name: (side, len(texts)) for name, side in sides.items()}, given.rounds),
        "query_ms": latency(embedder, texts),
    }
    report(result)


class Bare:
    """The least code that embeds."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        options = cast("Any", onnxruntime.SessionOptions())
        options.intra_op_num_threads = 1
        self.session: Any = onnxruntime.InferenceSession(str(folder / WEIGHTS), options)
        self.pool = ThreadPoolExecutor(threads)

    def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        """One row a text, in order."""
        return np.array(list(self.pool.map(self.one, texts)))

    def one(self, text: str) -> np.ndarray[Any, Any]:
        """The first token's last state, of length 1."""
        ids = np.array([self.tokenizer.encode(text).ids])
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        first = self.session.run(None, given)[0][0, 0]
        return first / np.linalg.norm(first)


def in_batches(embedder: LocalEmbedder, texts: list[str]) -> np.ndarray[Any, Any]:
    return np.concatenate(
        [embedder.embed_passages(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
    )


def compare(sides: dict[str, tuple[Callable[[], object], int]], rounds: int) -> dict[str, Any]:
    """Wall time, and processor time, which other programs disturb less."""
    wall, processor = ({name: list[float]() for name in sides} for _ in range(2))
    for turn in range(rounds):
        for name in list(sides)[:: 1 if turn % 2 else -1]:
            run, count = sides[name]
            begun, used = time.perf_counter(), time.process_time()
            run()
            wall[name].append(count / (time.perf_counter() - begun))
            processor[name].append(count / (time.process_time() - used))
    return {
        "texts_per_second": {name: spread(values) for name, values in wall.items()},
        "texts_per_cpu_second": {name: spread(values) for name, values in processor.items()},
        "ratio": spread([kg / bare for kg, bare in zip(wall["kg"], wall["bare"], strict=True)]),
        "cpu_ratio": spread([kg / bare for kg, bare in zip(processor["kg"], processor["bare"], strict=True)]),
    }


def spread(values: list[float]) -> dict[str, float]:
    return {
        "min": round(min(values), 3),
        "median": round(statistics.median(values), 3),
        "max": round(max(values), 3),
    }


def latency(embedder: LocalEmbedder, texts: list[str]) -> dict[str, float]:
    times = list[float]()
    for text in texts[:200]:
        begun = time.perf_counter()
        embedder.embed_query(" ".join(text.split()[:12]))
        times.append((time.perf_counter() - begun) * 1000)
    return {f"p{share}": round(float(np.percentile(times, share)), 2) for share in (50, 95)}


def passages(tokenizer: Tokenizer, count: int) -> list[str]:
    fitting = (text for text in pieces() if TOKENS[0] <= len(tokenizer.encode(text).ids) <= TOKENS[1])
    found = [text for _, text in zip(range(count), fitting, strict=False)]
    if not found:
        raise SystemExit(
            "there are no texts: neither ../shared/data/python_peps nor documents of this repository"
        )
    return found


def pieces() -> Iterator[str]:
    for path in sorted(PEPS.glob("*.rst")) or sorted(REPOSITORY.glob("*.md")) + sorted(
        REPOSITORY.glob("*/*.md")
    ):
        words = path.read_text("utf-8").split()
        yield from (" ".join(words[at : at + WORDS]) for at in range(0, len(words), WORDS))


def report(result: dict[str, Any]) -> None:
    print(json.dumps(result, indent=2))
    table = Table(
        "", "min", "median", "max", title=f"{result['texts']} texts, {result['mean_tokens']} tokens"
    )
    for figure in ("texts_per_second", "texts_per_cpu_second"):
        for name, values in result[figure].items():
            table.add_row(f"{name}, {figure.replace('_', ' ')}", *map(str, values.values()))
    for figure in ("ratio", "cpu_ratio"):
        table.add_row(f"kg / bare, {figure.replace('_', ' ')}", *map(str, result[figure].values()))
    Console().print(table, f"query ms: {result['query_ms']}")


if __name__ == "__main__":
    main()
