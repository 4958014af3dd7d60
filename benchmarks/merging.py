"""Which rule tells concepts that are one: precision and recall on labelled pairs of names, by packaged model.

    python -m benchmarks.merging [--show]
    python -m benchmarks.merging --folder ../shared/data/python_peps/rst

The pairs stand in merging_pairs.tsv: same or different, two names, and where they come from. Entities of
musique_train100 and phrases of python_peps that are near to each other were labelled by hand, acronyms by
whether a passage gives both forms; `made` ones are the traps that one thinks of. Same: a reader wants one
page for both. Names are embedded alone, as concepts without a description are. --show prints what goes wrong.

With --folder: what merging costs. The concepts of a folder are found, embedded and merged by a worker; then
all of them are looked at once more, which merges nothing and shows what looking costs. The digest is of the
labels that are left, by which two versions are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neo4j
import numpy as np
from rapidfuzz import fuzz
from rich.console import Console
from rich.table import Table

from benchmarks.stack import Stack, machine, stack
from kg_api.concepts.merging import (
    MIN_LIKENESS,
    compare_spelling,
    find_merge_reason,
    merge_near,
    scale_similarity,
)
from kg_api.graph.concepts import Text
from kg_api.graph.spaces import find_space
from kg_api.providers.embedding_port import CATALOGUE, PackagedModel
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import ensure_packaged
from kg_api.schemas.spaces import FIRST_SLUG, SimilarityCalibration
from kg_api.settings import load_settings
from kg_api.spaces.open_spaces import calibrate_similarity

PAIRS = Path(__file__).with_name("merging_pairs.tsv")


@dataclass(frozen=True)
class Pair:
    """Two names, and whether they mean the same."""

    same: bool
    one: str
    other: str
    origin: str
    likeness: float = 0.0


ONTOLOGY = "merged"
LABELS = """MATCH (c:Concept {ontology: $o}) WHERE c.embedding IS NOT NULL
RETURN c.concept_id AS id, c.label AS label ORDER BY id"""
Rule = Callable[[Pair], bool]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--show", action="store_true")
    arguments.add_argument("--folder")
    given = arguments.parse_args()
    if given.folder:
        print(json.dumps({**machine(), **cost_of(given.folder)}, indent=2))
        return
    rows = list[dict[str, str]]()
    for model in CATALOGUE.values():
        pairs = measured(model, read())
        rows += [
            {"model": model.spec.name, "rule": name, **scores(pairs, rule)} for name, rule in RULES.items()
        ]
        rows += [{"model": model.spec.name, "rule": kind, **of_kind(pairs, kind)} for kind in kinds(pairs)]
        if given.show:
            show(model.spec.name, pairs)
    print(json.dumps(rows, indent=2))
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*row.values())
    Console(width=160).print(table)


def cost_of(folder: str) -> dict[str, Any]:
    """Have a folder's concepts merged, and look at all of them again."""
    with stack() as running:
        with running.client() as client:
            client.set_embedding_config(ONTOLOGY, embed_on_ingest=False)
        running.kg("ingest", folder, "--ontology", ONTOLOGY)
        running.rest()
        with running.client() as client:
            extracted = client.concepts(ontology=ONTOLOGY, limit=1).total
            (asked,) = client.regenerate_embeddings(ONTOLOGY, kind="concept").ontologies
            running.rest()
            ended = client.job(asked.job_id or "")
        assert ended.started_at is not None
        assert ended.finished_at is not None
        return {
            "concepts": extracted,
            "job": ended.state,
            "job_s": round((ended.finished_at - ended.started_at).total_seconds(), 1),
            **looked_at_again(running),
        }


def looked_at_again(running: Stack) -> dict[str, Any]:
    graph = running.graph()
    with running.driver() as driver:
        rows = driver.execute_query(LABELS, o=ONTOLOGY, result_transformer_=neo4j.Result.data)
    space = find_space(graph, FIRST_SLUG)
    begun = time.perf_counter()
    merged = merge_near(graph, space, ONTOLOGY, [row["id"] for row in rows])
    seconds = time.perf_counter() - begun
    labels = "\n".join(row["label"] for row in rows)
    return {
        "left": len(rows),
        "merged_again": merged,
        "ms_a_concept": round(1000 * seconds / len(rows), 2),
        "labels_digest": hashlib.sha256(labels.encode()).hexdigest()[:16],
    }


def read() -> list[Pair]:
    lines = (line.split("\t") for line in PAIRS.read_text("utf-8").splitlines())
    return [Pair(label == "same", one, other, origin) for label, one, other, origin in lines]


def measured(model: PackagedModel, pairs: Sequence[Pair]) -> list[Pair]:
    embedder = LocalEmbedder(ensure_packaged(model, load_settings().cache), model.spec)
    calibration: SimilarityCalibration = calibrate_similarity(embedder)
    one = embedder.embed_passages([pair.one for pair in pairs])
    other = embedder.embed_passages([pair.other for pair in pairs])
    cosines: list[float] = np.sum(one * other, axis=1).tolist()
    return [
        Pair(pair.same, pair.one, pair.other, pair.origin, scale_similarity(cosine, calibration))
        for pair, cosine in zip(pairs, cosines, strict=True)
    ]


def by_rules(pair: Pair) -> bool:
    return find_merge_reason(Text(pair.one), Text(pair.other), pair.likeness) is not None


def by_vector(least: float) -> Rule:
    return lambda pair: pair.likeness >= least


def by_letters(least: float) -> Rule:
    return lambda pair: fuzz.ratio(pair.one.casefold(), pair.other.casefold()) >= least


def by_both(letters: float, least: float) -> Rule:
    return lambda pair: by_letters(letters)(pair) and by_vector(least)(pair)


RULES: dict[str, Rule] = {
    "kg": by_rules,
    "kg's spelling alone": lambda pair: compare_spelling(pair.one, pair.other) is not None,
    "likeness >= 0.90": by_vector(0.90),
    "likeness >= 0.95": by_vector(0.95),
    "letters >= 90": by_letters(90),
    "letters >= 90 and likeness >= 0.90": by_both(90, 0.90),
    "letters >= 95 and likeness >= 0.95": by_both(95, 0.95),
}


def scores(pairs: Iterable[Pair], rule: Rule) -> dict[str, str]:
    told = [(rule(pair), pair.same) for pair in pairs]
    right, merged, true = (
        sum(map(all, told)),
        sum(found for found, _ in told),
        sum(same for _, same in told),
    )
    share = f"{100 * right / merged:.1f}" if merged else "-"
    return {
        "merged": str(merged),
        "wrong": str(merged - right),
        "precision": share,
        "recall": f"{100 * right / true:.1f}",
    }


def kinds(pairs: Iterable[Pair]) -> list[str]:
    return sorted({kind for pair in pairs if (kind := compare_spelling(pair.one, pair.other))})


def of_kind(pairs: Iterable[Pair], kind: str) -> dict[str, str]:
    return scores([pair for pair in pairs if compare_spelling(pair.one, pair.other) == kind], by_rules)


def show(model: str, pairs: Iterable[Pair]) -> None:
    for pair in pairs:
        if by_rules(pair) != pair.same:
            kind = compare_spelling(pair.one, pair.other)
            least = f" (of {MIN_LIKENESS[kind]})" if kind else ""
            print(
                model,
                "missed" if pair.same else "WRONG",
                pair.one,
                "|",
                pair.other,
                kind,
                f"{pair.likeness:.2f}{least}",
            )


if __name__ == "__main__":
    main()
