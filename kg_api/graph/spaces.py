"""The registry of embedding spaces, and the vector index of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from kg_api.errors import ConfigurationError
from kg_api.graph.database import Graph, while_schema_changes
from kg_api.graph.indexes import index_states
from kg_api.models.spaces import SpaceIdentity

FIRST_SPACE: Final = "default"
FIRST_INDEX: Final = "passage_embedding"
FIRST_PROPERTY: Final = "embedding"

QUANTIZATION: Final = "SCALAR"
EXPANSION_FACTOR: Final = 3.0


@dataclass(frozen=True, slots=True)
class Space:
    """A registered space."""

    slug: str
    fingerprint: str
    dimensions: int
    index_name: str


@while_schema_changes
def ensure_space(graph: Graph, identity: SpaceIdentity) -> Space:
    """Register the first space with its index, or check that it is the one that was registered.

    Raises:
        ConfigurationError: the stored vectors are of another model, or the index has other settings.
    """
    graph.write(
        "spaces/register",
        slug=FIRST_SPACE,
        identity={**asdict(identity), "fingerprint": identity.fingerprint},
        property=FIRST_PROPERTY,
        index_name=FIRST_INDEX,
    )
    stored = graph.read("spaces/find", slug=FIRST_SPACE)[0]
    if stored["fingerprint"] != identity.fingerprint:
        raise ConfigurationError(
            f"the vectors in this database were made by {_named(stored)}, but KG_EMBEDDING__* now says "
            f"{_named(asdict(identity))}. Set it back, or use another database: vectors of two models "
            "cannot be compared."
        )
    graph.write("spaces/create_index", name=FIRST_INDEX, options={"indexConfig": index_config(identity)})
    _check_index(graph, identity)
    return Space(FIRST_SPACE, identity.fingerprint, identity.dimensions, FIRST_INDEX)


def find_space(graph: Graph) -> Space | None:
    """The registered space, without asking a model; None before the first start."""
    rows = graph.read("spaces/find", slug=FIRST_SPACE)
    if not rows:
        return None
    return Space(FIRST_SPACE, rows[0]["fingerprint"], rows[0]["dimensions"], rows[0]["index_name"])


def index_config(identity: SpaceIdentity) -> dict[str, Any]:
    """The settings of a space's index; all that matters is set explicitly, for the defaults lose recall."""
    return {
        "vector.dimensions": identity.dimensions,
        "vector.similarity_function": "COSINE",
        "vector.quantization.type": QUANTIZATION,
        "vector.default_search_expansion_factor": EXPANSION_FACTOR,
    }


def _check_index(graph: Graph, identity: SpaceIdentity) -> None:
    found = index_states(graph)[FIRST_INDEX].options["indexConfig"]
    wrong = {key: found.get(key) for key, value in index_config(identity).items() if found.get(key) != value}
    if wrong:
        raise ConfigurationError(
            f"the vector index {FIRST_INDEX} has other settings than kg gives it: {wrong}. "
            f"Drop it in Neo4j (DROP INDEX {FIRST_INDEX}); kg makes it anew from the stored vectors."
        )


def _named(space: dict[str, Any]) -> str:
    return (
        f"{space['provider']} {space['model']} ({space['dimensions']} dimensions, {space['revision'][:12]})"
    )
