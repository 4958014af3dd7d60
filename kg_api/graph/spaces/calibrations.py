"""What the cosines of a space's model mean, as it was measured, and what it is measured by."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import Space
from kg_api.models.embedding.spaces import SimilarityCalibration


def remember_calibration(graph: Graph, space: Space, calibration: SimilarityCalibration) -> None:
    """Keep what the model's cosines mean, unless that is known already."""
    graph.write("spaces/remember_contrast", slug=space.slug, **asdict(calibration))


def remember_labels(graph: Graph, space: Space, calibration: SimilarityCalibration) -> None:
    """Keep what the model's cosines of questions and concepts mean, as it was measured last."""
    graph.write("spaces/remember_labels", slug=space.slug, **asdict(calibration))


def sample_of_concepts(
    graph: Graph, space: Space, limit: int, *, walked: int, hours: int
) -> tuple[list[str], NDArray[np.float32]]:
    """Labels and vectors of some concepts; none when they were measured less than so many hours ago.

    Args:
        graph: where they are.
        space: that they are embedded in.
        limit: most of them.
        walked: most concepts that are looked through for them.
        hours: that a measurement holds.
    """
    rows = graph.read(
        "spaces/concept_sample",
        slug=space.slug,
        property=space.at("").vector_property,
        limit=limit,
        walked=walked,
        hours=hours,
    )
    vectors = np.array([np.asarray(row["vector"], dtype=np.float32) for row in rows], dtype=np.float32)
    return [row["label"] for row in rows], vectors
