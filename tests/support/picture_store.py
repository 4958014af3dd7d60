import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from kg_api.blobs.images import ImageKeeper, StoredFiles
from kg_api.blobs.store import FileBlobStore, compute_blob_key
from kg_api.convert import pdf
from kg_api.convert.image.embedded import convert
from kg_api.convert.image.file import strip_metadata
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.documents import Converted, DocumentRecord
from kg_api.schemas.formats import ConvertedFormat, OcrMode
from kg_api.settings import ConversionSettings


class InThisProcess:
    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        assert ocr == "auto"
        return pdf.convert(data) if form == "pdf" else convert(data, ConversionSettings())

    def get_ocr_fingerprint(self) -> str:
        return "nothing"


@dataclass(frozen=True, slots=True)
class Pictures:
    graph: Graph
    folder: Path

    @property
    def stored(self) -> StoredFiles:
        return StoredFiles(self.graph, FileBlobStore(self.folder))

    def read(self, key: str) -> bytes:
        return self.stored.read(key)

    def lose(self, content: bytes) -> None:
        for path in self.paths(content):
            path.unlink()

    def damage(self, content: bytes) -> None:
        for path in self.paths(content):
            path.write_bytes(bytes(each ^ 1 for each in path.read_bytes()))

    def paths(self, content: bytes) -> list[Path]:
        """Return the files for an image. There can be more than one if some are waiting to be deleted."""
        with Image.open(io.BytesIO(content)) as image:
            kept = strip_metadata(content, image)
        return list(self.folder.rglob(f"{compute_blob_key(kept)}*"))

    def record(
        self, content: bytes, name: str, *, review: bool = False, ontology: str = "notes"
    ) -> DocumentRecord:
        reader = DocumentReader(InThisProcess(), ImageKeeper(self.stored), keep_pdfs=True)
        incoming, _ = reader.from_bytes(content, Incoming(ontology, name, "", review=review))
        return to_record(incoming)[0]

    def add(self, content: bytes, name: str, *, ontology: str = "notes") -> str:
        made = self.record(content, name, ontology=ontology)
        store_document(self.graph, made)
        return made.document_id

    def collect(self) -> int:
        return self.stored.collect()

    @property
    def files(self) -> int:
        return sum(path.is_file() for path in self.folder.rglob("*/*"))
