"""Reading pictures: which there are, and where their files are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.errors import NotFound
from kg_api.graph.database import Graph
from kg_api.graph.naming.nodes import identify_source
from kg_api.graph.naming.ontologies import require_ontologies
from kg_api.graph.naming.reach import reaches, within
from kg_api.models.images import ImageType
from kg_api.models.queries.places import ImagePage, Place


@dataclass(frozen=True, slots=True)
class ImageKeys:
    """Where the files of a picture are."""

    storage_key: str
    thumbnail_key: str
    content_type: ImageType
    document: str


def find_image(graph: Graph, called: str) -> ImageKeys:
    """The files of a picture, by its source's id or a beginning of it.

    Raises:
        NotFound: there is no such source, or it is a passage of text.
        Conflict: several sources begin like that.
    """
    identity = identify_source(graph, called) or called
    rows = graph.read("images/find", source_id=identity)
    if not rows or not reaches(rows[0].pop("ontology")):
        raise NotFound(f"{called!r} is not a picture: `kg images list` shows those there are")
    return ImageKeys(**rows[0])


def list_images(graph: Graph, *, ontology: str | None, offset: int, limit: int) -> ImagePage:
    """Return one page of images.

    Raises:
        NotFound: the ontology does not exist.
    """
    rows = graph.read("images/page", ontologies=within(ontology), offset=offset, limit=limit)
    total = graph.read("images/count", ontologies=within(ontology))[0]["images"]
    images = [Place.model_validate(row) for row in rows]
    if not total:
        require_ontologies(graph, ontology)
    return ImagePage(images=images, total=total, offset=offset, limit=limit)


def having_images(graph: Graph, ontologies: Sequence[str]) -> list[str]:
    """Those of some ontologies that have a picture."""
    return [row["name"] for row in graph.read("images/having", ontologies=list(ontologies))]
