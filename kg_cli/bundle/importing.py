"""Sending a bundle that was looked at to a service, in parts that it stores one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kg_api.bundle.folder import read_blob
from kg_api.errors import NotFound, TooLarge
from kg_api.models.bundle.manifest import BundledFile, ImportedLines, Manifest
from kg_api.wording.nearest import no_ontology
from kg_cli.bundle.parcels import Parcel, divided, parcels
from kg_cli.jobs.waiting import patiently

if TYPE_CHECKING:
    from kg_api.client import KgClient

Advance = Callable[[int], None]
"""Told of documents that were sent."""
RAISE = "raise KG_API__MAX_DOCUMENT_BYTES there"


@dataclass(slots=True)
class OntologyImport:
    """What became of an ontology."""

    ontology: str
    created: bool
    takes_vectors: bool
    notes: list[str]
    done: ImportedLines


def choose(manifest: Manifest, ontologies: Sequence[str] | None) -> list[BundledFile]:
    """The files of some ontologies, or of all.

    Raises:
        NotFound: one is not in the bundle.
    """
    known = {each.configuration.ontology: each for each in manifest.files}
    if unknown := [name for name in ontologies or () if name not in known]:
        raise NotFound(f"{no_ontology(unknown, known)} in the bundle")
    return [known[name] for name in (known if ontologies is None else dict.fromkeys(ontologies))]


class BundleSender:
    """Sends what a bundle holds.

    Args:
        client: of the service that is to have it.
        folder: where the bundle is.
        manifest: of the bundle, which was looked at.
        replace: whether a document takes the place of another text of its name.
    """

    def __init__(self, client: KgClient, folder: Path, manifest: Manifest, *, replace: bool) -> None:
        self._client = client
        self._folder = folder
        self._manifest = manifest
        self._replace = replace

    def send(self, file: BundledFile, advance: Advance) -> OntologyImport:
        """Send all of an ontology; what is there already is passed over."""
        name = file.configuration.ontology
        manifest = self._manifest
        about = {"format": manifest.format, "schema_version": manifest.schema_version}
        opened = patiently(lambda: self._client.open_import(file.configuration, **about))
        total = nothing_done()
        for parcel in parcels(self._folder / file.path):
            _add(total, self._send(name, parcel))
            advance(len(parcel.documents))
        return OntologyImport(name, opened.created, opened.takes_vectors, opened.notes, total)

    def _send(self, ontology: str, parcel: Parcel) -> ImportedLines:
        total = nothing_done()
        for key in dict.fromkeys(parcel.keys):
            if key not in self._manifest.blobs.lost:
                total.problems += self._send_blob(key)
        _add(total, self._send_lines(ontology, parcel))
        return total

    def _send_blob(self, key: str) -> list[str]:
        """Send a file; what is wrong with it. The service names the document that lacks it."""
        content = read_blob(self._folder, key)
        try:
            patiently(lambda: self._client.import_blob(key, content))
        except TooLarge as error:
            return [f"file {key}: {error}; {RAISE}"]
        return []

    def _send_lines(self, ontology: str, parcel: Parcel) -> ImportedLines:
        """Send lines, in smaller parts where they are too large; what is one alone is told of."""
        lines = b"".join(parcel.lines)
        try:
            return patiently(lambda: self._client.import_lines(ontology, lines, replace=self._replace))
        except TooLarge as error:
            if len(parts := divided(parcel)) < 2:  # noqa: PLR2004 - it cannot be divided
                told = f"{parcel.name}: {error}; {RAISE}"
                return nothing_done().model_copy(update={"problems": [told]})
        total = nothing_done()
        for part in parts:
            _add(total, self._send_lines(ontology, part))
        return total


def nothing_done() -> ImportedLines:
    """Before anything was sent."""
    return ImportedLines(
        stored=0, replaced=0, unchanged=0, kept=[], vectors=0, anew=0, concepts=0, problems=[]
    )


def _add(total: ImportedLines, more: ImportedLines) -> None:
    for name in ImportedLines.model_fields:
        setattr(total, name, getattr(total, name) + getattr(more, name))
