"""What a service gives out of an ontology, page by page; a large document comes in parts."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

from pydantic import BaseModel, Field

from kg_api.atomic_write import write_whole
from kg_api.errors import Conflict, FileLost, InvalidInput, NotFound, TooLarge
from kg_api.schemas.bundles import (
    SOURCES_A_PART,
    BundledConcepts,
    BundledDocument,
    BundledFile,
    BundledLine,
    BundledOntology,
    BundledSource,
    BundledVectors,
    BundleOffer,
    FileOfLines,
    ImportedLines,
    Manifest,
)
from kg_api.suggestions import no_ontology
from kg_api.transfer.bundles import (
    MANIFEST,
    UNFINISHED,
    blob_path,
    file_name,
    keys_of,
    look_at,
    measure_blobs,
    open_plain,
    raw_lines,
    read_blob,
    read_line,
    read_lines,
)
from kg_api.web.shared.limits import check_bounds
from kg_api.wording import pluralize
from kg_cli.jobs.report import patiently
from kg_cli.terminal import console

if TYPE_CHECKING:
    from kg_api.client import KgClient


class EmbeddedOtherwise(Exception):
    """The ontology is embedded in another way since its configuration was asked for."""


class ChangedBetweenParts(Exception):
    """A document was changed between two parts of it."""


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """Lines of documents."""

    lines: bytes
    documents: list[BundledDocument]
    keys: list[str]
    """Of the files that they need."""

    @property
    def large(self) -> BundledDocument | None:
        """The document that comes in parts, if there is one."""
        last = self.documents[-1]
        return last if last.sources > SOURCES_A_PART else None


class OntologyPages:
    """The documents of an ontology, which is embedded in one way.

    Args:
        client: of the service that has them.
        configuration: of the ontology.
    """

    def __init__(self, client: KgClient, configuration: BundledOntology) -> None:
        self._client = client
        self._ontology = configuration.ontology
        self._mark = configuration.mark

    def behind(self, name: str) -> ExportedPage | None:
        """The next documents behind one.

        Raises:
            Conflict: the ontology has gone.
            EmbeddedOtherwise: not as it is configured.
        """
        lines = self._ask(name)
        documents, keys = list[BundledDocument](), dict[str, None]()
        for line in read_lines(lines, check_bounds) if lines else ():
            keys.update(dict.fromkeys(keys_of(line)))
            if isinstance(line, BundledDocument):
                documents.append(line)
            elif isinstance(line, BundledVectors):
                self._require_same(line)
        if lines and not documents:
            raise InvalidInput("the service answered with lines that are of no document")
        return ExportedPage(lines, documents, [*keys]) if documents else None

    def parts(self, name: str, large: BundledDocument) -> Iterator[bytes]:
        """What is made of the sources of a document behind one, some after the other.

        Raises:
            Conflict: the ontology has gone.
            EmbeddedOtherwise: not as it is configured.
            ChangedBetweenParts: it is not what it was when its own lines were read.
        """
        for first in range(0, large.sources, SOURCES_A_PART):
            lines = self._ask(name, large.content_hash, first)
            for line in read_lines(lines, check_bounds) if lines else ():
                if isinstance(line, BundledVectors):
                    self._require_same(line)
                if not isinstance(line, BundledVectors | BundledConcepts) or line.document != large.document:
                    raise ChangedBetweenParts
            yield lines

    def _ask(self, name: str, content_hash: str | None = None, first: int | None = None) -> bytes:
        ask = partial(self._client.export_documents, self._ontology, after=name)
        try:
            return patiently(partial(ask, content_hash=content_hash, first=first))
        except NotFound:
            raise Conflict(
                f"{self._ontology} was deleted while it was exported: what is there of the bundle never "
                "gets whole; export to another folder"
            ) from None
        except Conflict:
            raise ChangedBetweenParts from None

    def _require_same(self, line: BundledVectors) -> None:
        if line.mark != self._mark:
            raise EmbeddedOtherwise


# Writing a bundle from what a service gives out; one that was interrupted goes on where it stopped.

Advance = Callable[[int], None]
"""Told of documents that were written or sent."""
LOOKS = 5
"""So often is read again what was changed meanwhile."""


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Tell of what a file system refuses.

    Raises:
        InvalidInput: saying what it said.
    """
    try:
        yield
    except OSError as error:
        place = error.filename or folder
        raise InvalidInput(f"{place} cannot be written: {error.strerror}; the same command goes on") from None


def open_own(path: Path, size: int) -> BinaryIO:
    """A file of lines that an export writes, to go on behind so many bytes; no link is followed.

    Raises:
        Conflict: it is shorter.
    """
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "wb")
    if file.seek(0, os.SEEK_END) < size:
        file.close()
        raise Conflict(f"{path} is shorter than it was: export to another folder")
    file.seek(size)
    file.truncate()
    return file


class OntologyProgress(BaseModel):
    """How far an ontology is written."""

    path: FileOfLines
    bytes: Annotated[int, Field(ge=0)] = 0
    after: str = ""
    """The last document."""
    done: bool = False
    documents: int = 0


class ExportProgress(BaseModel):
    """What is known of an export that is not finished."""

    asked: list[str] | None
    """Ontologies; None: all."""
    offer: BundleOffer
    files: list[OntologyProgress]
    lost: list[str]


class BundleWriter:
    """Writes a bundle.

    Args:
        client: of the service that has what is exported.
        folder: for the bundle: a new or empty one, or that of an export that was interrupted.
    """

    def __init__(self, client: KgClient, folder: Path) -> None:
        self._client = client
        self._folder = folder

    def begin(self, ontologies: Sequence[str] | None) -> ExportProgress:
        """Begin an export, or go on with one.

        Raises:
            Conflict: there is something else in the folder.
            NotFound: an ontology is not there.
        """
        asked = None if ontologies is None else sorted(set(ontologies))
        self._folder.mkdir(parents=True, exist_ok=True)
        if (self._folder / MANIFEST).exists():
            raise Conflict(f"there is a bundle in {self._folder} already: name another folder")
        if (self._folder / UNFINISHED).exists():
            return self._go_on(asked)
        if any(self._folder.iterdir()):
            raise Conflict(f"{self._folder} is not empty: name a new folder")
        offer = self._client.export_offer(asked)
        files = [OntologyProgress(path=file_name(at + 1)) for at in range(len(offer.ontologies))]
        progress = ExportProgress(asked=asked, offer=offer, files=files, lost=[])
        self._save(progress)
        return progress

    def write(self, progress: ExportProgress, advance: Advance) -> Manifest:
        """Write all that is missing, and the manifest last.

        Raises:
            Conflict: an ontology was deleted meanwhile, or changes faster than it can be read.
        """
        for at, each in enumerate(progress.files):
            if not each.done:
                self._write_ontology(progress, at, advance)
        manifest = self._manifest(progress)
        content = manifest.model_dump_json(indent=1).encode()
        write_whole(self._folder / MANIFEST, content, prefix=f".{MANIFEST}")
        (self._folder / UNFINISHED).unlink()
        return manifest

    def _go_on(self, asked: list[str] | None) -> ExportProgress:
        try:
            progress = ExportProgress.model_validate_json((self._folder / UNFINISHED).read_bytes())
        except ValueError:
            raise Conflict(f"{self._folder / UNFINISHED} cannot be read: name another folder") from None
        if progress.asked != asked:
            raise Conflict(
                f"an export of other ontologies to {self._folder} is not finished: name another folder"
            )
        return progress

    def _write_ontology(self, progress: ExportProgress, at: int, advance: Advance) -> None:
        """Write an ontology to its end; from its beginning again where it is embedded otherwise meanwhile."""
        each, name = progress.files[at], progress.offer.ontologies[at].ontology
        for _ in range(LOOKS):
            with suppress(EmbeddedOtherwise):
                self._write_pages(progress, at, advance)
                return
            console.say(f"{name} is embedded in another way now: it is exported from its beginning again")
            progress.offer.ontologies[at] = patiently(lambda: self._client.export_offer([name])).ontologies[0]
            advance(-each.documents)
            each.bytes, each.after, each.documents = 0, "", 0
            self._save(progress)
        raise Conflict(f"how {name} is embedded changes faster than it can be exported: try again later")

    def _write_pages(self, progress: ExportProgress, at: int, advance: Advance) -> None:
        each = progress.files[at]
        pages = OntologyPages(self._client, progress.offer.ontologies[at])
        with open_own(self._folder / each.path, each.bytes) as file:
            while page := self._write_page(file, pages, each):
                for key in page.keys:
                    self._fetch_blob(key, progress)
                file.flush()
                os.fsync(file.fileno())
                each.bytes = file.tell()
                each.after, each.documents = page.documents[-1].document, each.documents + len(page.documents)
                self._save(progress)
                advance(len(page.documents))
        each.done = True
        self._save(progress)

    def _write_page(
        self, file: BinaryIO, pages: OntologyPages, each: OntologyProgress
    ) -> ExportedPage | None:
        """The next documents, as they were at one moment; None: there are none."""
        for _ in range(LOOKS):
            if (page := pages.behind(each.after)) is None:
                return None
            with suppress(ChangedBetweenParts):
                file.write(page.lines)
                file.writelines(pages.parts(each.after, page.large) if page.large else ())
                return page
            file.seek(each.bytes)
            file.truncate()
        raise Conflict("a document changes faster than it can be exported: try again later")

    def _fetch_blob(self, key: str, progress: ExportProgress) -> None:
        path = blob_path(self._folder, key)
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = patiently(lambda: self._client.export_blob(key))
        except FileLost:
            progress.lost = sorted({*progress.lost, key})
            return
        write_whole(path, content, prefix=".part-")

    def _manifest(self, progress: ExportProgress) -> Manifest:
        keys, offer = set[str](), progress.offer
        files = [
            self._look_at(each.path, configuration, keys)
            for each, configuration in zip(progress.files, offer.ontologies, strict=True)
        ]
        blobs = measure_blobs(self._folder, keys.difference(progress.lost), whole=False)
        waiting = [
            f"{count} documents of {name} that wait for approval" for name, count in offer.waiting.items()
        ]
        return Manifest(
            format=offer.format,
            kg_version=offer.kg_version,
            schema_version=offer.schema_version,
            created_at=dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds"),
            files=files,
            blobs=blobs.model_copy(update={"lost": progress.lost}),
            left_out=[*waiting, *offer.left_out],
        )

    def _look_at(self, path: str, configuration: BundledOntology, keys: set[str]) -> BundledFile:
        try:
            return look_at(self._folder / path, configuration, check_bounds, keys, lambda _: None)
        except InvalidInput as error:
            raise Conflict(f"what was exported is not whole: {error}; export to another folder") from None

    def _save(self, progress: ExportProgress) -> None:
        content = progress.model_dump_json().encode()
        write_whole(self._folder / UNFINISHED, content, prefix=f".{UNFINISHED}")


# What of a bundle is sent together.

SENT_BYTES = 2 * 1024 * 1024
"""Of one request, unless a document alone has more."""
SENT_LINES = 600


@dataclass(slots=True)
class Parcel:
    """Lines that are sent together."""

    documents: list[str] = field(default_factory=list[str])
    lines: list[bytes] = field(default_factory=list[bytes])
    keys: list[str] = field(default_factory=list[str])
    size: int = 0
    last: BundledLine | None = None

    def add(self, raw: bytes, line: BundledLine) -> None:
        self.lines.append(raw)
        self.size += len(raw)
        self.keys += keys_of(line)
        self.last = line
        if isinstance(line, BundledDocument):
            self.documents.append(line.document)

    @property
    def name(self) -> str:
        """What it is, where it is one document or a part of one."""
        last = self.last
        if self.documents or last is None or isinstance(last, BundledDocument | BundledSource):
            return ", ".join(self.documents)
        return f"{last.kind} of {last.document}"

    @property
    def is_full(self) -> bool:
        """Whether no further document is to be in it."""
        return self.size >= SENT_BYTES or len(self.lines) >= SENT_LINES

    def may_end_before(self, line: BundledLine) -> bool:
        """Whether it may be parted there: what was found in one source is sent together."""
        if isinstance(line, BundledConcepts) and isinstance(self.last, BundledConcepts):
            return (line.document, line.paragraph) != (self.last.document, self.last.paragraph)
        return not isinstance(line, BundledSource)


def parcels(path: Path) -> Iterator[Parcel]:
    """The lines of a file: whole documents together; of a large one vectors and concepts come after it."""
    parcel = Parcel()
    with open_plain(path) as file:
        for raw in raw_lines(file):
            line = read_line(raw, check_bounds)
            is_large = parcel.size >= SENT_BYTES
            ends = is_large and parcel.may_end_before(line)
            if ends or (parcel.is_full and isinstance(line, BundledDocument)):
                yield parcel
                parcel = Parcel()
            parcel.add(raw, line)
    if parcel.lines:
        yield parcel


def divided(parcel: Parcel) -> list[Parcel]:
    """Smaller parts: its documents; of a single one itself, and then each line of vectors and of concepts."""
    several, parts = len(parcel.documents) > 1, list[Parcel]()
    for raw in parcel.lines:
        line = read_line(raw, check_bounds)
        ends = isinstance(line, BundledDocument) or (not several and parts and parts[-1].may_end_before(line))
        if not parts or ends:
            parts.append(Parcel())
        parts[-1].add(raw, line)
    return parts


# Sending a bundle that was looked at to a service, in parts that it stores one by one.

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


# What was exported and imported, as a person reads it.

MAX_NAMED = 20
MEGABYTE = 1_000_000


def print_exported(manifest: Manifest, folder: Path, *, as_json: bool) -> None:
    """Say what is in a bundle, and what is not."""
    if as_json:
        console.print_json({"folder": str(folder), **manifest.model_dump(mode="json")})
        return
    for each in manifest.files:
        lines = each.lines
        counted = f"{pluralize(lines.document, 'document')}, {pluralize(lines.source, 'source')}"
        console.line(f"{each.configuration.ontology}: {counted}")
    size = sum(each.bytes for each in manifest.files) + manifest.blobs.bytes
    console.line(f"{folder}: {size / MEGABYTE:.1f} MB, {pluralize(manifest.blobs.files, 'file')} of pictures")
    if manifest.blobs.lost:
        told = pluralize(len(manifest.blobs.lost), "file")
        console.note(f"{told} of pictures are lost in this kg: their documents cannot be imported")
    for each in manifest.left_out:
        console.note(f"not in the bundle: {each}")


def print_checked(manifest: Manifest, folder: Path, *, as_json: bool) -> None:
    """Say that a bundle is whole, and what is in it."""
    if as_json:
        console.print_json({"folder": str(folder), "whole": True, **manifest.model_dump(mode="json")})
        return
    print_exported(manifest, folder, as_json=False)
    console.say(f"The bundle is whole; kg {manifest.kg_version} wrote it at {manifest.created_at}.")


def print_imported(imports: Sequence[OntologyImport], left_out: Sequence[str], *, as_json: bool) -> None:
    """Say what became of each ontology."""
    if as_json:
        console.print_json(
            {
                "ontologies": [
                    {**asdict(each), "done": each.done.model_dump(mode="json")} for each in imports
                ],
                "left_out": list(left_out),
            }
        )
        return
    for each in imports:
        console.line(f"{each.ontology}{' (new)' if each.created else ''}: {_describe(each.done)}")
        console.note(*each.notes)
        for name in each.done.kept[:MAX_NAMED]:
            console.note(
                f"{name}: another text of that name is there and stays; --replace stores the bundle's"
            )
        if (more := len(each.done.kept) - MAX_NAMED) > 0:
            console.note(f"so do {more} others")
        for problem in each.done.problems:
            console.line(f"  failed: {problem}", "red")


def _describe(done: ImportedLines) -> str:
    told = [pluralize(done.stored, "new document")]
    told += [f"{done.replaced} replaced"] if done.replaced else []
    told += [f"{done.unchanged} unchanged"] if done.unchanged else []
    told += [f"{len(done.kept)} kept as they are here"] if done.kept else []
    told += [f"vectors of {pluralize(done.vectors, 'source')} taken"] if done.vectors else []
    told += [f"{pluralize(done.anew, 'source')} to embed anew"] if done.anew else []
    told += [f"concepts of {pluralize(done.concepts, 'source')}"] if done.concepts else []
    return ", ".join(told)
