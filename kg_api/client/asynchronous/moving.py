"""What is exported and imported, part by part."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.call import Call, get, params_of, path_of, post
from kg_api.models.base import Answer
from kg_api.models.bundle.manifest import (
    BundledOntology,
    BundleOffer,
    ImportedLines,
    ImportOpened,
    KeptBlob,
    OntologyToImport,
)

_LINES = {"Content-Type": "application/x-ndjson"}
_FILE = {"Content-Type": "application/octet-stream"}


class AsyncMovingMethods(AsyncSending):
    """The parts of bundles."""

    async def export_offer(self, ontologies: Sequence[str] | None = None) -> BundleOffer:
        """Ask what there is to export of some ontologies, or of all, and what a bundle does not hold."""
        named = None if ontologies is None else list(ontologies)
        return await self._send(get(BundleOffer, "export", ontology=named))

    async def export_documents(self, ontology: str, *, after: str = "") -> bytes:
        """Get the lines of the next whole documents behind a name; b"" behind the last."""
        return await self._read_file(get(Answer, "export", "ontologies", ontology, after=after))

    async def export_blob(self, key: str) -> bytes:
        """Get a file that a line names by its SHA-256."""
        return await self._read_file(get(Answer, "export", "blobs", key))

    async def open_import(
        self,
        configuration: BundledOntology,
        *,
        format: int,  # noqa: A002 - the field's name
        schema_version: int,
    ) -> ImportOpened:
        """Make an ontology as a bundle has it configured, unless it is there."""
        given = OntologyToImport(format=format, schema_version=schema_version, configuration=configuration)
        return await self._send(
            post(ImportOpened, "import", "ontologies", json=given.model_dump(mode="json"))
        )

    async def import_lines(self, ontology: str, lines: bytes, *, replace: bool = False) -> ImportedLines:
        """Store whole documents with their vectors and concepts, as `export_documents` gave them."""
        asked = params_of(replace=replace or None)
        path = ("import", "ontologies", ontology, "lines")
        return await self._send(post(ImportedLines, *path, content=lines, headers=_LINES, params=asked))

    async def import_blob(self, key: str, content: bytes) -> KeptBlob:
        """Keep a file for an hour, or as long as a document uses it."""
        path = path_of("import", "blobs", key)
        return await self._send(Call("PUT", path, KeptBlob, content=content, headers=_FILE))
