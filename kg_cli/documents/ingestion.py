"""An ingest as a person sees it: a bar while it runs, a summary at the end."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError
from rich.markup import escape

from kg_api.client import KgClient
from kg_api.errors import InvalidInput
from kg_api.models.base import OntologyName
from kg_api.models.library.documents import Ingested
from kg_api.models.library.metadata import Metadata, MetadataValue
from kg_api.parse.files import FileSelection, to_printable
from kg_api.wording.plural import pluralize
from kg_cli.concepts.pending import concepts_to_follow
from kg_cli.documents.notes import describe_duplicates, describe_notes
from kg_cli.documents.skipped import READS, describe_left_out, is_ending
from kg_cli.documents.upload import Destination, upload
from kg_cli.jobs.waiting import unfinished_jobs, wait_until_embedded
from kg_cli.terminal import console

EMBEDDING = "source_embedding"


@dataclass(slots=True)
class IngestOutcome:
    """What became of an ingest."""

    ingested: list[Ingested] = field(default_factory=list[Ingested])
    failed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Path and reason."""
    seconds: float = 0.0

    def jobs(self) -> list[str]:
        """The jobs that embed what is new, each once."""
        return list(dict.fromkeys(each.job_id for each in self.ingested if each.job_id))

    def duplicates(self) -> list[tuple[str, str]]:
        """Documents that say the same as others, each with the other one."""
        return [(each.document, each.duplicate_of) for each in self.ingested if each.duplicate_of]


def run(client: KgClient, selection: FileSelection, into: Destination, *, wait: bool, as_json: bool) -> bool:
    """Upload, wait if asked to, report; whether something was taken and nothing failed.

    Raises:
        InvalidInput: no ontology can have that name, or no document that metadata.
        JobFailed: the embeddings waited for will not come; what was stored is reported all the same.
        KgError: the service is away or refuses everything.
    """
    ontology = into.ontology
    _check_name(ontology)
    _check_metadata(into.metadata)
    client.health()  # an absent service is reported at once; one that goes away later is waited for
    begun = time.monotonic()
    ended = False
    outcome = IngestOutcome(failed=[(each.path, each.reason) for each in selection.problems])
    try:
        _upload(client, selection, into, outcome)
        if wait and outcome.ingested:
            waited = [*outcome.jobs(), *unfinished_jobs(client, ontology=ontology, kind=EMBEDDING)]
            wait_until_embedded(client, ontology, list(dict.fromkeys(waited)))
        ended = True
    finally:
        outcome.seconds = round(time.monotonic() - begun, 2)
        if ended or outcome.ingested:  # else the error is all that there is to tell
            _print_outcome(outcome, selection, ontology, waited=wait, as_json=as_json)
    if wait and outcome.ingested and not as_json and (told := concepts_to_follow(client, ontology)):
        console.say(f"{told} (kg admin concepts status --ontology {escape(repr(ontology))})")
    return bool(outcome.ingested) and not outcome.failed


def _check_name(ontology: str) -> None:
    try:
        TypeAdapter[str](OntologyName).validate_python(ontology)
    except ValidationError:
        raise InvalidInput(
            f"{ontology!r} cannot be the name of an ontology: take letters and digits of any script, "
            "'_', '-', '.' and inner spaces, 100 characters at most"
        ) from None


def _check_metadata(metadata: dict[str, MetadataValue]) -> None:
    """Told once, and not by the service for each file."""
    try:
        TypeAdapter[dict[str, MetadataValue]](Metadata).validate_python(metadata)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        about = f"{str(first['loc'][0])[:40]!r}: " if first["loc"] else ""
        reason = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"the metadata cannot be kept: {about}{reason}") from None


def _upload(client: KgClient, selection: FileSelection, into: Destination, outcome: IngestOutcome) -> None:
    with console.progress("documents") as bar:
        task = bar.add_task("taking in", total=len(selection.files))
        for each in upload(client, selection.files, into):
            bar.advance(task)
            if each.ingested is not None:
                outcome.ingested.append(each.ingested)
            else:
                outcome.failed.append((to_printable(each.file.path), each.problem or ""))


def _as_json(outcome: IngestOutcome, selection: FileSelection) -> dict[str, Any]:
    return {
        "documents": [each.model_dump(mode="json") for each in outcome.ingested],
        "failed": [{"path": path, "error": reason} for path, reason in outcome.failed],
        "left_out": dict(selection.left_out),
        "left_out_files": [{"path": path, "reason": reason} for path, reason in selection.review],
        "jobs": outcome.jobs(),
        "seconds": outcome.seconds,
    }


def _print_outcome(
    outcome: IngestOutcome, selection: FileSelection, ontology: str, *, waited: bool, as_json: bool
) -> None:
    if as_json:
        console.print_json(_as_json(outcome, selection))
    else:
        _report(outcome, selection, ontology, waited=waited)


def _report(outcome: IngestOutcome, selection: FileSelection, ontology: str, *, waited: bool) -> None:
    changes = Counter(each.change for each in outcome.ingested)
    added, kept, removed = (
        sum(getattr(each.sources, name) for each in outcome.ingested) for name in ("added", "kept", "removed")
    )
    waiting = f", {changes['waiting']} waiting for approval" if changes["waiting"] else ""
    skipped = f", {changes['skipped']} skipped" if changes["skipped"] else ""
    rest = skipped + waiting
    console.line(
        f"{ontology}: {pluralize(changes['created'], 'document')} created, {changes['updated']} updated, "
        f"{changes['unchanged']} unchanged{rest}; {pluralize(added, 'source')} added, {kept} kept, "
        f"{removed} removed ({outcome.seconds:.1f} s)"
    )
    for line in describe_duplicates(outcome.duplicates()):
        console.line(f"  {line}")
    for note in describe_notes(outcome.ingested):
        console.line(f"  note: {note}")
    for line in describe_left_out(selection):
        console.line(f"  {line}")
    for path, reason in outcome.failed:
        console.line(f"  failed: {path}: {reason}", "red")
    if not outcome.ingested:
        console.complain(f"nothing was taken in{_why_nothing(outcome, selection)}")
    if changes["waiting"]:
        console.say(escape(f"What waits is listed by: kg documents waiting --ontology {ontology!r}"))
    if outcome.jobs() and not waited:
        console.say("Full text finds them now; embedding goes on (kg jobs watch).")


def _why_nothing(outcome: IngestOutcome, selection: FileSelection) -> str:
    if outcome.failed:
        return "."  # each says why
    if any(is_ending(kind) for kind in selection.left_out):
        return f". {READS}"
    return (
        ": all is left out" if selection.left_out else ": there are no files there, but perhaps hidden ones"
    )
