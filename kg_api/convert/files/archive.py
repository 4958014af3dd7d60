"""ZIP archives, checked by their directory before anything is unpacked."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib

from kg_api.errors import UnreadableDocument

MAX_ENTRIES = 10_000
MAX_BYTES = 512 * 1024 * 1024
"""Unpacked, all entries together."""
MAX_ENTRY_BYTES = 128 * 1024 * 1024
MAX_RATIO = 200
"""Unpacked bytes for one packed byte; XML packs to a twentieth, a bomb to a thousandth."""
_SMALL = 4 * 1024 * 1024
"""A ratio says nothing about what is small unpacked."""
_DAMAGE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError),
    *(LookupError, ValueError, RuntimeError, OverflowError),
)
"""What the standard library raises for archives that are damaged or meant to harm."""
_RECORD = b"PK\x01\x02"
"""Begins an entry of the directory. Whoever opens an archive reads them all, at half a kilobyte each, so they
are counted before; packed bytes look so by chance once in four gigabytes, archives within have some."""
_MAX_RECORDS = 10 * MAX_ENTRIES
_SAVE = "open it in the program that made it and save it again"


def open_archive(data: bytes, kind: str, *, needs: str = "") -> zipfile.ZipFile:
    """Open a ZIP archive whose entries can be read one by one without harm.

    Raises:
        UnreadableDocument: it is none, it is damaged or encrypted, it lacks the entry `needs`, or it would
            unpack to more than is read.
    """
    if not data:
        raise UnreadableDocument(f"it is empty, not {kind}")
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableDocument(
            f"it is not {kind}: an old or an encrypted Office file; save it anew, without a password"
        )
    if (records := data.count(_RECORD)) > _MAX_RECORDS:
        raise _too_many(records)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGE as error:
        raise UnreadableDocument(f"it is not {kind}, or a damaged one ({error}); {_SAVE}") from error
    _check(archive, kind)
    if needs and needs not in archive.namelist():
        raise UnreadableDocument(f"it is a ZIP archive but not {kind}: it has no {needs}")
    return archive


def _check(archive: zipfile.ZipFile, kind: str) -> None:
    entries = archive.infolist()
    unpacked, packed = sum(each.file_size for each in entries), sum(each.compress_size for each in entries)
    if len(entries) > MAX_ENTRIES:
        raise _too_many(len(entries))
    largest = max(entries, key=lambda each: each.file_size, default=None)
    if largest and largest.file_size > MAX_ENTRY_BYTES:
        raise UnreadableDocument(
            f"{largest.filename[:200]!r} in it unpacks to {largest.file_size:,} bytes; "
            f"{MAX_ENTRY_BYTES:,} are read at most"
        )
    if unpacked > MAX_BYTES:
        raise UnreadableDocument(f"it unpacks to {unpacked:,} bytes; {MAX_BYTES:,} are read at most")
    if unpacked > _SMALL and unpacked > MAX_RATIO * max(packed, 1):
        raise UnreadableDocument(
            f"it unpacks to more than {MAX_RATIO} times its size, as only a ZIP bomb does; {_SAVE}"
        )
    if any(each.flag_bits & 1 for each in entries):
        raise UnreadableDocument(f"it is encrypted; save {kind} without a password")


def _too_many(entries: int) -> UnreadableDocument:
    return UnreadableDocument(f"it has {entries:,} entries; {MAX_ENTRIES:,} are read at most")


def read_entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read one entry, as many bytes as the directory says and no more.

    Raises:
        UnreadableDocument: it is missing or damaged, or longer than it says.
    """
    try:
        with archive.open(name) as entry:
            return entry.read(MAX_ENTRY_BYTES)
    except _DAMAGE as error:
        raise UnreadableDocument(f"{name[:200]!r} in it is missing or damaged ({error}); {_SAVE}") from error
