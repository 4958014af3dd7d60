"""What was exported and imported, as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kg_api.models.bundle.manifest import ImportedLines, Manifest
from kg_api.wording.plural import pluralize
from kg_cli.bundle.importing import OntologyImport
from kg_cli.terminal import console

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
        console.print_json({"ontologies": [_as_json(each) for each in imports], "left_out": list(left_out)})
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


def _as_json(each: OntologyImport) -> dict[str, Any]:
    return {**asdict(each), "done": each.done.model_dump(mode="json")}


def _describe(done: ImportedLines) -> str:
    told = [pluralize(done.stored, "new document")]
    told += [f"{done.replaced} replaced"] if done.replaced else []
    told += [f"{done.unchanged} unchanged"] if done.unchanged else []
    told += [f"{len(done.kept)} kept as they are here"] if done.kept else []
    told += [f"vectors of {pluralize(done.vectors, 'source')} taken"] if done.vectors else []
    told += [f"{pluralize(done.anew, 'source')} to embed anew"] if done.anew else []
    told += [f"concepts of {pluralize(done.concepts, 'source')}"] if done.concepts else []
    return ", ".join(told)
