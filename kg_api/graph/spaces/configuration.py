"""How each ontology is embedded, as it is stored on the ontology."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kg_api.errors import Conflict
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.statements import FIRST_MARK, of_space
from kg_api.models.embedding.chunking import Chunking
from kg_api.models.embedding.configuration import EmbeddingConfig
from kg_api.models.embedding.spaces import FIRST_IMAGE_SLUG, FIRST_SLUG
from kg_api.models.vocabulary import Modality


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which the sources of an ontology are, were or shall be embedded.

    `slot` says which of a space's two sets of vectors: while one answers, the other can be built.
    """

    space: str
    slot: str
    chunking: str
    """In JSON, keys sorted."""

    @property
    def key(self) -> str:
        """Names the slot of the space."""
        return self.space + self.slot

    @property
    def mark_property(self) -> str:
        """The property of a source that says whether it is embedded this way."""
        return of_space(FIRST_MARK, self.key)

    def config(self, *, embed_on_ingest: bool) -> EmbeddingConfig:
        chunking = json.loads(self.chunking)
        return EmbeddingConfig(**chunking, space=self.space, embed_on_ingest=embed_on_ingest)


@dataclass(frozen=True, slots=True)
class ImageSpaces:
    """The spaces that the pictures of an ontology are, were or shall be embedded in."""

    target: str = FIRST_IMAGE_SLUG
    serving: str | None = None
    """What answers searches while the target is being built; None: the target itself."""
    previous: str | None = None
    """What answered before; one can go back to it."""
    activates: bool = True
    """Whether a target that is complete answers by itself."""

    @property
    def answering(self) -> str:
        return self.serving or self.target

    @property
    def kept_up(self) -> list[str]:
        """Those that are kept up, the one that answers first."""
        return [self.target] if self.serving is None else [self.serving, self.target]


@dataclass(frozen=True, slots=True)
class StoredConfiguration:
    """Everything that is stored of how an ontology is embedded."""

    target: Layout
    """How it shall be."""
    serving: Layout | None = None
    """What answers searches while the target is being built; None: the target itself."""
    previous: Layout | None = None
    """What answered before; one can go back to it."""
    activates: bool = True
    """Whether a target that is complete answers by itself."""
    embed_on_ingest: bool = True
    images: ImageSpaces = ImageSpaces()
    paused: bool = False
    """Its job was cancelled; nothing is embedded until somebody asks for it."""
    wants_concepts: bool = field(default=False, compare=False)
    """Somebody has asked for its concepts by meaning, so those of a single source are embedded too."""
    leftovers: tuple[str, ...] = field(default=(), compare=False)
    """Slots whose vectors are being removed."""

    @property
    def answering(self) -> Layout:
        return self.serving or self.target

    @property
    def layouts(self) -> list[Layout]:
        """Those that are kept up, the one that answers first."""
        return [self.target] if self.serving is None else [self.serving, self.target]

    @property
    def kept_up(self) -> set[str]:
        """The slots of spaces whose vectors are kept up, be they of texts or of pictures."""
        return {layout.key for layout in self.layouts} | {*self.images.kept_up}


def layout_of(space: str, slot: str, chunking: Chunking) -> Layout:
    """A layout with its chunking as it is stored."""
    return Layout(space, slot, json.dumps(chunking.model_dump(exclude_none=True), sort_keys=True))


def read_configurations(graph: Graph, name: str | None = None) -> dict[str, StoredConfiguration]:
    """By ontology, in the order of their names; that of one name only, if given."""
    return _by_name(graph.read("ontologies/configuration", names=None if name is None else [name]))


def count_ontologies(graph: Graph) -> int:
    """How many there are, of whomever."""
    return graph.read("ontologies/count")[0]["ontologies"]


def read_configuration(tx: Transaction, name: str) -> StoredConfiguration:
    """Of one ontology, within a transaction; the default when there is no such ontology."""
    return _by_name(tx.run("ontologies/configuration", names=[name])).get(name) or _to_configuration({})


def hold_configurations(tx: Transaction, names: Sequence[str]) -> dict[str, StoredConfiguration]:
    """Lock some ontologies until the end of the transaction, and read them as they are then."""
    tx.run("ontologies/hold", names=sorted(names))
    return _by_name(tx.run("ontologies/configuration", names=list(names)))


def write_configuration(tx: Transaction, name: str, configured: StoredConfiguration) -> None:
    """Set how an ontology is embedded; it is made when it is not there."""
    tx.run(
        "ontologies/configure",
        name=name,
        space=configured.target.space,
        slot=configured.target.slot,
        chunking=configured.target.chunking,
        serving=_json(configured.serving),
        previous=_json(configured.previous),
        activates=configured.activates,
        embed_on_ingest=configured.embed_on_ingest,
        images=_stored_images(configured.images),
        usual=asdict(_usual()),
    )


def hold_spaces(tx: Transaction, slugs: Iterable[str]) -> None:
    """Lock spaces that are about to be used.

    Raises:
        Conflict: one is being removed.
    """
    wanted = sorted(set(slugs))
    there = {row["slug"] for row in tx.run("spaces/hold", slugs=wanted)}
    if gone := [slug for slug in wanted if slug not in there]:
        raise Conflict(f"the embedding space {gone[0]!r} is being removed, or is gone: try again")


def spaces_of_new(graph: Graph) -> dict[Modality, str]:
    """The spaces of ontologies that are not configured yet, for their texts and for their pictures."""
    row = graph.read("spaces/of_new")[0]
    return {"text": row["text"], "image": row["image"]}


def space_of_new(graph: Graph, modality: Modality = "text") -> str:
    return spaces_of_new(graph)[modality]


def set_space_of_new(tx: Transaction, slug: str) -> None:
    """Let new ontologies use a space, for what it is of."""
    tx.run("spaces/use_for_new", slug=slug, first=FIRST_SLUG, first_of_images=FIRST_IMAGE_SLUG)


def space_of_new_before(graph: Graph, slug: str) -> str | None:
    """The space that new ontologies used before this one; None: it has gone, or was never noted."""
    rows = graph.read("spaces/of_new_before", slug=slug)
    return rows[0]["slug"] if rows else None


def _by_name(rows: list[Row]) -> dict[str, StoredConfiguration]:
    return {row["ontology"]: _to_configuration(row) for row in rows}


def _to_configuration(row: Row) -> StoredConfiguration:
    usual = _usual()
    stored = (row.get(name) or getattr(usual, name) for name in ("space", "slot", "chunking"))
    return StoredConfiguration(
        target=Layout(*stored),
        serving=_layout(row.get("serving")),
        previous=_layout(row.get("previous")),
        activates=row.get("activates") is not False,
        embed_on_ingest=row.get("embed_on_ingest") is not False,
        images=_image_spaces(row),
        paused=bool(row.get("paused")),
        wants_concepts=bool(row.get("wants_concepts")),
        leftovers=tuple(row.get("leftovers") or ()),
    )


def _usual() -> Layout:
    """That of ontologies that nobody has configured."""
    return layout_of(FIRST_SLUG, "", Chunking())


def _image_spaces(row: Row) -> ImageSpaces:
    return ImageSpaces(
        row.get("image_space") or FIRST_IMAGE_SLUG,
        row.get("image_serving"),
        row.get("image_previous"),
        row.get("image_activates") is not False,
    )


def _stored_images(images: ImageSpaces) -> dict[str, str | bool | None]:
    """Nothing where nobody has chosen: those ontologies have the first space of pictures."""
    return {
        "image_space": None if images == ImageSpaces() else images.target,
        "image_serving": images.serving,
        "image_previous": images.previous,
        "image_activates": None if images.activates else False,
    }


def _json(layout: Layout | None) -> str | None:
    return None if layout is None else json.dumps(asdict(layout), sort_keys=True)


def _layout(stored: str | None) -> Layout | None:
    known: dict[str, Any] | None = None if stored is None else json.loads(stored)
    return None if known is None else Layout(**known)
