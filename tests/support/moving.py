from __future__ import annotations

from pathlib import Path

from kg_api.blobs.images import StoredFiles
from kg_api.blobs.store import FileBlobStore
from kg_api.extraction.llm import ExtractionRequests, Extractors
from kg_api.schemas.bundles import (
    BundledDocument,
    BundledOntology,
    ImportedLines,
    ImportOpened,
    OntologyToImport,
)
from kg_api.settings import Settings
from kg_api.spaces.configuration import ExtractionService
from kg_api.transfer.bundles import read_lines
from kg_api.transfer.importing import TransferService
from tests.support.kg import Kg


class Mover:
    def __init__(self, kg: Kg, folder: Path) -> None:
        self.files = StoredFiles(kg.graph, FileBlobStore(folder))
        extractors = Extractors(kg.graph, Settings())
        requests = ExtractionRequests(kg.graph, extractors)
        self.service = TransferService(
            kg.graph,
            self.files,
            kg.configure,
            ExtractionService(kg.graph, extractors, requests),
            requests.request,
            spaces=kg.spaces,
        )

    def pages(self, ontology: str = "notes") -> list[bytes]:
        found, after = list[bytes](), ""
        while page := self.service.exports.export_documents(ontology, after):
            documents = [each for each in read_lines(page) if isinstance(each, BundledDocument)]
            found.append(page)
            after = documents[-1].document
        return found

    def configuration(self, ontology: str = "notes") -> BundledOntology:
        return self.service.exports.offer([ontology]).ontologies[0]

    def open(self, configuration: BundledOntology, *, replace: bool = False) -> ImportOpened:
        offer = self.service.exports.offer(None)
        given = OntologyToImport(
            format=offer.format,
            schema_version=offer.schema_version,
            configuration=configuration,
            replace=replace,
        )
        return self.service.open_import(given)

    def take(self, page: bytes, ontology: str = "notes") -> ImportedLines:
        return self.service.imports.take(ontology, read_lines(page))
