"""`kg export` and `kg import`: transfer of a bundle between the service and a folder."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kg_api.atomic_write import write_whole
from kg_api.errors import Conflict, FileLost, InvalidInput, NotFound, TooLarge
from kg_api.schemas.bundles import (
    BundledBlobs,
    BundledDocument,
    BundledFile,
    BundledOntology,
    BundledPassages,
    ImportedLines,
    ImportOpened,
    Manifest,
)
from kg_api.suggestions import describe_unknown_ontology
from kg_api.transfer.bundles import (
    BLOBS,
    MANIFEST,
    FileCheck,
    build_blob_path,
    build_file_name,
    list_file_keys,
    open_plain,
    read_blob,
    read_line,
    read_raw_lines,
)
from kg_api.wording import pluralize
from kg_cli.jobs.report import retry_while_unavailable
from kg_cli.terminal import console

if TYPE_CHECKING:
    from kg_api.client import KgClient

Advance = Callable[[int], None]

# Export to a new folder, whose manifest is written at the end


def export_bundle(
    client: KgClient, folder: Path, ontologies: Sequence[str] | None, begin: Advance, advance: Advance
) -> Manifest:
    """Write a bundle to a new or empty folder, and finally the manifest."""
    files, lost = list[BundledFile](), set[str]()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty: name another folder")
        offer = client.export_offer(None if ontologies is None else sorted(set(ontologies)))
        begin(sum(offer.documents.values()))
        for number, configuration in enumerate(offer.ontologies, start=1):
            path = folder / build_file_name(number)
            files.append(_export_ontology(client, path, configuration, lost, advance))
        blobs = [path.stat().st_size for path in (folder / BLOBS).glob("*/*")]
        waiting = [
            f"{pluralize(count, 'pending document')} of {name}" for name, count in offer.waiting.items()
        ]
        manifest = Manifest(
            format=offer.format,
            kg_version=offer.kg_version,
            schema_version=offer.schema_version,
            created_at=dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds"),
            files=files,
            blobs=BundledBlobs(files=len(blobs), bytes=sum(blobs), lost=sorted(lost)),
            left_out=[*waiting, *offer.left_out],
        )
        write_whole(folder / MANIFEST, manifest.model_dump_json(indent=1).encode(), prefix=f".{MANIFEST}")
    except OSError as error:
        place = error.filename or folder
        raise InvalidInput(f"{place} cannot be written: {error.strerror}") from None
    return manifest


def _export_ontology(
    client: KgClient, path: Path, configuration: BundledOntology, lost: set[str], advance: Advance
) -> BundledFile:
    name, after = configuration.ontology, ""
    check = FileCheck(path.name, configuration)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            while page := retry_while_unavailable(partial(client.export_documents, name, after=after)):
                documents = 0
                for raw in page.removesuffix(b"\n").split(b"\n"):
                    with check.naming():
                        line = check.add(raw + b"\n")
                    if isinstance(line, BundledPassages) and line.mark != configuration.mark:
                        raise Conflict(
                            f"the embedding configuration of {name!r} changed during its export. Export to "
                            "another folder"
                        )
                    if isinstance(line, BundledDocument):
                        after, documents = line.document, documents + 1
                    for key in list_file_keys(line):
                        _fetch_blob(client, path.parent, key, lost)
                file.write(page)
                advance(documents)
            file.flush()
            os.fsync(file.fileno())
    except NotFound:
        raise Conflict(
            f"{name} was deleted during the export, so the bundle cannot be finished. Export to "
            "another folder"
        ) from None
    return check.describe()


def _fetch_blob(client: KgClient, folder: Path, key: str, lost: set[str]) -> None:
    path = build_blob_path(folder, key)
    if path.exists() or key in lost:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        content = retry_while_unavailable(lambda: client.export_blob(key))
    except FileLost:
        lost.add(key)
    else:
        write_whole(path, content, prefix=".part-")


# Import of a checked bundle in parcels

SENT_BYTES = 2 * 1024 * 1024  # per request, unless a single document is larger
SENT_LINES = 600
RAISE = "raise KG_API__MAX_DOCUMENT_BYTES there"


class OntologyImport(ImportOpened):
    done: ImportedLines


def choose(manifest: Manifest, ontologies: Sequence[str] | None) -> list[BundledFile]:
    known = {each.configuration.ontology: each for each in manifest.files}
    if unknown := [name for name in ontologies or () if name not in known]:
        raise NotFound(f"{describe_unknown_ontology(unknown, known)} in the bundle")
    return [known[name] for name in (known if ontologies is None else dict.fromkeys(ontologies))]


def import_ontology(
    client: KgClient, folder: Path, manifest: Manifest, file: BundledFile, *, replace: bool, advance: Advance
) -> OntologyImport:
    """Send an ontology. Stored documents stay unchanged, so that the import is repeatable with `replace`."""
    about = {"format": manifest.format, "schema_version": manifest.schema_version}
    opened = retry_while_unavailable(lambda: client.open_import(file.configuration, **about, replace=replace))
    done, sent = ImportedLines(), set(manifest.blobs.lost)
    for parcel in split_to_parcels(folder / file.path):
        lines = [*map(read_line, parcel)]
        names = list(dict.fromkeys(line.document for line in lines))
        for key in [key for line in lines for key in list_file_keys(line) if key not in sent]:
            sent.add(key)
            content = read_blob(folder, key)
            try:
                retry_while_unavailable(partial(client.import_blob, key, content))
            except TooLarge as error:  # the service names the document without the file
                done.problems.append(f"file {key}: {error}; {RAISE}")
        try:
            done.add(retry_while_unavailable(partial(client.import_lines, opened.ontology, b"".join(parcel))))
        except TooLarge as error:
            done.problems.append(f"{', '.join(names)}: {error}; {RAISE}")
        advance(sum(isinstance(line, BundledDocument) for line in lines))
    return OntologyImport(**opened.model_dump(), done=done)


def split_to_parcels(path: Path) -> Iterator[list[bytes]]:
    """Yield lines to send together. Passages of a large document may follow in a later parcel."""
    parcel: list[bytes] = []
    with open_plain(path) as file:
        for raw in read_raw_lines(file):
            if parcel and (len(parcel) >= SENT_LINES or sum(map(len, parcel)) + len(raw) > SENT_BYTES):
                yield parcel
                parcel = []
            parcel.append(raw)
    if parcel:
        yield parcel


# Printed results


def print_exported(manifest: Manifest, folder: Path, *, as_json: bool, is_checked: bool = False) -> None:
    if as_json:
        whole = {"whole": True} if is_checked else {}
        console.print_json({"folder": str(folder), **whole, **manifest.model_dump(mode="json")})
        return
    for each in manifest.files:
        counted = f"{pluralize(each.documents, 'document')}, {pluralize(each.sources, 'source')}"
        console.line(f"{each.configuration.ontology}: {counted}")
    size = sum(each.bytes for each in manifest.files) + manifest.blobs.bytes
    console.line(
        f"{folder}: {console.format_megabytes(size)}, {pluralize(manifest.blobs.files, 'stored file')}"
    )
    if manifest.blobs.lost:
        lost = pluralize(len(manifest.blobs.lost), "stored file")
        console.note(f"{lost} missing in this kg: their documents cannot be imported")
    console.note(*(f"not in the bundle: {each}" for each in manifest.left_out))
    if is_checked:
        console.say(f"The bundle is complete. kg {manifest.kg_version} wrote it at {manifest.created_at}.")


def print_imported(imports: Sequence[OntologyImport], left_out: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        fields = [each.model_dump(mode="json") for each in imports]
        console.print_json({"ontologies": fields, "left_out": list(left_out)})
        return
    for each in imports:
        done = each.done
        counts = (
            (done.replaced, f"{done.replaced} replaced"),
            (done.unchanged, f"{done.unchanged} unchanged"),
            (done.vectors, f"vectors of {pluralize(done.vectors, 'source')} taken"),
            (done.anew, f"{pluralize(done.anew, 'source')} to re-embed"),
            (done.concepts, f"concepts of {pluralize(done.concepts, 'source')}"),
        )
        fields = [pluralize(done.stored, "new document"), *(words for count, words in counts if count)]
        console.line(f"{each.ontology}{' (new)' if each.created else ''}: {', '.join(fields)}")
        console.note(*each.notes)
        for problem in done.problems:
            console.line(f"  failed: {problem}", "red")
