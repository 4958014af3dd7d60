"""kg at ten thousand, a hundred thousand and a million passages: what grows with them, and how.

    python -m benchmarks.scale --data ../shared/data --seeds SEEDS.npz --keep FOLDER --sizes 10000 100000

The passages are made of real ones: sentences of two passages of one document, with other numbers and names;
the vector of each is the mean of the two real ones' (by kg's local model, made once and kept in SEEDS), with
some noise. They go the product's own road: files by `kg ingest`, vectors by the worker, from a server with
OpenAI's interface. Each size is reached from the one before it. What is done and measured is kept in FOLDER:
a run that was interrupted goes on with the same command. Concepts are not extracted, unless
KG_CONCEPTS__EXTRACTOR says otherwise.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.processes import Watched
from benchmarks.scale.exact import Scope, nearest
from benchmarks.scale.keeping import Notes, kept_stack
from benchmarks.scale.report import show
from benchmarks.scale.searching import alone, recall, together, ways
from benchmarks.scale.seeds import Seeds, load
from benchmarks.scale.storage import disk_mb, rebuild
from benchmarks.scale.taking_in import complete, take_in
from benchmarks.scale.texts import Texts, name_of, ontology_of
from benchmarks.scale.walks import walks
from benchmarks.stack import Stack, machine

SCOPES = {
    "all": Scope(),
    "an ontology of 10 %": Scope(ontology="tenth"),
    "an ontology of 1 %": Scope(ontology="hundredth"),
    "one document": Scope(ontology=ontology_of(0), document=name_of(0)),
}
EXACT_QUESTIONS = 200
QUANTIZATIONS = {"NONE": "NONE", "as kg makes it": None}
"""Ends with kg's own, which is checked at the next start."""


def main() -> None:
    """Run it and print one JSON object; a table goes to stderr."""
    chosen = _chosen()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends
    chosen.keep.mkdir(parents=True, exist_ok=True)
    notes = Notes(chosen.keep / "scale.json")
    seeds = load(chosen.seeds, chosen.data, chosen.passages)
    with kept_stack(chosen.keep, chosen.seeds, seeds) as running:
        for size in chosen.sizes:
            _size(running, notes, seeds, size, chosen)
    print(json.dumps({"machine": machine(), **notes.told}, indent=1))
    show(notes.told["sizes"])


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--seeds", type=Path, required=True, help="file of real passages and their vectors")
    parser.add_argument("--passages", type=int, default=3000, help="real passages, when SEEDS is made")
    parser.add_argument("--keep", type=Path, required=True, help="folder of the database and of the figures")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20, help="for which they search, each way")
    parser.add_argument("--rebuild", action="store_true", help="build the index anew too, also unquantised")
    parser.add_argument("--again", nargs="*", default=[], help="parts that are measured though they were")
    return parser.parse_args()


def _size(running: Stack, notes: Notes, seeds: Seeds, size: int, chosen: argparse.Namespace) -> None:
    """Reach a size and measure what was not measured at it yet; a smaller one than is there is only told."""
    texts = Texts(seeds)
    sizes: dict[str, Any] = notes["sizes"] or {}
    own: dict[str, Any] = sizes.setdefault(str(size), {})

    def part(name: str, measure: Callable[[], Any]) -> None:
        if name not in own or name in chosen.again:
            own[name] = measure()
            notes["sizes"] = sizes
            print(f"{size}: {name}", file=sys.stderr, flush=True)

    if (notes["reached"] or 0) > size:
        return
    take_in(running, notes, texts, chosen.keep, size)
    notes["reached"] = size
    part("taken in", lambda: _taken_in(running, notes))
    part("walks", lambda: walks(running, texts))
    _searches(running, seeds, part, chosen)


def _taken_in(running: Stack, notes: Notes) -> dict[str, Any]:
    """Times since the first passage: of all sizes until now."""
    times = {name: told for name, told in notes.told.items() if "seconds" in name}
    memory = {"peak_mb": notes["peak_mb"], "memory_mb": Watched(running.pids()).memory_mb()}
    return {**complete(running), **times, **memory, "disk_mb": disk_mb(running)}


def _searches(running: Stack, seeds: Seeds, part: Callable[..., None], chosen: argparse.Namespace) -> None:
    questions, asked = seeds.question_vectors[:EXACT_QUESTIONS], ways(seeds, SCOPES)
    # first, for it also makes Java warm: the others are to differ by size alone
    part(f"{chosen.clients} clients", lambda: together(running, asked, chosen.clients, chosen.seconds))
    part("one client", lambda: alone(running, asked))
    found = dict[str, list[set[str]]]()

    def true() -> dict[str, list[set[str]]]:
        return found or found.update(nearest(running, questions, SCOPES)) or found

    part("recall@10", lambda: recall(running, questions, SCOPES, true()))
    for name, quantization in QUANTIZATIONS.items() if chosen.rebuild else ():
        part(f"index anew: {name}", lambda kind=quantization: _anew(running, kind, asked, seeds, true))


def _anew(
    running: Stack,
    quantization: str | None,
    asked: Any,
    seeds: Seeds,
    true: Callable[[], dict[str, list[set[str]]]],
) -> dict[str, Any]:
    built = rebuild(running, quantization)
    given = {name: asked[name] for name in ("vector given", "vector, an ontology of 10 %")}
    questions = seeds.question_vectors[:EXACT_QUESTIONS]
    return {
        **built,
        "one client": alone(running, given),
        "recall@10": recall(running, questions, SCOPES, true()),
    }


if __name__ == "__main__":
    main()
