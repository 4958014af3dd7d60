"""The registry of embedding spaces, and the vector index of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, Conflict, NotFound
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.indexes import index_states
from kg_api.graph.retrying import while_schema_changes
from kg_api.graph.statements import (
    FIRST_CONCEPT_INDEX,
    FIRST_IMAGE_INDEX,
    FIRST_INDEX,
    FIRST_MARK,
    FIRST_PROPERTY,
    FIRST_REFUSAL,
    FIRST_RELATION_INDEX,
    FIRST_TIME,
    of_space,
)
from kg_api.models.embedding.spaces import (
    FIRST_IMAGE_SLUG,
    FIRST_SLUG,
    SECOND_SLOT,
    SimilarityCalibration,
    SpaceIdentity,
)

QUANTIZATION: Final = "SCALAR"
EXPANSION_FACTOR: Final = 3.0
EF_CONSTRUCTION: Final = 200
"""Candidates for the neighbours of a new vector; twice Neo4j's own, for large ontologies (ADR 47)."""


@dataclass(frozen=True, slots=True)
class Space:
    """A registered space. Its own property, mark and index keep its vectors apart from all others.

    It has two slots for them: while the vectors in one answer, those of another chunking are built beside.
    """

    slug: str
    identity: SpaceIdentity
    probe: NDArray[np.float32] | None = None
    """What the model answered to the probe text when the space was made; shape (dimensions,)."""
    dropping: bool = False
    """It is being removed; nothing is written to it any more."""
    for_new: bool = False
    """Whether ontologies use it that nobody has configured."""
    created_at: Any = None
    slot: str = ""
    calibration: SimilarityCalibration | None = None
    """What its model's cosines mean; none: not measured yet."""
    labels: SimilarityCalibration | None = None
    """What they mean between a question and a concept; none: too few concepts to tell."""

    @property
    def fingerprint(self) -> str:
        return self.identity.fingerprint

    @property
    def dimensions(self) -> int:
        return self.identity.dimensions

    @property
    def key(self) -> str:
        """Names this slot of this space."""
        return self.slug + self.slot

    @property
    def index_name(self) -> str:
        return of_space(FIRST_INDEX, self.key)

    @property
    def concept_index_name(self) -> str:
        """The vector index of its concepts; chunking does not concern them, so both slots have the same."""
        return of_space(FIRST_CONCEPT_INDEX, self.slug)

    @property
    def relation_index_name(self) -> str:
        """The vector index of its relationships; as of concepts, both slots have the same."""
        return of_space(FIRST_RELATION_INDEX, self.slug)

    @property
    def image_index_name(self) -> str:
        """The vector index of its pictures; a space is of texts or of pictures."""
        return of_space(FIRST_IMAGE_INDEX, self.slug)

    @property
    def is_of_images(self) -> bool:
        """Whether its vectors are of pictures."""
        return self.identity.modality == "image"

    @property
    def index_names(self) -> list[str]:
        """Its vector indexes, of this slot."""
        if self.is_of_images:
            return [self.image_index_name]
        return [self.index_name, self.concept_index_name, self.relation_index_name]

    @property
    def vector_property(self) -> str:
        """The property that holds its vectors, on sources and chunks."""
        return of_space(FIRST_PROPERTY, self.key)

    @property
    def mark_property(self) -> str:
        """The property of a source that says how it was embedded in this space."""
        return of_space(FIRST_MARK, self.key)

    @property
    def time_property(self) -> str:
        """The property of a source that says when it was."""
        return of_space(FIRST_TIME, self.key)

    @property
    def refusal_property(self) -> str:
        """The property of a source that says why it could not be."""
        return of_space(FIRST_REFUSAL, self.key)

    def at(self, slot: str) -> Space:
        """The same space with its vectors in that slot."""
        return replace(self, slot=slot)

    @property
    def slots(self) -> list[Space]:
        """Both slots; a space of pictures has one, for pictures are not chunked."""
        return [self.at("")] if self.is_of_images else [self.at(""), self.at(SECOND_SLOT)]


@while_schema_changes
def ensure_space(graph: Graph, identity: SpaceIdentity, slug: str = FIRST_SLUG) -> Space:
    """Register a space with its index, or check that it is the one that was registered.

    A further space is registered when its model has answered: what is registered stays.

    Raises:
        ConfigurationError: the stored vectors of the first space are of another model than the settings
            name, or the index has other settings.
        Conflict: a further space of that name has another model.
    """
    graph.write(
        "spaces/register",
        slug=slug,
        identity={**asdict(identity), "fingerprint": identity.fingerprint},
        property=of_space(FIRST_PROPERTY, slug),
        index_name=of_space(FIRST_IMAGE_INDEX if identity.modality == "image" else FIRST_INDEX, slug),
    )
    space = find_space(graph, slug)
    if space.identity != identity:
        raise _other_model(space, identity)
    ensure_index(graph, space)
    return space


@while_schema_changes
def ensure_index(graph: Graph, space: Space) -> None:
    """Make the vector indexes of a space's slot, or check those that are there.

    Raises:
        ConfigurationError: an index has other settings.
    """
    options = {"indexConfig": index_config(space.identity)}
    if space.is_of_images:
        graph.write("spaces/create_image_index", space.slug, name=space.image_index_name, options=options)
    else:
        graph.write("spaces/create_index", space.key, name=space.index_name, options=options)
        graph.write("spaces/create_concept_index", space.slug, name=space.concept_index_name, options=options)
        name = space.relation_index_name
        graph.write("spaces/create_relation_index", space.slug, name=name, options=options)
    for name in space.index_names:
        _check_index(graph, space, name)


def find_space(graph: Graph, slug: str = FIRST_SLUG) -> Space:
    """A registered space, without asking its model.

    Raises:
        NotFound: there is none of that name.
    """
    rows = graph.read("spaces/find", slug=slug)
    if not rows:
        raise NotFound(
            f"there is no embedding space {slug!r}; `kg admin spaces list` shows the existing ones"
        )
    return _space(rows[0]["space"])


def all_spaces(graph: Graph) -> dict[str, Space]:
    """All registered spaces by name, the oldest first."""
    return _by_name(graph.read("spaces/all"))


def spaces_within(tx: Transaction) -> dict[str, Space]:
    """As `all_spaces`, within a transaction: those too that were made since it began."""
    return _by_name(tx.run("spaces/all"))


def text_spaces(graph: Graph) -> dict[str, Space]:
    """Those of texts by name, the oldest first."""
    return {slug: space for slug, space in all_spaces(graph).items() if not space.is_of_images}


def remember_probe(graph: Graph, space: Space, probe: NDArray[np.float32]) -> None:
    """Keep what the model answers to the probe text, unless that is known already."""
    graph.write("spaces/remember_probe", slug=space.slug, vector=Vector.from_numpy(probe))


def index_config(identity: SpaceIdentity) -> dict[str, Any]:
    """The settings of a space's index; all that matters is set explicitly, for the defaults lose recall."""
    return {**_required(identity), "vector.hnsw.ef_construction": EF_CONSTRUCTION}


def _required(identity: SpaceIdentity) -> dict[str, Any]:
    """Those without which searches would be wrong."""
    return {
        "vector.dimensions": identity.dimensions,
        "vector.similarity_function": "COSINE",
        "vector.quantization.type": QUANTIZATION,
        "vector.default_search_expansion_factor": EXPANSION_FACTOR,
    }


def _by_name(rows: Iterable[Row]) -> dict[str, Space]:
    spaces = [_space(row["space"]) for row in rows]
    return {space.slug: space for space in spaces}


def _space(row: Row) -> Space:
    known = {name: row[name] for name in SpaceIdentity.__dataclass_fields__ if name in row}
    identity = SpaceIdentity(**known)  # one that was made before there were pictures has no modality
    probe = None if row.get("probe") is None else np.asarray(row["probe"], dtype=np.float32)
    return Space(
        row["slug"],
        identity,
        probe,
        dropping=bool(row.get("dropping")),
        for_new=bool(row.get("for_new")),
        created_at=row["created_at"],
        calibration=_calibration(row, ""),
        labels=_calibration(row, "labels_"),
    )


def _calibration(row: Row, prefix: str) -> SimilarityCalibration | None:
    related, unrelated = row.get(f"{prefix}related"), row.get(f"{prefix}unrelated")
    return None if related is None or unrelated is None else SimilarityCalibration(related, unrelated)


def _check_index(graph: Graph, space: Space, name: str) -> None:
    found = index_states(graph)[name].options["indexConfig"]
    wanted = _required(space.identity)  # one with the graph of an earlier version finds a little less
    wrong = {key: found.get(key) for key, value in wanted.items() if found.get(key) != value}
    if wrong:
        raise ConfigurationError(
            f"the vector index {name} has other settings than kg gives it: {wrong}. "
            f"Drop it in Neo4j (DROP INDEX {name}); kg makes it anew from the stored vectors."
        )


def _other_model(space: Space, identity: SpaceIdentity) -> ConfigurationError | Conflict:
    if space.slug not in {FIRST_SLUG, FIRST_IMAGE_SLUG}:
        return Conflict(
            f"the space {space.slug!r} exists already, for {display_name(space.identity)}; a space keeps its "
            f"model: choose another name for {display_name(identity)}"
        )
    of, option = (" of pictures", " --modality image") if space.is_of_images else ("", "")
    return ConfigurationError(
        f"the vectors{of} in this database were made by {display_name(space.identity)}, "
        f"but {_variables(identity)} now say {display_name(identity)}. Set them back; "
        "for another model beside it, make a further space with "
        f"`kg admin spaces create{option}`: vectors of two models cannot be compared."
    )


def _variables(identity: SpaceIdentity) -> str:
    if identity.modality == "image":
        return "KG_IMAGE_EMBEDDING__*"
    provider = {"openai": " and OPENAI_EMBED_MODEL, OPENAI_EMBED_DIMS"}.get(identity.provider, "")
    return f"KG_EMBEDDING__*{provider}"


def display_name(identity: SpaceIdentity) -> str:
    """A model as a person reads it."""
    about = f"{identity.dimensions} dimensions, {identity.revision[:12]}"
    return f"{identity.provider} {identity.model} ({about})"
