"""Does the picture model that ships find the original of a changed picture, and what do its cosines mean?

    python -m benchmarks.image_embedders [../shared/data/sample_photos/images] [--tune 3000]

Each picture is cropped, scaled, encoded again, made grey, darker and so on; its vector is compared with those
of all originals, and the nearest one counts (recall@1).
`--tune N` chooses the weights of the blocks anew, of N at random: by one half of the pictures, tried on the
other half, both ways. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from kg_api.convert.image.file import flatten
from kg_api.providers.pixels import RENDERING, WEIGHTS, HistogramEmbedder, compute_blocks
from tests.support.image_changes import CHANGES, FOLDER, LIMITS, as_rendered

Vectors = NDArray[np.float64]
Blocks = Mapping[str, Vectors]
"""By name, one row a picture, each of length 1."""
Weights = Mapping[str, float]
TWINS = {"motorcycle_left", "motorcycle_right"}
"""One scene seen by two eyes: near-duplicates among the originals."""
SEED = 1


class _Cosines:
    """Of some pictures with others, block by block, so that weights can be tried without them."""

    def __init__(self, one: Blocks, other: Blocks) -> None:
        self._products = np.stack([one[name] @ other[name].T for name in WEIGHTS])
        self._there = [np.stack([(each[name] ** 2).sum(axis=1) for name in WEIGHTS]) for each in (one, other)]

    def weighted(self, weights: Weights) -> Vectors:
        """What the whole vectors' cosines are with such weights."""
        squares = np.array([weights[name] ** 2 for name in WEIGHTS])
        rows, columns = (np.sqrt(squares @ there) for there in self._there)
        return np.tensordot(squares, self._products, 1) / np.maximum(np.outer(rows, columns), 1e-12)


class Trial:
    """The originals, and what became of them, as blocks."""

    def __init__(self, pictures: Sequence[Image.Image]) -> None:
        originals = _blocks(pictures)
        self.between = _Cosines(originals, originals)
        self.changed: dict[str, _Cosines] = {}
        self.owners: dict[str, NDArray[np.intp]] = {}
        """Of which original each changed picture is."""
        for name, change in {**CHANGES, **LIMITS}.items():
            made = [(at, each) for at, picture in enumerate(pictures) for each in change(picture)]
            self.changed[name] = _Cosines(_blocks([each for _, each in made]), originals)
            self.owners[name] = np.array([at for at, _ in made])

    def cosines(self, name: str, weights: Weights) -> Vectors:
        """Of each changed picture with each original."""
        return self.changed[name].weighted(weights)

    def recall(
        self, weights: Weights, kept: set[int] | None = None, among: set[int] | None = None
    ) -> dict[str, float]:
        """By change, the share whose original is the nearest: of `kept` originals, `among` some."""
        return {name: self._recall(name, weights, kept, among) for name in self.changed}

    def _recall(self, name: str, weights: Weights, kept: set[int] | None, among: set[int] | None) -> float:
        cosines, owners = self.cosines(name, weights), self.owners[name]
        if among is not None:
            cosines[:, [at for at in range(cosines.shape[1]) if at not in among]] = -2
        rows = [row for row, owner in enumerate(owners) if kept is None or owner in kept]
        return round(float((cosines.argmax(axis=1) == owners)[rows].mean()), 3)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    arguments.add_argument("--tune", type=int, default=0)
    given = arguments.parse_args()
    files = sorted(given.folder.glob("*"))
    pictures = [flatten(Image.open(file), (1, 1)) for file in files]
    trial, halves = Trial(pictures), _halves(len(files))
    singles = {at for at, file in enumerate(files) if file.stem not in TWINS}
    result: dict[str, Any] = {
        "pictures": len(files),
        "recall@1": trial.recall(WEIGHTS),
        "of each half": [trial.recall(WEIGHTS, half) for half in halves],
        "without the pair that is nearly the same": trial.recall(WEIGHTS, singles, singles),
        "cosines": _meaning(trial, singles),
        "milliseconds a picture": _speed(pictures),
    }
    if given.tune:
        result["tuned on one half"] = [_tuned(trial, given.tune, *pair) for pair in (halves, halves[::-1])]
    print(json.dumps(result, indent=2))


def _blocks(pictures: Sequence[Image.Image]) -> Blocks:
    rows = [compute_blocks(as_rendered(picture, RENDERING)) for picture in pictures]
    return {name: np.stack([row[name] for row in rows]) for name in WEIGHTS}


def _halves(count: int) -> list[set[int]]:
    order = [int(each) for each in np.random.default_rng(SEED).permutation(count)]
    return [set(order[: count // 2]), set(order[count // 2 :])]


def _meaning(trial: Trial, singles: set[int]) -> dict[str, Any]:
    """Of originals with each other, and of changed ones with their own."""
    between = trial.between.weighted(WEIGHTS)
    apart = [between[a, b] for a in singles for b in singles if a < b]
    own = {name: trial.cosines(name, WEIGHTS)[np.arange(len(at)), at] for name, at in trial.owners.items()}
    promised = np.concatenate([own[name] for name in CHANGES])
    return {
        "unrelated": _spread(np.array(apart)),
        "near-duplicates": _spread(promised),
        "mean by change": {name: round(float(each.mean()), 3) for name, each in own.items()},
    }


def _spread(values: Vectors) -> dict[str, float]:
    marks = {f"{mark} %": float(np.percentile(values, mark)) for mark in (5, 50, 95)}
    found = {"mean": float(values.mean()), **marks, "least": float(values.min()), "most": float(values.max())}
    return {name: round(value, 3) for name, value in found.items()}


def _speed(pictures: Sequence[Image.Image]) -> dict[str, float]:
    embedder = HistogramEmbedder()
    pixels = [as_rendered(picture, RENDERING) for picture in pictures]
    return {
        "unpacked to its size": _timed(
            lambda: [as_rendered(each, RENDERING) for each in pictures], len(pictures)
        ),
        "embedded": _timed(lambda: embedder.embed_images(pixels), len(pictures)),
    }


def _timed(work: Callable[[], object], count: int) -> float:
    """The best of five rounds: other programs only slow one down."""
    times: list[float] = []
    for _ in range(5):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return round(1000 * min(times) / count, 1)


def _tuned(trial: Trial, tries: int, learned: set[int], held_out: set[int]) -> dict[str, Any]:
    """Weights by one half: the worst change first, then the mean of all."""
    rng = np.random.default_rng(SEED)
    chosen: tuple[tuple[float, float], Weights] = ((-1.0, -1.0), WEIGHTS)
    for _ in range(tries):
        weights = {
            name: float(round(each, 1)) for name, each in zip(WEIGHTS, rng.random(len(WEIGHTS)), strict=True)
        }
        found = [trial.recall(weights, learned)[name] for name in CHANGES]
        chosen = max(chosen, ((min(found), float(np.mean(found))), weights), key=lambda each: each[0])
    held = trial.recall(chosen[1], held_out)
    return {"weights": chosen[1], "its own half": trial.recall(chosen[1], learned), "the other half": held}


if __name__ == "__main__":
    main()
