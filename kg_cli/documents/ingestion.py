"""Selection, preview, upload in batches, and report of files."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import typer

from kg_api.client import KgClient
from kg_api.errors import Forbidden, KgError, Unauthorized, Unavailable
from kg_api.schemas.documents import DocumentOutcome, DocumentRequest, Ingested
from kg_api.schemas.embedding import Cost, DocumentPreview
from kg_api.schemas.filters import read_value
from kg_api.schemas.formats import CONVERTED_SUFFIXES, NOT_READ, OcrMode
from kg_api.schemas.metadata import MetadataValue, format_file_time
from kg_api.schemas.problems import PASSING, validate
from kg_api.schemas.vocabulary import MAX_PAGE
from kg_api.text.documents import CONVERSIONS, SUFFIXES
from kg_api.text.files import NO_EXTENSION, FileSelection, FileToIngest, to_printable
from kg_api.wording import pluralize
from kg_cli.concepts.commands import describe_pending_concepts
from kg_cli.jobs.report import list_unfinished_jobs, retry_while_unavailable, wait_until_embedded
from kg_cli.terminal import console, options
from kg_cli.terminal.console import build_cost_rows

READS = f"kg reads {' '.join(sorted(SUFFIXES))}. Convert other files to one of these"
_CONVERTERS = (("pandoc", frozenset([".odt", ".rtf"])), ("LibreOffice", frozenset([".doc", ".ppt", ".odp"])))


def describe_skipped(selection: FileSelection) -> list[str]:
    """Count skipped files by kind, and suggest conversions."""
    kinds = selection.left_out
    first = {kind: path for path, kind in reversed(selection.review)}
    lines = [
        f"skipped: {kind} ({count}), such as {first[kind]}{': not supported' if is_ending(kind) else ''}"
        for kind, count in sorted(kinds.items())
    ]
    for tool, suffixes in _CONVERTERS:
        if found := sorted(suffixes & kinds.keys()):
            lines.append(f"{tool} converts {', '.join(found)} to text")
    lines += [
        f"{', '.join(sorted(found))}: {advice[0].lower()}{advice[1:]}"
        for advice, suffixes in CONVERSIONS.items()
        if (found := suffixes & kinds.keys())
    ]
    if any(is_ending(kind) and kind not in NOT_READ for kind in kinds):
        lines.append("to ingest text with another extension, name the file: kg ingest FILE")
    return lines


def is_ending(kind: str) -> bool:
    """Check if files were skipped because of their extension."""
    return kind.startswith(".") or kind == NO_EXTENSION


# Upload of many files in batches. A failed file does not stop the others.

T = TypeVar("T")
# errors that affect all files, so that they are reported once
CONCERNS_ALL = (Unavailable, Unauthorized, Forbidden)

PARALLEL_UPLOADS = 2  # parsing and storing use two cores, and more uploads would only wait
FILES_A_BATCH = 100
BYTES_A_BATCH = 1_000_000  # a larger file is sent separately


@dataclass(frozen=True, slots=True)
class Destination:
    """Target of an upload, with the options of all files."""

    ontology: str
    metadata: dict[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    review: bool = False
    ocr: OcrMode = "auto"

    def about(self, file: FileToIngest) -> dict[str, Any]:
        """Return the fields of a file's document except its text."""
        known = {
            "ontology": self.ontology,
            "document": file.document,
            "uri": file.path.resolve().as_uri(),
            "metadata": self.metadata,
            "modified": format_file_time(file.path.stat().st_mtime),
            "review": self.review,
            "ocr": None if self.ocr == "auto" else self.ocr,
        }
        return {name: value for name, value in known.items() if value or isinstance(value, str)}


@dataclass(frozen=True, slots=True)
class Uploaded:
    """Outcome of one file, with either `ingested` or `problem`."""

    file: FileToIngest
    ingested: Ingested | None = None
    problem: str | None = None


def upload(client: KgClient, files: Sequence[FileToIngest], into: Destination) -> Iterator[Uploaded]:
    with ThreadPoolExecutor(PARALLEL_UPLOADS) as pool:
        for uploaded in pool.map(partial(_upload_batch, client, into), divide(files)):
            yield from uploaded  # an error cancels the pending batches


def divide(files: Sequence[FileToIngest]) -> Iterator[list[FileToIngest]]:
    """Yield batches of files in order. A large file, or a file to convert, is a separate batch."""
    batch, size = list[FileToIngest](), 0
    for file in files:
        if file.path.suffix.lower() in CONVERTED_SUFFIXES:
            yield [file]
            continue
        try:
            length = file.path.stat().st_size
        except OSError:  # reported when the file is read
            length = 0
        if batch and (len(batch) == FILES_A_BATCH or size + length > BYTES_A_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += length
    if batch:
        yield batch


def send_file(send: Callable[..., T], file: FileToIngest, into: Destination) -> T:
    """Send a file with its options. Retry while the service is unavailable."""
    return retry_while_unavailable(partial(send, file.path.read_bytes(), **into.about(file)))


def _upload_batch(client: KgClient, into: Destination, files: Sequence[FileToIngest]) -> list[Uploaded]:
    """Upload suitable files in one request and the others separately. Return the outcomes in order."""
    if len(files) == 1:
        return [_upload_one(client, into, files[0])]
    read = [_decode(file, into) for file in files]
    documents = [each[0] for each in read if isinstance(each, tuple)]
    outcomes: Iterator[DocumentOutcome | None] = iter(())
    try:
        if documents:
            outcomes = iter(retry_while_unavailable(partial(client.ingest_batch, documents)).outcomes)
    except CONCERNS_ALL:
        raise
    except KgError:  # the batch as a whole: this service accepts smaller ones
        outcomes = repeat(None)
    uploads: list[Uploaded] = []
    for file, each in zip(files, read, strict=True):
        outcome = next(outcomes) if isinstance(each, tuple) else None
        if isinstance(each, Uploaded):
            uploads.append(each)
        elif each and outcome and outcome.ingested:
            notes = [*each[1], *outcome.ingested.notes]
            uploads.append(Uploaded(file, outcome.ingested.model_copy(update={"notes": notes})))
        elif outcome and outcome.problem and outcome.problem.status not in PASSING:
            uploads.append(Uploaded(file, problem=outcome.problem.detail))
        else:
            uploads.append(_upload_one(client, into, file))
    return uploads


def _decode(
    file: FileToIngest, into: Destination
) -> tuple[dict[str, Any], tuple[str, ...]] | Uploaded | None:
    """Decode a file like the service, and return a document of a batch with notes on the decoding.

    None means a separate upload, because the file is a PDF or an image under another name.
    """
    from kg_api.text.decoding import decode
    from kg_api.text.documents import get_plain_format

    try:
        content = file.path.read_bytes()
        if get_plain_format(content):
            return None
        text, notes = decode(content)
        return {**into.about(file), "text": text}, notes
    except (OSError, KgError) as error:
        return _build_failure(file, error)


def _upload_one(client: KgClient, into: Destination, file: FileToIngest) -> Uploaded:
    try:
        return Uploaded(file, send_file(client.ingest_bytes, file, into))
    except CONCERNS_ALL:
        raise
    except (OSError, KgError) as error:
        return _build_failure(file, error)


def _build_failure(file: FileToIngest, error: OSError | KgError) -> Uploaded:
    unreadable = isinstance(error, OSError)
    return Uploaded(file, problem=f"cannot be read: {error.strerror or error}" if unreadable else str(error))


# Preview of content and cost


def show_preview(
    client: KgClient, selection: FileSelection, into: Destination, *, yes: bool, as_json: bool
) -> None:
    """Show the content and cost of an ingestion, and ask for confirmation."""
    with console.progress("documents") as bar, ThreadPoolExecutor(PARALLEL_UPLOADS) as pool:
        task = bar.add_task("looking", total=len(selection.files))
        found: list[DocumentPreview | None] = []
        for each in pool.map(partial(_preview, client, into), selection.files):
            bar.advance(task)
            found.append(each)
    previews = list(filter(None, found))
    total = sum_costs([each.cost for each in previews])
    if as_json and not yes:
        documents = [each.model_dump(mode="json") for each in previews]
        console.print_json({"preview": documents, "cost": total.model_dump(), "stored": False})
    else:
        to = console.stderr() if as_json else console.stdout()  # the result is the only JSON document
        unreadable = len(found) - len(previews)
        changes = Counter(each.change for each in previews)
        rows = [
            (
                "documents",
                f"{changes['created']} new, {changes['updated']} changed, {changes['unchanged']} unchanged"
                + (f", {unreadable} cannot be read" if unreadable else ""),
            ),
            ("strategy", next((each.config.strategy for each in previews), "-")),
            ("space", next((each.config.space for each in previews), "-")),
            *build_cost_rows(total),
        ]
        console.print_table(
            ["what", "how much"], rows, title=f"{into.ontology} (nothing is stored yet)", to=to
        )
    if yes:
        return
    if as_json:
        console.say("Nothing was stored: this is a preview. Pass --yes to continue.")
        raise typer.Exit
    if not sys.stdin.isatty():
        console.complain("nothing was stored, because no terminal can confirm. Pass --yes to continue")
        raise typer.Exit(options.SOME_FAILED)
    if not typer.confirm("Continue?", err=True):
        console.say("Nothing was stored.")
        raise typer.Exit


def sum_costs(costs: Sequence[Cost]) -> Cost:
    """Return the total cost. A value is unknown if the value of one document is unknown."""
    return Cost(
        documents=sum(each.documents for each in costs),
        sampled_documents=sum(each.sampled_documents for each in costs),
        sources=sum(each.sources for each in costs),
        chunks=sum(each.chunks for each in costs),
        tokens=sum(each.tokens for each in costs),
        seconds=_sum_known([each.seconds for each in costs]),
        price=_sum_known([each.price for each in costs]),
        context_price=_sum_known([each.context_price for each in costs]),
        notes=list(dict.fromkeys(note for each in costs for note in each.notes)),
    )


def _sum_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _preview(client: KgClient, into: Destination, file: FileToIngest) -> DocumentPreview | None:
    """Return the preview of a file, or None if the file cannot be read. The ingestion reports the reason."""
    try:
        return send_file(client.preview_bytes, file, into)
    except Unavailable:
        raise
    except (OSError, KgError):
        return None


# Notes on files. Many equal notes become one line

MAX_NAMED_ALONE = 3  # maximum number of files to list separately
_NUMBERS = re.compile(r"\d+(?:[-, ]+\d+)*")


def describe_duplicates(
    found: Sequence[tuple[str, str]], ontology: str | None, count: int | None = None
) -> Iterator[str]:
    """Describe the documents with the text of another document, or one line for many.

    Without an ontology, the documents follow the files of a synced folder.
    """
    count = len(found) if count is None else count
    if count <= MAX_NAMED_ALONE:
        for document, other in found:
            keep_one = (
                "To keep one, delete the other file"  # the next scan restores a deleted document
                if ontology is None
                else f"To keep one: kg delete document {shlex.quote(f'{ontology}/{document}')}"
            )
            yield f"{document} has the same text as {other}, and kg stores both. {keep_one}"
    else:
        document, other = found[0]
        yield f"{count} documents have the same text as another, such as {document} as {other}"


def describe_notes(ingested: Iterable[Ingested]) -> Iterator[str]:
    """Describe the notes on new and changed files. For many that differ only in numbers, yield the first."""
    alike: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for each in (each for each in ingested if each.change != "unchanged"):
        for note in each.notes:
            alike[_NUMBERS.sub("#", note)].append((each.document, note))
    for found in alike.values():
        if len(found) <= MAX_NAMED_ALONE:
            yield from (f"{document}: {note}" for document, note in found)
        else:
            document, note = found[0]
            yield f"{len(found)} files, such as {document}: {note}"


def describe_missing(client: KgClient, folder: Path, ontology: str) -> Iterator[str]:
    """Describe the documents of earlier ingests whose file in the folder no longer exists."""
    inside = f"uri contains '{folder.resolve().as_uri()}/'"
    try:
        page = client.documents(ontology, where=[inside], limit=MAX_PAGE)
    except KgError:  # the command itself has succeeded
        return
    paths = ((each.document, url2pathname(urlsplit(each.uri or "").path)) for each in page.documents)
    gone = [document for document, path in paths if not Path(path).is_file()]
    if gone and page.total <= MAX_PAGE:  # otherwise the count would be too low
        delete = f"kg delete document {shlex.quote(f'{ontology}/{gone[0]}')}"
        have = "document has" if len(gone) == 1 else "documents have"
        yield f"{len(gone)} {have} no file in {folder} any more, such as {gone[0]}. To delete: {delete}"


# Ingestion with a progress bar and a summary

EMBEDDING = "source_embedding"


@dataclass(slots=True)
class IngestOutcome:
    ingested: list[Ingested] = field(default_factory=list[Ingested])
    failed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    seconds: float = 0.0

    def jobs(self) -> list[str]:
        """Return the distinct jobs that embed new content."""
        return list(dict.fromkeys(each.job_id for each in self.ingested if each.job_id))


def run(client: KgClient, selection: FileSelection, into: Destination, *, wait: bool, as_json: bool) -> bool:
    """Upload files, optionally wait, and report. Return whether files were ingested without a failure."""
    ontology = into.ontology
    # check here once, and not in the service for each file
    validate(DocumentRequest, {"ontology": ontology, "document": "any", "metadata": into.metadata})
    client.health()  # report an absent service at once, but wait if the service becomes unavailable later
    begun, ended = time.monotonic(), False
    outcome = IngestOutcome(failed=[(each.path, each.reason) for each in selection.problems])
    try:
        with console.progress("documents") as bar:
            task = bar.add_task("ingesting", total=len(selection.files))
            for each in upload(client, selection.files, into):
                bar.advance(task)
                if each.ingested is not None:
                    outcome.ingested.append(each.ingested)
                else:
                    outcome.failed.append((to_printable(each.file.path), each.problem or ""))
        if wait and outcome.ingested:
            waited = [*outcome.jobs(), *list_unfinished_jobs(client, ontology=ontology, kind=EMBEDDING)]
            wait_until_embedded(client, ontology, list(dict.fromkeys(waited)))
        ended = True
    finally:
        outcome.seconds = round(time.monotonic() - begun, 2)
        if ended or outcome.ingested:  # otherwise the error says everything
            if as_json:
                console.print_json(
                    {
                        "documents": [each.model_dump(mode="json") for each in outcome.ingested],
                        "failed": [{"path": path, "error": reason} for path, reason in outcome.failed],
                        "left_out": dict(selection.left_out),
                        "left_out_files": [
                            {"path": path, "reason": reason} for path, reason in selection.review
                        ],
                        "jobs": outcome.jobs(),
                        "seconds": outcome.seconds,
                    }
                )
            else:
                _report(outcome, selection, ontology, waited=wait and ended)
    if any(each.change != "unchanged" for each in outcome.ingested) and not as_json:
        with suppress(KgError):  # the command itself has succeeded
            listed = client.ontologies().ontologies
            console.note(*(note for each in listed if each.ontology == ontology for note in each.notes))
    if wait and outcome.ingested and not as_json and (pending := describe_pending_concepts(client, ontology)):
        console.say(pending)
    return bool(outcome.ingested) and not outcome.failed


def _report(outcome: IngestOutcome, selection: FileSelection, ontology: str, *, waited: bool) -> None:
    changes = Counter(each.change for each in outcome.ingested)
    added, kept, removed = (
        sum(getattr(each.sources, name) for each in outcome.ingested) for name in ("added", "kept", "removed")
    )
    rest = f", {changes['waiting']} waiting for approval" if changes["waiting"] else ""
    console.line(
        f"{ontology}: {pluralize(changes['created'], 'document')} created, {changes['updated']} updated, "
        f"{changes['unchanged']} unchanged{rest}. {pluralize(added, 'source')} added, {kept} kept, "
        f"{removed} removed ({outcome.seconds:.1f} s)"
    )
    duplicates = [(each.document, each.duplicate_of) for each in outcome.ingested if each.duplicate_of]
    for line in describe_duplicates(duplicates, ontology):
        console.line(f"  {line}")
    for note in describe_notes(outcome.ingested):
        console.line(f"  note: {note}")
    for line in describe_skipped(selection):
        console.line(f"  {line}")
    for path, reason in outcome.failed:
        console.line(f"  failed: {path}: {reason}", "red")
    if not outcome.ingested:
        why = (
            ": all files were skipped"
            if selection.left_out
            else ": the folder contains no files, except perhaps hidden ones"
        )
        if outcome.failed:
            why = "."  # each failure has its reason
        elif any(map(is_ending, selection.left_out)):
            why = f". {READS}"
        console.complain(f"nothing was ingested{why}")
    if changes["waiting"]:
        console.say(f"Pending documents: kg documents waiting --ontology {ontology!r}")
    if outcome.jobs() and not waited:
        console.say("Full-text search finds them now. Embedding continues: kg jobs watch")


# Metadata from the command line

ABOUT = ("title", "uri")  # keys of a document that are not metadata


def read_changes(values: Sequence[str], several: Sequence[str], remove: Sequence[str]) -> dict[str, Any]:
    """Read the changes of a document as arguments of the client."""
    fields, lists = _read_fields(values, several, remove)
    about = {key: value for key, value in fields.items() if key in ABOUT}
    metadata: dict[str, Any] = {key: read_value(value) for key, value in fields.items() if key not in ABOUT}
    metadata |= lists | dict.fromkeys(remove)
    if not about and not metadata:
        raise typer.BadParameter("no changes given. Write KEY=VALUE")
    return {**about, "metadata": metadata}


def read_metadata(values: Sequence[str], several: Sequence[str]) -> dict[str, Any]:
    fields, lists = _read_fields(values, several)
    if own := [key for key in ABOUT if key in fields]:
        raise typer.BadParameter(
            f"{own[0]} differs per document. Change it with `kg documents set DOCUMENT {own[0]}=VALUE`"
        )
    return {key: read_value(value) for key, value in fields.items()} | lists


def _read_fields(
    values: Sequence[str], several: Sequence[str], remove: Sequence[str] = ()
) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """Read single values and lists by key. Each key can have one change."""
    fields, lists = [*map(_divide, values)], [*map(_divide, several)]
    keys = Counter([*(key for key, _ in (*fields, *lists)), *remove])
    if repeated := next((key for key, count in keys.items() if count > 1), None):
        raise typer.BadParameter(
            f"{repeated!r} is given more than once. For several values, write --list {repeated}=A,B"
        )
    return dict(fields), {key: _read_list(text) for key, text in lists}


def _read_list(text: str) -> list[Any]:
    """Return the values of a list. Values of several types become texts."""
    parts = [each.strip() for each in text.split(",")]
    values = [read_value(each) for each in parts]
    return values if len(set(map(type, values))) == 1 else parts


def _divide(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise typer.BadParameter(f"{text!r} is not KEY=VALUE.")
    return key.strip(), value.strip()
