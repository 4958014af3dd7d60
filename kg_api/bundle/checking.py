"""Looking at a whole bundle before anything is done with it: sizes, checksums, counts, and every line."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from kg_api.bundle.folder import blob_path, keys_of, open_plain, raw_lines, read_blob, read_manifest
from kg_api.bundle.lines import CheckBounds, read_line
from kg_api.bundle.order import LineOrder
from kg_api.errors import InvalidInput
from kg_api.models.bundle.manifest import BundledBlobs, BundledFile, BundledOntology, LineCounts, Manifest

Advance = Callable[[int], None]
"""Told of bytes that were looked at."""


def check_bundle(folder: Path, check_bounds: CheckBounds, advance: Advance) -> Manifest:
    """Look at all of a bundle.

    Args:
        folder: where it is.
        check_bounds: of the JSON of a line.
        advance: told how far it is.

    Raises:
        NotFound: there is no bundle.
        InvalidInput: saying what is wrong with which file, and in which line.
    """
    manifest = read_manifest(folder, check_bounds)
    keys = set[str]()
    try:
        for each in manifest.files:
            _compare(each, look_at(folder / each.path, each.configuration, check_bounds, keys, advance))
        _check_blobs(folder, manifest.blobs, keys)
    except InvalidInput as error:
        raise InvalidInput(f"{error}. Nothing was changed.") from None
    return manifest


def look_at(
    path: Path, configuration: BundledOntology, check_bounds: CheckBounds, keys: set[str], advance: Advance
) -> BundledFile:
    """What a file of lines really is; the keys of all files that it needs are added to `keys`.

    Raises:
        InvalidInput: naming the first line that is wrong.
    """
    digest, size, number = hashlib.sha256(), 0, 0
    order = LineOrder(configuration.ontology)
    try:
        with open_plain(path) as file:
            for raw in raw_lines(file):
                number += 1
                digest.update(raw)
                size += len(raw)
                line = read_line(raw, check_bounds)
                order.add(line)
                keys.update(keys_of(line))
                advance(len(raw))
        order.end()
    except InvalidInput as error:
        raise InvalidInput(f"{path.name}, line {number}: {error}") from None
    return BundledFile(
        path=path.name,
        bytes=size,
        sha256=digest.hexdigest(),
        lines=order.counts,
        configuration=configuration,
    )


def _compare(told: BundledFile, found: BundledFile) -> None:
    if told.bytes != found.bytes:
        raise InvalidInput(
            f"{told.path} has {found.bytes:,} bytes, and {told.bytes:,} by the manifest: it was cut off or "
            "changed"
        )
    if told.sha256 != found.sha256:
        raise InvalidInput(f"{told.path} is not what the manifest tells of: its checksum is another one")
    if told.lines != found.lines:
        raise InvalidInput(
            f"{told.path} has {_counts(found.lines)}, and {_counts(told.lines)} by the manifest"
        )


def _counts(lines: LineCounts) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in lines.model_dump().items())


def _check_blobs(folder: Path, told: BundledBlobs, keys: set[str]) -> None:
    found = measure_blobs(folder, keys.difference(told.lost), whole=True)
    if (told.files, told.bytes) != (found.files, found.bytes):
        raise InvalidInput(
            f"the bundle has {found.files} files of {found.bytes:,} bytes that its documents need, and "
            f"{told.files} of {told.bytes:,} by the manifest"
        )


def measure_blobs(folder: Path, keys: set[str], *, whole: bool) -> BundledBlobs:
    """How many files there are, and how large; with `whole` each is looked at from beginning to end.

    Raises:
        InvalidInput: one is missing, or not what its name says.
    """
    size = 0
    for key in sorted(keys):
        if whole:
            size += len(read_blob(folder, key))
        else:
            size += os.lstat(blob_path(folder, key)).st_size
    return BundledBlobs(files=len(keys), bytes=size)
