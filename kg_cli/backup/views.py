"""What was backed up and restored, as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from kg_api.backup.listing import FoundBackup
from kg_api.backup.manifest import BackupCounts
from kg_api.wording.plural import pluralize
from kg_cli.backup.making import MadeBackup
from kg_cli.backup.restoring import RestoredBackup
from kg_cli.terminal import console
from kg_cli.terminal.command import runnable

MEGABYTE = 1_000_000


def print_made(made: MadeBackup, *, as_json: bool) -> None:
    """Say where it is, what is in it, and what it took."""
    found = FoundBackup(made.path, made.manifest)
    if as_json:
        console.print_json({**found.as_json(), "removed": [str(path) for path in made.removed]})
        return
    manifest = made.manifest
    console.line(str(made.path))
    console.say(
        f"{megabytes(manifest.bytes)} in {manifest.seconds:.1f} s: {describe_counts(manifest.counts)}; "
        f"Neo4j stood still for {manifest.paused_seconds:.2f} s"
    )
    for each in manifest.left_out:
        console.note(f"not in the backup: {each}")
    for path in made.removed:
        console.say(f"removed, as the oldest: {path.name}")


def print_backups(found: Sequence[FoundBackup], folder: Path, *, as_json: bool) -> None:
    if as_json:
        console.print_json({"folder": str(folder), "backups": [each.as_json() for each in found]})
        return
    if not found:
        console.say(f"There are no backups in {folder}.")
        return
    console.print_table(["backup", "made", "size", "holds", "whole"], [_row(each) for each in found])


def print_restored(restored: RestoredBackup, *, as_json: bool) -> None:
    """Say what the home holds now, and what to do next."""
    if as_json:
        told = FoundBackup(restored.backup, restored.manifest).as_json()
        counts = restored.counts.model_dump()
        console.print_json({**told, "home": str(restored.home), "counts": counts, "notes": restored.notes})
        return
    console.line(f"{restored.home}: {describe_counts(restored.counts)}")
    console.note(*restored.notes)
    if restored.manifest.settings:
        console.note(f"these variables were set when it was made: {', '.join(restored.manifest.settings)}")
    console.say(f"Start it with: {runnable()} up")


def describe_counts(counts: BackupCounts) -> str:
    """Say what a database holds."""
    told = [pluralize(counts.ontologies, "ontology", "ontologies"), pluralize(counts.documents, "document")]
    told += [pluralize(counts.sources, "source"), pluralize(counts.concepts, "concept")]
    return ", ".join([*told, pluralize(counts.pictures, "picture")])


def megabytes(size: int) -> str:
    """Write a number of bytes."""
    return f"{size / MEGABYTE:,.1f} MB"


def _row(found: FoundBackup) -> list[str | Text]:
    whole = Text("yes", "green") if found.problem is None else Text(found.problem, "red")
    if (manifest := found.manifest) is None:
        return [found.path.name, "-", "-", "-", whole]
    made = manifest.made_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    counts = manifest.counts
    holds = f"{pluralize(counts.documents, 'document')}, {pluralize(counts.sources, 'source')}"
    return [found.path.name, made, megabytes(manifest.bytes), holds, whole]
