from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from kg_api.concepts.search import get_min_similarity
from kg_api.graph.spaces import Space
from kg_api.providers.embedding_port import Vectors
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.spaces.open_spaces import LABELS_ASKED, calibrate_labels, calibrate_similarity

LABELS = (Path(__file__).parent / "pep_concepts.txt").read_text(encoding="utf-8").splitlines()
QUESTIONS = [
    line.split("\t")
    for line in (Path(__file__).parents[3] / "benchmarks" / "concept_questions.tsv")
    .read_text(encoding="utf-8")
    .splitlines()
]


class World(NamedTuple):
    """Return the concepts that were stored and the space that is used for them."""

    vectors: Vectors
    space: Space


@pytest.fixture(scope="module")
def world(local: LocalEmbedder) -> World:
    vectors = local.embed_passages(LABELS)
    # of every third, that those asked for are of the whole alphabet
    order = [at for start in range(3) for at in range(start, len(LABELS), 3)]
    questions = np.stack([local.embed_query(LABELS[at]) for at in order[:LABELS_ASKED]])
    measured = calibrate_labels(questions, vectors[order])
    return World(
        vectors, Space("s", local.identity, calibration=calibrate_similarity(local), labels=measured)
    )


def fit(local: LocalEmbedder, world: World, space: Space, kind: str) -> list[str]:
    floor = get_min_similarity(space)
    asked = [question for each, question in QUESTIONS if each == kind]
    return [each for each in asked if float((world.vectors @ local.embed_query(each)).max()) >= floor]


@pytest.mark.parametrize("measured", [True, False])
def test_nonsense_matches_no_concept_and_paraphrase_does(
    local: LocalEmbedder, world: World, *, measured: bool
) -> None:
    """Before calibration, 42 of 44 nonsense questions matched a concept.

    The labels predate ADR 73 and contain more noise. The threshold, half of the distance, keeps nine of
    48.
    """
    space = world.space if measured else replace(world.space, labels=None)
    nonsense, right = (fit(local, world, space, kind) for kind in ("nonsense", "right"))
    assert not {"quantum physics", "banana pancake", "quantum chromodynamics"} & set(nonsense)
    assert len(nonsense) <= 2, nonsense
    wanted = {question for kind, question in QUESTIONS if kind == "right"}
    assert len(right) >= len(wanted) - 9, wanted - set(right)


def test_a_concept_that_is_named_otherwise_is_near(local: LocalEmbedder, world: World) -> None:
    floor = get_min_similarity(world.space)
    for question, label in (("symbolic links", "symlink"), ("type hints", "type hinting")):
        assert float(world.vectors[LABELS.index(label)] @ local.embed_query(question)) >= floor
