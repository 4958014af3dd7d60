"""Registry for embedding spaces, with their indexes and the spaces to use for each ontology."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, Conflict, LeaseLost, NotFound
from kg_api.graph.client import Graph, Reader, Row, Transaction, while_schema_changes
from kg_api.graph.jobs import request_job
from kg_api.graph.schema import read_index_states
from kg_api.graph.statements import (
    FIRST_CONCEPT_INDEX,
    FIRST_IMAGE_INDEX,
    FIRST_INDEX,
    FIRST_MARK,
    FIRST_NEAR,
    FIRST_PROPERTY,
    FIRST_REFUSAL,
    FIRST_RELATION_INDEX,
    FIRST_TIME,
    of_space,
)
from kg_api.schemas.embedding import Chunking, EmbeddingConfig
from kg_api.schemas.spaces import (
    FIRST_IMAGE_SLUG,
    FIRST_SLUG,
    SECOND_SLOT,
    SimilarityCalibration,
    SpaceIdentity,
)
from kg_api.schemas.vocabulary import Modality

QUANTIZATION: Final = "NONE"
"""Store whole vectors, so that you get exact cosines from the index (ADR 8)."""
EF_CONSTRUCTION: Final = 200
"""Candidates to use as neighbours for a new vector: twice Neo4j's default, for large ontologies (ADR 8)."""


@dataclass(frozen=True, slots=True)
class Space:
    """Space that is registered. It has its own property, mark, and index, to keep vectors separate."""

    # A space has two slots. Searches use the vectors in one slot while kg builds another chunking in the
    # other slot.

    slug: str
    identity: SpaceIdentity
    probe: NDArray[np.float32] | None = None
    """Vector for the probe text when the space was created, with shape (dimensions,)."""
    dropping: bool = False  # kg is removing the space and writes nothing to it
    for_new: bool = False
    created_at: Any = None
    slot: str = ""
    calibration: SimilarityCalibration | None = None  # for two texts (None: not measured)
    labels: SimilarityCalibration | None = None  # for a query and a concept (None: too few concepts)

    @property
    def fingerprint(self) -> str:
        return self.identity.fingerprint

    @property
    def dimensions(self) -> int:
        return self.identity.dimensions

    @property
    def key(self) -> str:
        """Name of this slot of the space."""
        return self.slug + self.slot

    @property
    def index_name(self) -> str:
        return of_space(FIRST_INDEX, self.key)

    @property
    def concept_index_name(self) -> str:
        """Vector index of concepts. Both slots share it: concepts are not chunked."""
        return of_space(FIRST_CONCEPT_INDEX, self.slug)

    @property
    def relation_index_name(self) -> str:
        """Vector index of relationships. Both slots share it."""
        return of_space(FIRST_RELATION_INDEX, self.slug)

    @property
    def image_index_name(self) -> str:
        """Vector index of images. A space contains either texts or images."""
        return of_space(FIRST_IMAGE_INDEX, self.slug)

    @property
    def is_of_images(self) -> bool:
        return self.identity.modality == "image"

    @property
    def index_names(self) -> list[str]:
        if self.is_of_images:
            return [self.image_index_name]
        return [self.index_name, self.concept_index_name, self.relation_index_name]

    @property
    def vector_property(self) -> str:
        return of_space(FIRST_PROPERTY, self.key)

    @property
    def mark_property(self) -> str:
        return of_space(FIRST_MARK, self.key)

    @property
    def time_property(self) -> str:
        return of_space(FIRST_TIME, self.key)

    @property
    def refusal_property(self) -> str:
        return of_space(FIRST_REFUSAL, self.key)

    def at(self, slot: str) -> Space:
        return replace(self, slot=slot)

    @property
    def slots(self) -> list[Space]:
        """Both slots. A space of images has only one, because images are not chunked."""
        return [self.at("")] if self.is_of_images else [self.at(""), self.at(SECOND_SLOT)]


@while_schema_changes
def ensure_space(graph: Graph, identity: SpaceIdentity, slug: str = FIRST_SLUG) -> Space:
    """Register a space with its index. If it exists, check that it has this identity."""
    # kg registers a further space only after its model has answered, because a registration is permanent.
    graph.write(
        "spaces/register",
        slug=slug,
        identity={**asdict(identity), "fingerprint": identity.fingerprint},
        property=of_space(FIRST_PROPERTY, slug),
        index_name=of_space(FIRST_IMAGE_INDEX if identity.modality == "image" else FIRST_INDEX, slug),
    )
    space = find_space(graph, slug)
    if space.identity != identity:
        raise _report_other_model(space, identity)
    ensure_index(graph, space)
    return space


@while_schema_changes
def ensure_index(graph: Graph, space: Space) -> None:
    """Create the vector indexes of a space's slot, or check the existing ones."""
    states = read_index_states(graph)
    if not states.keys() >= {*space.index_names}:
        _create_indexes(graph, space)
        states = read_index_states(graph)
    for name in space.index_names:
        found = states[name].options["indexConfig"]
        # A quantised index of an earlier version has scores that differ by up to 0.003, and lower recall
        wanted = _build_required_settings(space.identity)
        wrong = {key: found.get(key) for key, value in wanted.items() if found.get(key) != value}
        if wrong:
            raise ConfigurationError(
                f"the vector index {name} has unexpected settings: {wrong}. Drop the index in Neo4j "
                f"(DROP INDEX {name}). kg then rebuilds the index from the stored vectors."
            )


def _create_indexes(graph: Graph, space: Space) -> None:
    options = {"indexConfig": build_index_config(space.identity)}
    if space.is_of_images:
        graph.write("spaces/create_image_index", space.slug, name=space.image_index_name, options=options)
    else:
        graph.write("spaces/create_index", space.key, name=space.index_name, options=options)
        graph.write("spaces/create_concept_index", space.slug, name=space.concept_index_name, options=options)
        name = space.relation_index_name
        graph.write("spaces/create_relation_index", space.slug, name=name, options=options)


def find_space(graph: Graph, slug: str = FIRST_SLUG) -> Space:
    rows = graph.read("spaces/find", slug=slug)
    if not rows:
        raise NotFound(f"embedding space {slug!r} not found. `kg admin spaces list` shows the existing ones")
    return _build_space(rows[0]["space"])


def read_spaces(reader: Reader) -> dict[str, Space]:
    spaces = [_build_space(row["space"]) for row in reader.search("spaces/all")]
    return {space.slug: space for space in spaces}


def read_text_spaces(graph: Graph) -> dict[str, Space]:
    return {slug: space for slug, space in read_spaces(graph).items() if not space.is_of_images}


def store_probe(graph: Graph, space: Space, probe: NDArray[np.float32]) -> None:
    """Store the vector for the probe text, if there is none."""
    graph.write("spaces/remember_probe", slug=space.slug, vector=Vector.from_numpy(probe))


def build_index_config(identity: SpaceIdentity) -> dict[str, Any]:
    """Build the settings for an index. All of them are set, because the defaults have lower recall."""
    return {
        **_build_required_settings(identity),
        "vector.quantization.type": QUANTIZATION,
        "vector.hnsw.ef_construction": EF_CONSTRUCTION,
    }


def _build_required_settings(identity: SpaceIdentity) -> dict[str, Any]:
    """Build the settings that are needed to get correct results."""
    return {"vector.dimensions": identity.dimensions, "vector.similarity_function": "COSINE"}


def _build_space(row: Row) -> Space:
    known = {name: row[name] for name in SpaceIdentity.__dataclass_fields__ if name in row}
    identity = SpaceIdentity(**known)  # spaces from before image support have no modality
    probe = None if row.get("probe") is None else np.asarray(row["probe"], dtype=np.float32)
    return Space(
        row["slug"],
        identity,
        probe,
        dropping=bool(row.get("dropping")),
        for_new=bool(row.get("for_new")),
        created_at=row["created_at"],
        calibration=_build_calibration(row, ""),
        labels=_build_calibration(row, "labels_"),
    )


def _build_calibration(row: Row, prefix: str) -> SimilarityCalibration | None:
    related, unrelated = row.get(f"{prefix}related"), row.get(f"{prefix}unrelated")
    return None if related is None or unrelated is None else SimilarityCalibration(related, unrelated)


def _report_other_model(space: Space, identity: SpaceIdentity) -> ConfigurationError | Conflict:
    if space.slug not in {FIRST_SLUG, FIRST_IMAGE_SLUG}:
        return Conflict(
            f"the space {space.slug!r} already exists for {format_model_name(space.identity)}, and a space "
            f"keeps its model. Choose another name for {format_model_name(identity)}"
        )
    of, option = (" of pictures", " --modality image") if space.is_of_images else ("", "")
    return ConfigurationError(
        f"the vectors{of} in this database were computed by {format_model_name(space.identity)}, but "
        f"{_format_variables(identity)} now select {format_model_name(identity)}. Vectors of two models "
        "cannot be compared. Restore the former values, or add another space with `kg admin spaces "
        f"create{option}`."
    )


def _format_variables(identity: SpaceIdentity) -> str:
    if identity.modality == "image":
        return "KG_IMAGE_EMBEDDING__*"
    provider = {"openai": " and OPENAI_EMBED_MODEL, OPENAI_EMBED_DIMS"}.get(identity.provider, "")
    return f"KG_EMBEDDING__*{provider}"


def format_model_name(identity: SpaceIdentity) -> str:
    about = f"{identity.dimensions} dimensions, {identity.revision[:12]}"
    return f"{identity.provider} {identity.model} ({about})"


# Marks: the properties of nodes and relationships that record how kg embedded them

EXTRACTION_MARK: Final = "extracted_with"  # property with the extractor that read a source
MARK_DIGITS: Final = 16
EmbeddedLabel = Literal["Source", "Concept", "Image", "RELATED_TO", "RelationType"]
"""Labels for nodes and relationships that are embedded. Each has a branch in `cypher/embedding`."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Value that the mark property should have for nodes with a label."""

    # A hash follows the value: of the concept's text or of the image file.

    label: EmbeddedLabel
    key: str
    value: str
    time_property: str
    refusal_property: str

    @property
    def refused(self) -> str:
        """Mark of a node that the model rejected."""
        return f"refused:{self.value}"

    def parameters(self) -> dict[str, str]:
        return {
            "label": self.label,
            "mark_property": self.key,
            "mark": self.value,
            "refused": self.refused,
            "time_property": self.time_property,
            "refusal_property": self.refusal_property,
        }


def compute_space_fingerprint(label: EmbeddedLabel, space: Space, value: str) -> Fingerprint:
    return Fingerprint(label, space.mark_property, value, space.time_property, space.refusal_property)


def reject(
    tx: Transaction, space: Space, mark: Fingerprint, *, identity: str, text_hash: str, reason: str
) -> bool:
    """Mark a node that has a text which the model rejects. If it has changed, this is False."""
    require_writable(tx, space)
    texts = {"id": identity, "text_hash": text_hash, "property": space.vector_property}
    return bool(tx.run("embedding/refuse", **mark.parameters(), **texts, reason=reason))


def reset_rejected(tx: Transaction, ontology: str, mark: Fingerprint) -> int:
    """Set rejected nodes to pending, and count them."""
    return tx.run("embedding/retry_refused", ontology=ontology, **mark.parameters())[0]["retried"]


def require_writable(tx: Transaction, space: Space) -> None:
    """Raise LeaseLost if the space is being removed."""
    rows = tx.run("spaces/writable", slug=space.slug)
    if not rows or rows[0]["fingerprint"] != space.fingerprint:
        raise LeaseLost(f"the space {space.slug!r} is being removed")


# Embedding configuration of ontologies


@dataclass(frozen=True, slots=True)
class Layout:
    """Way to embed the sources in an ontology: previous, current, or target."""

    # `slot` selects one of the two vector sets of a space. kg builds one while searches use the other.

    space: str
    slot: str = ""
    chunking: str = ""  # JSON with sorted keys (empty for images, which are not chunked)

    @property
    def key(self) -> str:
        return self.space + self.slot

    @property
    def mark_property(self) -> str:
        return of_space(FIRST_MARK, self.key)

    def config(self, *, embed_on_ingest: bool) -> EmbeddingConfig:
        chunking = json.loads(self.chunking or "{}")
        return EmbeddingConfig(**chunking, space=self.space, embed_on_ingest=embed_on_ingest)


@dataclass(frozen=True, slots=True)
class SpaceUse:
    """Layouts to use for texts or images in an ontology."""

    target: Layout
    serving: Layout | None = None  # layout that searches use while kg builds the target (None: the target)
    previous: Layout | None = None  # last layout before the current one, the target of a rollback
    activates: bool = True  # whether kg activates a complete target automatically

    @property
    def answering(self) -> Layout:
        return self.serving or self.target

    @property
    def kept_up(self) -> list[Layout]:
        """Layouts that kg keeps up to date, the answering one first."""
        return [self.target] if self.serving is None else [self.serving, self.target]

    def with_build(self, wanted: Layout, *, answers: bool, activates: bool) -> SpaceUse:
        """Set another target. Searches use the answering layout until the target is complete."""
        now = self.answering
        same_space = wanted.space == now.space
        beside = answers and (not same_space or wanted.chunking != now.chunking)
        slot = now.slot if same_space else ""
        if beside and same_space:
            slot = "" if now.slot else SECOND_SLOT
        target = replace(wanted, slot=slot)
        overwritten = self.previous is not None and self.previous.key == target.key
        previous = None if overwritten else self.previous
        return SpaceUse(target, now if beside else None, previous, activates or not beside)

    def with_activation(self) -> SpaceUse:
        return SpaceUse(self.target, previous=self.serving)

    def with_rollback(self) -> SpaceUse | None:
        """Go back from a build to the answering layout, or to the previous layout.

        None: this is not possible.
        """
        if self.serving is not None:
            return replace(self, target=self.serving, serving=None, activates=True)
        if self.previous is not None:
            return replace(self, target=self.previous, previous=self.target, activates=True)
        return None


FIRST_IMAGES: Final = SpaceUse(Layout(FIRST_IMAGE_SLUG))
"""Image layout to use if an ontology is not configured."""


@dataclass(frozen=True, slots=True)
class StoredConfiguration:
    texts: SpaceUse
    images: SpaceUse = FIRST_IMAGES
    embed_on_ingest: bool = True
    paused: bool = False  # a user cancelled its job, so kg embeds nothing until a user requests it
    wants_concepts: bool = field(default=False, compare=False)
    """Whether to embed concepts that are only in one source."""
    leftovers: tuple[str, ...] = field(default=(), compare=False)  # slots whose vectors kg is removing

    def get_use(self, modality: Modality) -> SpaceUse:
        return self.images if modality == "image" else self.texts

    def with_use(self, modality: Modality, use: SpaceUse) -> StoredConfiguration:
        return replace(self, images=use) if modality == "image" else replace(self, texts=use)

    @property
    def kept_up(self) -> set[str]:
        """Slots that kg keeps up to date."""
        return {layout.key for use in (self.texts, self.images) for layout in use.kept_up}


def build_layout(space: str, slot: str, chunking: Chunking) -> Layout:
    return Layout(space, slot, json.dumps(chunking.model_dump(exclude_none=True), sort_keys=True))


def read_configurations(graph: Graph, name: str | None = None) -> dict[str, StoredConfiguration]:
    return _group_by_ontology(
        graph.search("ontologies/configuration", names=None if name is None else [name])
    )


def read_configuration(tx: Transaction, name: str) -> StoredConfiguration:
    """Read the configuration for an ontology. If it does not exist, use the default."""
    return _group_by_ontology(tx.run("ontologies/configuration", names=[name])).get(
        name
    ) or _to_configuration({})


def hold_configurations(tx: Transaction, names: Sequence[str]) -> dict[str, StoredConfiguration]:
    """Lock ontologies until the transaction ends, to read their configurations."""
    tx.run("ontologies/hold", names=sorted(names))
    return _group_by_ontology(tx.run("ontologies/configuration", names=list(names)))


def write_configuration(tx: Transaction, name: str, configured: StoredConfiguration) -> None:
    tx.run(
        "ontologies/configure",
        name=name,
        space=configured.texts.target.space,
        slot=configured.texts.target.slot,
        chunking=configured.texts.target.chunking,
        serving=_to_json(configured.texts.serving),
        previous=_to_json(configured.texts.previous),
        activates=configured.texts.activates,
        embed_on_ingest=configured.embed_on_ingest,
        images=_to_stored_images(configured.images),
        usual=asdict(_build_default_layout()),
    )


def hold_spaces(tx: Transaction, slugs: Iterable[str]) -> None:
    """Lock spaces before you use them. If one no longer exists, raise Conflict."""
    wanted = sorted(set(slugs))
    there = {row["slug"] for row in tx.run("spaces/hold", slugs=wanted)}
    if gone := [slug for slug in wanted if slug not in there]:
        raise Conflict(f"the embedding space {gone[0]!r} is being deleted or no longer exists. Try again")


def find_default_spaces(spaces: Mapping[str, Space]) -> dict[Modality, str]:
    """Find the text space and the image space of unconfigured ontologies."""
    chosen: dict[Modality, str] = {"text": FIRST_SLUG, "image": FIRST_IMAGE_SLUG}
    for slug, space in spaces.items():
        if space.for_new:
            chosen[space.identity.modality] = slug
    return chosen


def build_default_configuration(spaces: Mapping[str, Space]) -> StoredConfiguration:
    """Build the configuration of an ontology that does not exist yet."""
    slugs = find_default_spaces(spaces)
    return StoredConfiguration(SpaceUse(Layout(slugs["text"])), SpaceUse(Layout(slugs["image"])))


def set_default_space(tx: Transaction, slug: str) -> None:
    """Set the space to use for new ontologies, for the same modality."""
    tx.run("spaces/use_for_new", slug=slug, first=FIRST_SLUG, first_of_images=FIRST_IMAGE_SLUG)


def get_previous_default_space(graph: Graph, slug: str) -> str | None:
    """Get the previous space of new ontologies. None if it no longer exists or kg never recorded it."""
    rows = graph.read("spaces/of_new_before", slug=slug)
    return rows[0]["slug"] if rows else None


def _group_by_ontology(rows: list[Row]) -> dict[str, StoredConfiguration]:
    return {row["ontology"]: _to_configuration(row) for row in rows}


def _to_configuration(row: Row) -> StoredConfiguration:
    usual = _build_default_layout()
    stored = (row.get(name) or getattr(usual, name) for name in ("space", "slot", "chunking"))
    slugs = (row.get("image_space") or FIRST_IMAGE_SLUG, row.get("image_serving"), row.get("image_previous"))
    target, serving, previous = (Layout(slug) if slug else None for slug in slugs)
    return StoredConfiguration(
        SpaceUse(
            Layout(*stored),
            _parse_layout(row.get("serving")),
            _parse_layout(row.get("previous")),
            row.get("activates") is not False,
        ),
        SpaceUse(
            target or Layout(FIRST_IMAGE_SLUG), serving, previous, row.get("image_activates") is not False
        ),
        embed_on_ingest=row.get("embed_on_ingest") is not False,
        paused=bool(row.get("paused")),
        wants_concepts=bool(row.get("wants_concepts")),
        leftovers=tuple(row.get("leftovers") or ()),
    )


def _build_default_layout() -> Layout:
    """Build the layout of unconfigured ontologies."""
    return build_layout(FIRST_SLUG, "", Chunking())


def _to_stored_images(images: SpaceUse) -> dict[str, str | bool | None]:
    """Use null for the default, so that ontologies that are not configured use the first image space."""
    return {
        "image_space": None if images == FIRST_IMAGES else images.target.space,
        "image_serving": images.serving.space if images.serving else None,
        "image_previous": images.previous.space if images.previous else None,
        "image_activates": None if images.activates else False,
    }


def _to_json(layout: Layout | None) -> str | None:
    return None if layout is None else json.dumps(asdict(layout), sort_keys=True)


def _parse_layout(stored: str | None) -> Layout | None:
    known: dict[str, Any] | None = None if stored is None else json.loads(stored)
    return None if known is None else Layout(**known)


# Removal of unused vectors, of a space or of one ontology in it

CLEANUP = "space_cleanup"
PORTION = 2000
Vectored = Literal["chunks", "Source", "Concept", "near", "RELATED_TO", "RelationType"]
"""Kinds of items to remove in this order: chunks, links between concepts, and vectors by label."""
OF_A_NODE = (FIRST_PROPERTY, FIRST_MARK, FIRST_TIME, FIRST_REFUSAL, FIRST_NEAR)


@dataclass(frozen=True, slots=True)
class UnusedVectors:
    keys: tuple[str, ...]
    ontology: str | None  # only this ontology (None: all, and the space itself)
    slug: str | None = None
    since: str | None = None  # database time as text, because a returned time would have another time zone
    seconds: int = 0  # time since the removal began

    @property
    def name(self) -> str:
        return f"{self.ontology or ''}/{','.join(self.keys)}"


def forget_vectors(tx: Transaction, ontology: str, keys: Sequence[str]) -> None:
    tx.run("ontologies/forget", name=ontology, keys=list(keys))


def request_cleanup(tx: Transaction) -> str:
    return request_job(tx, CLEANUP, "", added=0)


def list_unused_vectors(graph: Graph) -> list[UnusedVectors]:
    spaces = [
        UnusedVectors(
            (row["slug"], row["slug"] + SECOND_SLOT), None, row["slug"], row["since"], row["seconds"]
        )
        for row in graph.read("spaces/to_drop")
    ]
    rows = graph.read("ontologies/leftovers")
    return [*spaces, *(UnusedVectors(tuple(row["keys"]), row["ontology"]) for row in rows)]


def remove_vector_batch(tx: Transaction, leftover: UnusedVectors, of: Vectored, after: str) -> str | None:
    """Remove vectors from a batch of nodes, or delete a batch of chunks. You get the last id, or None."""
    parameters = {"after": after, "ontology": leftover.ontology, "limit": PORTION}
    if of == "chunks":
        return tx.run("chunks/forget", keys=list(leftover.keys), **parameters)[0]["last"]
    keys = leftover.keys if of == "Source" else _list_unused_spaces(leftover)
    if not keys:
        return None
    if of == "near":
        return tx.run("concepts/forget_near", spaces=list(keys), **parameters)[0]["last"]
    properties = [of_space(name, key) for key in keys for name in OF_A_NODE]
    return tx.run("embedding/forget_vectors", label=of, properties=properties, **parameters)[0]["last"]


def drop_indexes(graph: Graph, leftover: UnusedVectors) -> None:
    names = [of_space(FIRST_INDEX, key) for key in leftover.keys]
    once = (FIRST_CONCEPT_INDEX, FIRST_IMAGE_INDEX, FIRST_RELATION_INDEX)
    names += [of_space(index, key) for key in _list_unused_spaces(leftover) for index in once]
    for name in names:
        graph.write("spaces/drop_index", name=name)


def delete_leftover(tx: Transaction, leftover: UnusedVectors) -> None:
    if leftover.slug is not None:
        tx.run("spaces/delete", slug=leftover.slug, since=leftover.since)
    else:
        tx.run("ontologies/forgotten", name=leftover.ontology, keys=list(leftover.keys))


def is_still_wanted(tx: Transaction, leftover: UnusedVectors) -> bool:
    """Check if the data still has to be removed, and was not replaced by newer data."""
    if leftover.slug is not None:
        return bool(tx.run("spaces/require_dropping", slug=leftover.slug, since=leftover.since))
    keys = {
        key
        for row in tx.run("ontologies/leftovers")
        if row["ontology"] == leftover.ontology
        for key in row["keys"]
    }
    return keys.issuperset(leftover.keys)


def _list_unused_spaces(leftover: UnusedVectors) -> list[str]:
    """List the spaces that are not used in any slot. Their vectors for concepts and images can be removed."""
    return [key for key in leftover.keys if key + SECOND_SLOT in leftover.keys]


# Similarity calibration of spaces


def store_calibration(graph: Graph, space: Space, calibration: SimilarityCalibration) -> None:
    """Store the similarity calibration for texts."""
    graph.write("spaces/remember_contrast", slug=space.slug, **asdict(calibration))


def store_label_calibration(graph: Graph, space: Space, calibration: SimilarityCalibration) -> None:
    """Store the latest similarity calibration to use between queries and concepts."""
    graph.write("spaces/remember_labels", slug=space.slug, **asdict(calibration))


def read_sample_concepts(
    graph: Graph, space: Space, limit: int, *, walked: int, hours: int
) -> tuple[list[str], NDArray[np.float32]]:
    """Read labels and vectors for sample concepts. If they were measured a few hours ago, there are none."""
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
