"""What concepts are worth on a question set: text, vector, hybrid, and these with concepts or the graph.

    M=../shared/data/musique_train100
    python -m benchmarks.concept_search $M --openie $M/openie.jsonl
    python -m benchmarks.concept_search ../shared/data/claude_docs    # by keyphrases, as kg finds them

Everything goes through a running kg: `kg eval run`, `kg concepts import` or the worker's extraction, `kg eval
compare` (paired permutation tests). Prints one JSON object: metrics and latencies of each, and what concepts
and the graph change against hybrid, with its significance.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.stack import Stack, machine, stack
from kg_api.schemas.operations import FINISHED

METRICS = (
    "recall@1",
    "recall@5",
    "recall@10",
    "recall@20",
    "ndcg@10",
    "token_recall@5",
    "token_recall@10",
    "mrr@10",
)
"""Those that a set has."""
WITHOUT = ("text", "vector", "hybrid")
WITH = ("concepts", "graph")
QUIET_SECONDS = 3.0
"""For so long no job of concepts may appear before they count as done."""


def row_of_openie(line: str) -> str:
    """Return a line of HippoRAG's open information extraction as a row of concepts."""
    found = json.loads(line)
    labels = dict.fromkeys(each.strip()[:200] for each in found["entities"] if each.strip())
    relations = [each for each in found["triples"] if len(each) == 3 and all(map(str.strip, each))]
    row = {"document": str(found["doc"]), "concepts": [{"label": each} for each in labels]}
    return json.dumps({**row, "relations": relations}) + "\n"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("set", type=Path)
    parser.add_argument("--openie", help="Import these concepts, and extract none.")
    parser.add_argument("--tier", default="full")
    chosen = parser.parse_args()
    if chosen.openie:
        os.environ["KG_CONCEPTS__EXTRACTOR"] = "none"
    with stack() as running:
        results = running.home.path / "results"
        evaluate = ["eval", "run", "--set", str(chosen.set), "--tier", chosen.tier, "--json"]
        told = {mode: ran(running, results / f"{mode}.json", [*evaluate, "--mode", mode]) for mode in WITHOUT}
        (name,) = [each.ontology for each in running.client().ontologies().ontologies]
        if chosen.openie:
            rows = running.home.path / "rows.jsonl"
            with Path(chosen.openie).open(encoding="utf-8") as lines:
                rows.write_text("".join(map(row_of_openie, lines)), encoding="utf-8")
            running.kg("concepts", "import", str(rows), "--ontology", name)
        running.kg("admin", "regenerate-embeddings", "--type", "concept", "--ontology", name)
        seconds = settled(running, name)
        for lane in WITH:
            told[lane] = ran(running, results / f"{lane}.json", [*evaluate, "--mode", lane])
        against = {lane: compared(running, results, lane) for lane in WITH}
        print(
            json.dumps({**machine(), "settled_s": seconds, "runs": told, "against_hybrid": against}, indent=1)
        )


def ran(running: Stack, output: Path, arguments: list[str]) -> dict[str, Any]:
    """Run an evaluation; its metrics and latencies."""
    output.parent.mkdir(exist_ok=True)
    result = json.loads(running.kg(*arguments, "--output", str(output)))
    metrics = result["metrics"]
    known = {name: round(100 * metrics[name], 1) for name in METRICS if name in metrics}
    return {**known, **result["latency_ms"]}


def compared(running: Stack, results: Path, lane: str) -> dict[str, Any]:
    """What a lane changes against hybrid, and how likely that is by chance."""
    files = [str(results / "hybrid.json"), str(results / f"{lane}.json")]
    known = json.loads((results / f"{lane}.json").read_text(encoding="utf-8"))["metrics"]
    told: dict[str, Any] = {}
    for metric in (each for each in METRICS if each in known):
        found = json.loads(running.kg("eval", "compare", *files, "--metric", metric, "--json"))
        told[metric] = found["tests"]
    return told


def settled(running: Stack, ontology: str) -> float:
    """Wait until concepts are extracted and embedded; how long it took."""
    begun = last = time.monotonic()
    while time.monotonic() - last < QUIET_SECONDS:
        with running.client() as kg:
            jobs = kg.jobs(ontology=ontology, limit=100).jobs
        if any(job.state not in FINISHED for job in jobs):
            last = time.monotonic()
        time.sleep(0.5)
    return round(last - begun, 1)


if __name__ == "__main__":
    main()
