from collections.abc import Sequence

import neo4j
import numpy as np
from numpy.typing import NDArray

from tests.support.cypher import rows
from tests.support.embedders import small_embedder

GROUPS = 8
PORTION = 2000


def grouped_vectors(count: int, groups: int = GROUPS) -> NDArray[np.float32]:
    random = np.random.default_rng(7)
    centres = random.standard_normal((groups, small_embedder().identity.dimensions))
    near = centres[np.arange(count) % groups] + 0.3 * random.standard_normal((count, centres.shape[1]))
    return (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)


def give_vectors(driver: neo4j.Driver, source_ids: Sequence[str]) -> None:
    vectors = grouped_vectors(len(source_ids)).tolist()
    for at in range(0, len(source_ids), PORTION):
        given = [
            {"id": one, "vector": vector}
            for one, vector in zip(source_ids[at : at + PORTION], vectors[at : at + PORTION], strict=True)
        ]
        set_vector = (
            "UNWIND $given AS one MATCH (s:Source {source_id: one.id}) "
            "CALL db.create.setNodeVectorProperty(s, 'embedding', one.vector)"
        )
        rows(driver, set_vector, given=given)
    rows(driver, "MATCH (j:Job {kind: 'source_embedding'}) DELETE j")
