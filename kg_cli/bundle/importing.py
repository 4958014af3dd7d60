"""Sending a bundle that was looked at to a service, in parts that it stores one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kg_api.bundle.folder import keys_of, open_plain, raw_lines, read_blob
from kg_api.bundle.lines import read_line
from kg_api.errors import NotFound, TooLarge
from kg_api.models.bundle.lines import BundledConcepts, BundledDocument, BundledLine, BundledSource
from kg_api.models.bundle.manifest import BundledFile, ImportedLines, Manifest
from kg_api.web.limits.json_bounds import check_bounds
from kg_api.wording.nearest import no_ontology
from kg_cli.jobs.waiting import patiently

if TYPE_CHECKING:
    from kg_api.client import KgClient

SENT_BYTES = 2 * 1024 * 1024
"""Of one request, unless a document alone has more."""
SENT_LINES = 600
Advance = Callable[[int], None]
"""Told of documents that were sent."""


@dataclass(slots=True)
class Parcel:
    """Lines that are sent together."""

    documents: list[str] = field(default_factory=list[str])
    lines: list[bytes] = field(default_factory=list[bytes])
    keys: list[str] = field(default_factory=list[str])
    size: int = 0
    last: BundledLine | None = None

    def add(self, raw: bytes, line: BundledLine) -> None:
        """Take a further line."""
        self.lines.append(raw)
        self.size += len(raw)
        self.keys += keys_of(line)
        self.last = line
        if isinstance(line, BundledDocument):
            self.documents.append(line.document)

    @property
    def is_full(self) -> bool:
        """Whether no further document is to be in it."""
        return self.size >= SENT_BYTES or len(self.lines) >= SENT_LINES

    def may_end_before(self, line: BundledLine) -> bool:
        """Whether what is sent may be parted there: all that was found in one source is sent together."""
        if isinstance(line, BundledDocument):
            return True
        if isinstance(line, BundledConcepts) and isinstance(self.last, BundledConcepts):
            apart = (line.document, line.paragraph) != (self.last.document, self.last.paragraph)
            return apart and self.size >= SENT_BYTES
        return not isinstance(line, BundledSource) and self.size >= SENT_BYTES


def parcels(path: Path) -> Iterator[Parcel]:
    """The lines of a file: whole documents together; of a large one vectors and concepts come after it."""
    parcel = Parcel()
    with open_plain(path) as file:
        for raw in raw_lines(file):
            line = read_line(raw, check_bounds)
            if parcel.is_full and parcel.may_end_before(line):
                yield parcel
                parcel = Parcel()
            parcel.add(raw, line)
    if parcel.lines:
        yield parcel


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
        total = ImportedLines(
            stored=0, replaced=0, unchanged=0, kept=[], vectors=0, anew=0, concepts=0, problems=[]
        )
        for parcel in parcels(self._folder / file.path):
            _add(total, self._send(name, parcel))
            advance(len(parcel.documents))
        return OntologyImport(name, opened.created, opened.takes_vectors, opened.notes, total)

    def _send(self, ontology: str, parcel: Parcel) -> ImportedLines:
        for key in dict.fromkeys(parcel.keys):
            if key not in self._manifest.blobs.lost:
                patiently(partial(self._client.import_blob, key, read_blob(self._folder, key)))
        lines = b"".join(parcel.lines)
        try:
            return patiently(lambda: self._client.import_lines(ontology, lines, replace=self._replace))
        except TooLarge as error:
            told = [f"{name}: {error}; raise KG_API__MAX_DOCUMENT_BYTES there" for name in parcel.documents]
            return ImportedLines(
                stored=0, replaced=0, unchanged=0, kept=[], vectors=0, anew=0, concepts=0, problems=told
            )


def _add(total: ImportedLines, more: ImportedLines) -> None:
    for name in ImportedLines.model_fields:
        setattr(total, name, getattr(total, name) + getattr(more, name))
