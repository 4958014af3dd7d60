"""Stored files (blobs), holds to protect them, and the images and pages in documents.

A blob is loose from its first hold until a check finds a user, and again after a user of it is deleted. Only
loose blobs need a check. Every use, hold, release, and collection first writes to the blob's node, so these
operations run one after the other.

kg deletes the node of an unused blob before the file. A `:DeadBlob` node names the file and is deleted after
it. So each file is eventually deleted despite crashes, and never while it may be in use.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from kg_api.errors import FilesCollected, NotFound
from kg_api.graph.client import Graph, Row, Transaction, drop_deleted_rows, split_into_portions
from kg_api.graph.documents import DocumentDifference
from kg_api.graph.names import identify_source, require_ontologies
from kg_api.graph.reach import is_visible, resolve_ontology
from kg_api.graph.spaces import OF_A_NODE, read_spaces
from kg_api.graph.statements import of_space
from kg_api.schemas.documents import WordBox, unpack
from kg_api.schemas.images import ImageType
from kg_api.schemas.search import ImagePage, Place

HOLD_SECONDS = 3600  # much longer than storing a document, so an older hold belongs to a dead process
LOOKED_AT_ONCE = 500


class HeldBlob(NamedTuple):
    key: str
    name: str  # of the file: the key, and a generation that no other blob of this key ever had
    used: bool  # whether the blob is already in use, so its file should exist


class Hold(NamedTuple):
    hold_id: str
    blobs: list[HeldBlob]


def hold_blobs(graph: Graph, keys: Sequence[str], seconds: float = HOLD_SECONDS) -> Hold:
    """Hold blobs before you write their files. When you store their document, this releases the hold."""
    hold_id = uuid.uuid4().hex
    rows = graph.write("blobs/hold", hold_id=hold_id, keys=sorted(set(keys)), seconds=seconds)
    return Hold(hold_id, [HeldBlob(**row) for row in rows])


def release_holds(tx: Transaction, hold_ids: Sequence[str]) -> None:
    if hold_ids:
        tx.run("blobs/release", hold_ids=list(hold_ids))


def delete_expired_holds(graph: Graph) -> None:
    """Delete holds that have expired, because their process is dead."""
    while graph.write("blobs/forget_holds")[0]["forgotten"]:
        pass


def find_blob_name(graph: Graph, key: str) -> str | None:
    return next((row["name"] for row in graph.read("blobs/find", key=key)), None)


def sample_blob_names(graph: Graph, limit: int) -> list[str]:
    return [row["name"] for row in graph.read("blobs/some", limit=limit)]


def get_known_store(graph: Graph) -> str | None:
    """Get the id of the store that has the files. Before it is used, this is None."""
    return next((row["store_id"] for row in graph.read("blobs/store")), None)


def remember_store(graph: Graph, identity: str) -> str:
    """Register the store of the files. Return the store that was registered first."""
    return graph.write("blobs/know_store", store_id=identity)[0]["store_id"]


def mark_blob_lost(graph: Graph, key: str) -> None:
    """Record that the file for a blob is missing or damaged."""
    graph.write("blobs/lose", key=key)


def mark_blobs_restored(graph: Graph, keys: Sequence[str]) -> int:
    """Record that files can be used again. Count the images that are pending because of this."""
    spaces = [at for each in read_spaces(graph).values() if each.is_of_images for at in each.slots]
    marks = [{"mark_property": s.mark_property, "refusal_property": s.refusal_property} for s in spaces]
    return graph.write("blobs/mend", keys=sorted(keys), spaces=marks)[0]["due"]


def list_unused_blobs(graph: Graph, after: str = "", limit: int = LOOKED_AT_ONCE) -> list[str]:
    """List the keys of the next blobs that may be unused, sorted."""
    return [row["key"] for row in graph.read("blobs/loose", after=after, limit=limit)]


def mark_unused_blobs_dead(graph: Graph, keys: Sequence[str]) -> None:
    """Set blobs to dead if they have no user and no hold, so that their files can be deleted."""

    def look(tx: Transaction) -> None:
        rows = tx.run("blobs/look_at", keys=sorted(keys))
        tx.run("blobs/settle", keys=[row["key"] for row in rows if row["used"]])
        tx.run("blobs/bury", keys=[row["key"] for row in rows if not (row["used"] or row["wanted"])])

    graph.transaction(look)


def list_dead_blobs(graph: Graph, limit: int = LOOKED_AT_ONCE) -> list[str]:
    """List the names of dead blobs, to delete their files."""
    return [row["name"] for row in graph.read("blobs/dead", limit=limit)]


def delete_dead_records(graph: Graph, names: Sequence[str]) -> int:
    """Delete the records of dead blobs after their files."""
    return graph.write("blobs/delete_dead", names=list(names))[0]["deleted"]


# Original files of documents, and the contents of pages


@dataclass(frozen=True, slots=True)
class Original:
    document_id: str
    document: str
    key: str


@dataclass(frozen=True, slots=True)
class SourceOnPage:
    source_id: str
    full_text: str
    start: int
    word_boxes: bytes | None

    def words(self, page: int) -> list[WordBox]:
        """Get the positions of words on a page that were read using OCR."""
        found = unpack(self.word_boxes, self.start) if self.word_boxes else []
        return [each for each in found if each.page == page]


def find_original(graph: Graph, document_id: str) -> Original:
    rows = graph.read("originals/find", document_id=document_id)
    if not rows:
        raise NotFound("the document was deleted at this moment")
    row = rows[0]
    if row["format"] != "pdf":
        raise NotFound(f"{row['document']!r} is {row['format']}, not PDF. Only PDFs have page images")
    if row["key"] is None:
        raise NotFound(
            f"kg did not store the file of {row['document']!r}. For page images, ingest the document "
            "again (KG_BLOBS__KEEP_PDFS must not be false)"
        )
    return Original(document_id, row["document"], row["key"])


def list_sources_on_page(graph: Graph, document_id: str, page: int) -> list[SourceOnPage]:
    rows = graph.read("originals/sources_of_page", document_id=document_id, page=page)
    return [SourceOnPage(**row) for row in rows]


# Images and their files


@dataclass(frozen=True, slots=True)
class ImageKeys:
    storage_key: str
    thumbnail_key: str
    content_type: ImageType
    document: str


def find_image(graph: Graph, identifier: str) -> ImageKeys:
    """Find the files of an image by its source id, a prefix of the id, or its name."""
    identity = identify_source(graph, identifier) or identifier
    rows = graph.read("images/find", source_id=identity)
    if not rows or not is_visible(rows[0].pop("ontology")):
        raise NotFound(f"{identifier!r} is not an image. `kg images list` shows the existing ones")
    return ImageKeys(**rows[0])


def list_images(graph: Graph, *, ontology: str | None, offset: int, limit: int) -> ImagePage:
    rows = graph.read("images/page", ontologies=resolve_ontology(ontology), offset=offset, limit=limit)
    total = graph.read("images/count", ontologies=resolve_ontology(ontology))[0]["images"]
    images = [Place.model_validate(row) for row in drop_deleted_rows(rows, Place)]
    if not total:
        require_ontologies(graph, ontology)
    return ImagePage(images=images, total=total, offset=offset, limit=limit)


def list_ontologies_with_images(graph: Graph, ontologies: Sequence[str]) -> list[str]:
    return [row["name"] for row in graph.read("images/having", ontologies=list(ontologies))]


# Writing images and original files

IMAGES_A_STATEMENT = 500


def write_images(tx: Transaction, differences: Sequence[DocumentDifference]) -> Counter[str]:
    """Set the images for new and existing sources."""
    rows = [
        {"source_id": source.source_id, "image": asdict(source.image), "hold": each.record.hold}
        for each in differences
        for source in each.record.sources
        if source.image
    ]
    there = [each.record.document_id for each in differences if each.before["content_hash"] is not None]
    others, changed = list[str](), Counter[str]()
    if there:
        parameters = {"document_ids": there, "source_ids": [row["source_id"] for row in rows]}
        others += tx.run("images/forget", **parameters)[0]["forgotten"]
    for part in split_into_portions(rows, IMAGES_A_STATEMENT):
        row = tx.run("images/write", rows=part)[0]
        changed.update(row["changed"])
        others += row["replaced"]
        if row["written"] < len(part):
            raise FilesCollected
    if others:  # the vectors of images that have a new file
        keys = [slug for slug, space in read_spaces(tx).items() if space.is_of_images]
        properties = [of_space(name, key) for key in keys for name in OF_A_NODE]
        for part in split_into_portions(others, IMAGES_A_STATEMENT):
            tx.run("images/forget_vectors", source_ids=list(part), properties=properties)
    return changed


def write_originals(tx: Transaction, differences: Sequence[DocumentDifference]) -> None:
    there = [_build_original(each) for each in differences if each.before["content_hash"] is not None]
    if there:
        tx.run("originals/forget", rows=there)
    rows = sorted(
        (_build_original(each) for each in differences if each.record.original), key=lambda row: row["key"]
    )
    if rows and tx.run("originals/write", rows=rows)[0]["written"] < len(rows):
        raise FilesCollected


def _build_original(difference: DocumentDifference) -> Row:
    record = difference.record
    return {"document_id": record.document_id, "key": record.original, "hold": record.hold}
