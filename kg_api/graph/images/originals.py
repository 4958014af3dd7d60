"""Reading which files documents were made of, and what stands on their pages."""

from __future__ import annotations

from dataclasses import dataclass

from kg_api.errors import NotFound
from kg_api.graph.database import Graph
from kg_api.models.library.word_boxes import WordBox, unpack


@dataclass(frozen=True, slots=True)
class Original:
    """A document, and the file that it was made of."""

    document_id: str
    document: str
    key: str
    """Of the file."""


@dataclass(frozen=True, slots=True)
class SourceOnPage:
    """A passage that stands on a page, or a part of it does."""

    source_id: str
    full_text: str
    start: int
    """Where it begins in its document."""
    word_boxes: bytes | None

    def words(self, page: int) -> list[WordBox]:
        """Where the words stand on the page that OCR read; none, where it did not."""
        found = unpack(self.word_boxes, self.start) if self.word_boxes else []
        return [each for each in found if each.page == page]


def find_original(graph: Graph, document_id: str) -> Original:
    """The PDF that a document was made of.

    Raises:
        NotFound: the document has gone, it is no PDF, or its file was not kept.
    """
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
    """What stands on a page, in reading order."""
    rows = graph.read("originals/sources_of_page", document_id=document_id, page=page)
    return [SourceOnPage(**row) for row in rows]
