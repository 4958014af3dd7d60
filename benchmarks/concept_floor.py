"""What is taken for a concept "by meaning": nonsense that is taken, and what is right and is not.

    D=../shared/data/python_peps/rst
    python -m benchmarks.concept_floor $D/pep-0{008,257,405,484,492,572,634,654,703}.rst

Concepts are the keyphrases of the files named; questions stand in concept_questions.tsv. For every packaged
model, and for three rules: the middle of related and unrelated passages; half way from unrelated texts to
equal ones (few concepts); SHARE of the way from other concepts to the very one (measured). No database.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from kg_api.concepts.search import SHARE, UNMEASURED_SHARE
from kg_api.extraction.keyphrases import KeyphraseExtractor
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.ingest.records import Incoming, to_record
from kg_api.providers.embedding import open_embedder
from kg_api.providers.embedding_port import CATALOGUE
from kg_api.schemas.base import build_concept_text
from kg_api.schemas.spaces import ModelChoice
from kg_api.settings import load_settings
from kg_api.spaces.open_spaces import LABELS_ASKED, LABELS_SAMPLED, calibrate_labels, calibrate_similarity

QUESTIONS = Path(__file__).parent / "concept_questions.tsv"
PER_SOURCE = 10


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="+")
    labels = sorted({label for file in parser.parse_args().files for label in labels_of(file)})
    print(
        json.dumps({"labels": len(labels), **{name: measured(name, labels) for name in CATALOGUE}}, indent=1)
    )


def labels_of(file: Path) -> list[str]:
    """The keyphrases of a file."""
    record, _ = to_record(Incoming(ontology="o", document=file.name, text=file.read_text(encoding="utf-8")))
    sources = [
        SourceText(
            each.source_id,
            record.document_id,
            each.paragraph,
            tuple(each.heading),
            each.start,
            each.full_text,
            each.content_hash,
        )
        for each in record.sources
    ]
    found = KeyphraseExtractor(PER_SOURCE).extract(sources, sources, DocumentAbout(file.name, {}))
    return [concept.label.casefold() for each in found for concept in each.concepts]


def measured(name: str, labels: list[str]) -> dict[str, dict[str, object]]:
    """What each rule takes and leaves with a model."""
    embedder = open_embedder(load_settings(), ModelChoice(provider="local", model=name))
    vectors = embedder.embed_passages([build_concept_text(label, "", ()) for label in labels])
    calibration = calibrate_similarity(embedder)
    sample = np.random.default_rng(0).choice(len(labels), min(LABELS_SAMPLED, len(labels)), replace=False)
    questions = np.stack([embedder.embed_query(labels[at]) for at in sample[:LABELS_ASKED]])
    near = calibrate_labels(questions, vectors[sample])
    best: dict[str, list[float]] = {"right": [], "nonsense": []}
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        kind, question = line.split("\t")
        best[kind].append(float((vectors @ embedder.embed_query(question)).max()))
    floors = {
        "passages": calibration.middle,
        "unmeasured": calibration.unrelated + UNMEASURED_SHARE * (1 - calibration.unrelated),
        "measured": near.unrelated + SHARE * near.gap,
    }
    return {rule: taken(floor, best) for rule, floor in floors.items()}


def taken(floor: float, best: dict[str, list[float]]) -> dict[str, object]:
    """How much nonsense is taken and how many right ones are not."""
    wrong = sum(each >= floor for each in best["nonsense"])
    missed = sum(each < floor for each in best["right"])
    return {
        "floor": round(floor, 3),
        "nonsense_taken": f"{wrong}/{len(best['nonsense'])}",
        "right_left": f"{missed}/{len(best['right'])}",
    }


if __name__ == "__main__":
    main()
