"""Stored files, the holds that keep them, and the images of pages.

A blob is loose from its first hold on until it is seen to be used, and again when a user of it goes: what is
not loose needs no looking at. Whoever uses, holds or frees a blob writes to its node, and so does who
collects it, before anything is looked at: they take turns, and none sees half of what another does.

A blob that nothing uses goes before its file does. What is left of it, a `:DeadBlob`, names the file, and
goes after it: so a file is deleted in the end, whoever dies meanwhile, and never while somebody may use it.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from kg_api.errors import FilesCollected, NotFound
from kg_api.graph.client import Graph, Row, Transaction, portions, without_deleted
from kg_api.graph.documents import DocumentDifference
from kg_api.graph.names import identify_source, require_ontologies
from kg_api.graph.reach import reaches, within
from kg_api.graph.spaces import OF_A_NODE, all_spaces, spaces_within
from kg_api.graph.statements import of_space
from kg_api.schemas.documents import WordBox, unpack
from kg_api.schemas.images import ImageType
from kg_api.schemas.search import ImagePage, Place

HOLD_SECONDS = 3600  # a document is stored long before; a hold that nobody released is of a process that died
LOOKED_AT_ONCE = 500


class Blob(NamedTuple):
    key: str
    generation: str | None
    """Which of all that ever were of this key; None: it is of before there were generations."""


class HeldBlob(NamedTuple):
    blob: Blob
    used: bool  # whether something uses it already: then its file should be there


class SampledBlob(NamedTuple):
    blob: Blob
    dead: bool


class Hold(NamedTuple):
    hold_id: str
    blobs: list[HeldBlob]


def hold_blobs(graph: Graph, keys: Sequence[str], seconds: float = HOLD_SECONDS) -> Hold:
    """Keep blobs that are about to be written; storing their document releases the hold."""
    hold_id = uuid.uuid4().hex
    rows = graph.write("blobs/hold", hold_id=hold_id, keys=sorted(set(keys)), seconds=seconds)
    return Hold(hold_id, [HeldBlob(_blob(row), row["used"]) for row in rows])


def release_holds(tx: Transaction, hold_ids: Sequence[str]) -> None:
    """Release holds within the transaction that uses the blobs."""
    if hold_ids:
        tx.run("blobs/release", hold_ids=list(hold_ids))


def forget_holds(graph: Graph) -> None:
    """Forget what processes that died hold."""
    while graph.write("blobs/forget_holds")[0]["forgotten"]:
        pass


def find_blob(graph: Graph, key: str) -> Blob | None:
    return next(iter(_blobs(graph.read("blobs/find", key=key))), None)


def some_blobs(graph: Graph, limit: int) -> list[SampledBlob]:
    rows = graph.read("blobs/some", limit=limit)
    return [SampledBlob(_blob(row), row["dead"]) for row in rows]


def known_store(graph: Graph) -> str | None:
    """Return the store that has their files; None before the first use."""
    return next((row["store_id"] for row in graph.read("blobs/store")), None)


def remember_store(graph: Graph, identity: str) -> str:
    """Let a store have their files, unless there is one; return the one there is."""
    return graph.write("blobs/know_store", store_id=identity)[0]["store_id"]


def lose_blob(graph: Graph, key: str) -> None:
    """Say that the file of a blob is missing or damaged."""
    graph.write("blobs/lose", key=key)


def lost_blobs(graph: Graph, keys: Sequence[str]) -> set[str]:
    return {row["key"] for row in graph.read("blobs/lost", keys=sorted(keys))}


def mend_blobs(graph: Graph, keys: Sequence[str]) -> int:
    """Say that files are whole again; pictures that were set aside are due now, how many."""
    spaces = [at for each in all_spaces(graph).values() if each.is_of_images for at in each.slots]
    marks = [{"mark_property": s.mark_property, "refusal_property": s.refusal_property} for s in spaces]
    return graph.write("blobs/mend", keys=sorted(keys), spaces=marks)[0]["due"]


def loose_blobs(graph: Graph, after: str = "", limit: int = LOOKED_AT_ONCE) -> list[str]:
    """Return the keys of the next blobs that may be unused, in their order."""
    return [row["key"] for row in graph.read("blobs/loose", after=after, limit=limit)]


def bury_unused(graph: Graph, keys: Sequence[str]) -> None:
    """Let those of some blobs go that nothing uses or is about to use; their files are to be deleted then."""

    def look(tx: Transaction) -> None:
        rows = tx.run("blobs/look_at", keys=sorted(keys))
        tx.run("blobs/settle", keys=[row["key"] for row in rows if row["used"]])
        tx.run("blobs/bury", keys=[row["key"] for row in rows if not (row["used"] or row["wanted"])])

    graph.transaction(look)


def dead_blobs(graph: Graph, limit: int = LOOKED_AT_ONCE) -> list[Blob]:
    """Return some that have gone, and whose files are to be deleted."""
    return _blobs(graph.read("blobs/dead", limit=limit))


def forget_dead(graph: Graph, blobs: Sequence[Blob]) -> int:
    """Forget blobs whose files were deleted; how many nobody else forgot."""
    dead = [each.key + (each.generation or "") for each in blobs]
    return graph.write("blobs/delete_dead", dead=dead)[0]["deleted"]


def _blobs(rows: Sequence[Row]) -> list[Blob]:
    return [_blob(row) for row in rows]


def _blob(row: Row) -> Blob:
    return Blob(row["key"], row["generation"])


# Reading which files documents were made of, and what stands on their pages.


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
        """Return the places of the words on a page that OCR read."""
        found = unpack(self.word_boxes, self.start) if self.word_boxes else []
        return [each for each in found if each.page == page]


def find_original(graph: Graph, document_id: str) -> Original:
    """Return the PDF that a document was made of."""
    rows = graph.read("originals/find", document_id=document_id)
    if not rows:
        raise NotFound("the document was deleted at this moment")
    row = rows[0]
    if row["format"] != "pdf":
        raise NotFound(f"{row['document']!r} is no PDF ({row['format']}): only PDFs have pictures of pages")
    if row["key"] is None:
        raise NotFound(
            f"the file of {row['document']!r} was not kept when it was ingested: ingest it again for "
            "pictures of its pages (KG_BLOBS__KEEP_PDFS must not be false)"
        )
    return Original(document_id, row["document"], row["key"])


def sources_of_page(graph: Graph, document_id: str, page: int) -> list[SourceOnPage]:
    rows = graph.read("originals/sources_of_page", document_id=document_id, page=page)
    return [SourceOnPage(**row) for row in rows]


# Reading pictures: which there are, and where their files are.


@dataclass(frozen=True, slots=True)
class ImageKeys:
    storage_key: str
    thumbnail_key: str
    content_type: ImageType
    document: str


def find_image(graph: Graph, called: str) -> ImageKeys:
    """Return the files of a picture, by its source's id or a beginning of it."""
    identity = identify_source(graph, called) or called
    rows = graph.read("images/find", source_id=identity)
    if not rows or not reaches(rows[0].pop("ontology")):
        raise NotFound(f"{called!r} is not a picture: `kg images list` shows those there are")
    return ImageKeys(**rows[0])


def list_images(graph: Graph, *, ontology: str | None, offset: int, limit: int) -> ImagePage:
    rows = graph.read("images/page", ontologies=within(ontology), offset=offset, limit=limit)
    total = graph.read("images/count", ontologies=within(ontology))[0]["images"]
    images = [Place.model_validate(row) for row in without_deleted(rows, Place)]
    if not total:
        require_ontologies(graph, ontology)
    return ImagePage(images=images, total=total, offset=offset, limit=limit)


def having_images(graph: Graph, ontologies: Sequence[str]) -> list[str]:
    return [row["name"] for row in graph.read("images/having", ontologies=list(ontologies))]


# Writing which sources of documents are pictures, and which files documents were made of.

IMAGES_A_STATEMENT = 500


def write_images(tx: Transaction, differences: Sequence[DocumentDifference]) -> Counter[str]:
    """Let sources be the pictures that they are, whether they are new or were there."""
    rows = [
        {"source_id": source.source_id, "image": asdict(source.image), "hold": each.record.hold}
        for each in differences
        for source in each.record.sources
        if source.image
    ]
    there = [each.record.document_id for each in differences if each.before["content_hash"] is not None]
    others, changed = list[str](), Counter[str]()
    if there:
        given = {"document_ids": there, "source_ids": [row["source_id"] for row in rows]}
        others += tx.run("images/forget", **given)[0]["forgotten"]
    for part in portions(rows, IMAGES_A_STATEMENT):
        row = tx.run("images/write", rows=part)[0]
        changed.update(row["changed"])
        others += row["replaced"]
        if row["written"] < len(part):
            raise FilesCollected
    _forget_vectors(tx, others)
    return changed


def _forget_vectors(tx: Transaction, source_ids: Sequence[str]) -> None:
    """Delete the vectors of images that have another file now."""
    if not source_ids:
        return
    keys = [slug for slug, space in spaces_within(tx).items() if space.is_of_images]
    properties = [of_space(name, key) for key in keys for name in OF_A_NODE]
    for part in portions(source_ids, IMAGES_A_STATEMENT):
        tx.run("images/forget_vectors", source_ids=list(part), properties=properties)


def write_originals(tx: Transaction, differences: Sequence[DocumentDifference]) -> None:
    """Let documents have the files that they were made of."""
    there = [_original(each) for each in differences if each.before["content_hash"] is not None]
    if there:
        tx.run("originals/forget", rows=there)
    rows = sorted(
        (_original(each) for each in differences if each.record.original), key=lambda row: row["key"]
    )
    if rows and tx.run("originals/write", rows=rows)[0]["written"] < len(rows):
        raise FilesCollected


def _original(difference: DocumentDifference) -> Row:
    record = difference.record
    return {"document_id": record.document_id, "key": record.original, "hold": record.hold}
