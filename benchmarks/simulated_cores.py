"""Whether the local model keeps more cores busy than this machine has: the model simulated, the rest real.

    python -m benchmarks.simulated_cores [--cores 1 2 4 8 16 32] [--texts 2048]

A call of the model is replaced by a sleep of the time that the real model takes for so many tokens on one
core, measured first on this machine; at most as many calls sleep at once as there are simulated cores.
Everything else is kg's own and takes real processor time: `LocalEmbedder` with a thread a core, the
tokenizer, pooling, checks, and batches of the worker's size. Where that time is short of two real cores, the
figure is what a machine with so many cores would reach at most; where Python becomes the limit, it shows.

Prints one JSON object: texts a second by number of cores, beside what so many cores could do if nothing but
the model took time, and the share of it; once batch by batch, as the worker embeds today, and once as one
batch.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from typing import Any

import numpy as np

from benchmarks.embedding_speed import passages
from benchmarks.stack import machine
from kg_api.machine import choose_batch_size
from kg_api.providers.embedding_port import DEFAULT
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import ensure_model
from kg_api.settings import load_settings

TRIED = 200
"""Texts by which the real model is timed."""


class SimulatedSession:
    """Takes a core for as long as the model would, and gives numbers of the right shape."""

    def __init__(self, cores: int, seconds_a_token: float, dimensions: int) -> None:
        self._cores = threading.Semaphore(cores)
        self._seconds = seconds_a_token
        self._states = np.random.default_rng(7).standard_normal((1, 512, dimensions)).astype(np.float32)

    def run(self, _outputs: None, given: dict[str, Any]) -> list[Any]:
        """Sleep: the real one holds no lock of Python's either."""
        tokens = given["input_ids"].shape[1]
        with self._cores:
            time.sleep(tokens * self._seconds)
        return [self._states[:, :tokens]]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--texts", type=int, default=2048)
    chosen = parser.parse_args()
    real = LocalEmbedder(ensure_model(load_settings()), DEFAULT.spec, 1)
    tokenizer: Any = real._model.tokenizer._tokenizer  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    texts = passages(tokenizer, chosen.texts)
    seconds = seconds_a_token(real, texts[:TRIED])
    tokens = real.count_tokens(texts)
    rows = [simulate(cores, texts, tokens, seconds) for cores in chosen.cores]
    print(
        json.dumps(
            {
                **machine(),
                "texts": len(texts),
                "mean_tokens": round(tokens / len(texts)),
                "ms_a_text_on_one_core": round(1000 * seconds * tokens / len(texts), 2),
                "simulated": rows,
            },
            indent=1,
        )
    )


def seconds_a_token(real: LocalEmbedder, texts: list[str]) -> float:
    """Of the real model alone, in one thread."""
    model: Any = real._model  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    rates = list[float]()
    for text in texts:
        ids, _ = model._encode(text)  # noqa: SLF001
        begun = time.perf_counter()
        model._states(ids)  # noqa: SLF001
        rates.append((time.perf_counter() - begun) / ids.size)
    return statistics.median(rates)


def simulate(cores: int, texts: list[str], tokens: int, seconds: float) -> dict[str, float]:
    """Texts a second of so many cores."""
    embedder = LocalEmbedder(ensure_model(load_settings()), DEFAULT.spec, cores)
    model: Any = embedder._model  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    model._session = SimulatedSession(cores, seconds, DEFAULT.spec.dimensions)  # noqa: SLF001
    batch = choose_batch_size(cores)
    bound = cores * len(texts) / (tokens * seconds)
    batches = rate(embedder, [texts[at : at + batch] for at in range(0, len(texts), batch)])
    whole = rate(embedder, [texts])
    embedder.close()
    return {
        "cores": cores,
        "batch": batch,
        "bound": round(bound, 1),
        "by_batches": round(batches, 1),
        "share_by_batches": round(batches / bound, 3),
        "as_one_batch": round(whole, 1),
        "share_as_one_batch": round(whole / bound, 3),
    }


def rate(embedder: LocalEmbedder, batches: list[list[str]]) -> float:
    """Texts a second."""
    begun = time.perf_counter()
    for batch in batches:
        embedder.embed_passages(batch)
    return sum(map(len, batches)) / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
