import base64
import contextlib
import errno
import json
import os
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict, InvalidInput, NotFound, TooLarge, Unavailable
from kg_api.schemas import bundles
from kg_api.schemas.bundles import BundledDocument, BundleOffer, ImportedLines, ImportOpened
from kg_api.transfer import importing
from kg_api.transfer.bundles import check_bundle, require_format
from kg_api.transfer.importing import build_record, check_passages
from kg_cli.transfer import bundles as exporting
from kg_cli.transfer.bundles import OntologyImport, choose, import_ontology, split_to_parcels
from tests.support.bundles import HASH, KEY, PICTURE, TEXTS, HandmadeBundle, lines, vector

DOCUMENT, PASSAGES = range(2)
Spoil = Callable[[HandmadeBundle], object]
LONG_VECTOR = base64.b64encode(struct.pack("<3f", 1e20, 1e20, 0)).decode()


def check(folder: Path) -> int:
    seen = list[int]()
    check_bundle(folder, seen.append)
    return sum(seen)


@pytest.fixture
def bundle(tmp_path: Path) -> HandmadeBundle:
    return HandmadeBundle(tmp_path / "bundle")


def test_valid_bundle_is_accepted(bundle: HandmadeBundle) -> None:
    assert check(bundle.folder) == bundle.path.stat().st_size
    bundle.lines += lines("b.md")
    bundle.save()
    assert check(bundle.folder) == bundle.path.stat().st_size


@pytest.mark.parametrize("by", ["", ", written by kg 9"])
def test_other_format_is_rejected(by: str) -> None:
    require_format(bundles.FORMAT, by)
    expected = f"the bundle has format {bundles.FORMAT + 1}{by}, but this kg reads format {bundles.FORMAT}"
    with pytest.raises(InvalidInput, match=f"^{expected}$"):
        require_format(bundles.FORMAT + 1, *filter(None, [by]))


def cut(bundle: HandmadeBundle, size: int) -> None:
    bundle.path.write_bytes(bundle.path.read_bytes()[:-size])


def swap(bundle: HandmadeBundle) -> None:
    bundle.path.write_bytes(bundle.path.read_bytes().replace(b"The first", b"The FIRST"))


def link(bundle: HandmadeBundle) -> None:
    other = bundle.folder / "other"
    bundle.path.rename(other)
    bundle.path.symlink_to(other)


def device(bundle: HandmadeBundle) -> None:
    bundle.path.unlink()
    os.mkfifo(bundle.path)


def blob_link(bundle: HandmadeBundle) -> None:
    path = bundle.folder / "blobs" / KEY[:2] / KEY
    path.rename(bundle.folder / "other")
    path.symlink_to(bundle.folder / "other")


def told(**changes: Any) -> Spoil:
    return lambda bundle: (bundle.manifest.update(changes), bundle.save_manifest())


def file_told(**changes: Any) -> Spoil:
    """A manifest that says something else of the file of lines."""
    return lambda bundle: (bundle.manifest["files"][0].update(changes), bundle.save_manifest())


def said(at: int, items: str = "", **changes: Any) -> Spoil:
    """A line, or the first of its `items`, with other values."""

    def spoil(bundle: HandmadeBundle) -> None:
        line = bundle.lines[at]
        (line[items][0] if items else line).update(changes)
        bundle.save()

    return spoil


source = partial(said, DOCUMENT, "sources")
passage, chunk = (partial(said, PASSAGES, items) for items in ("passages", "chunks"))


def raw(line: bytes) -> Spoil:
    return lambda bundle: bundle.path.write_bytes(bundle.path.read_bytes() + line + b"\n")


SPOILT: dict[str, tuple[Spoil, str]] = {
    "cut off in a line": (lambda bundle: cut(bundle, 5), "line 1: the next line is cut off"),
    "cut off between lines": (
        lambda bundle: cut(bundle, len(bundle.path.read_bytes().splitlines(keepends=True)[-1])),
        "bytes instead of .* in the manifest. The file was cut off or changed",
    ),
    "a changed byte": (swap, "has another checksum"),
    "a wrong checksum": (file_told(sha256="0" * 64), "has another checksum"),
    "a wrong count": (file_told(documents=2), "1 documents and 2 sources.*says 2 and 2"),
    "a wrong size": (file_told(bytes=1), "bytes instead of 1 in the manifest"),
    "an unfinished export": (
        lambda made: (made.folder / "manifest.json").unlink(),
        "no bundle found.*which an export writes last",
    ),
    "no JSON in the manifest": (
        lambda made: (made.folder / "manifest.json").write_text("{"),
        "manifest.json",
    ),
    "an unknown format": (told(format=4), "has format 4"),
    "an unknown field": (told(extra=1), "extra"),
    "a path that leads up": (file_told(path="../ontology-0001.jsonl"), "files.0.path"),
    "an absolute path": (file_told(path="/etc/passwd"), "files.0.path"),
    "a link": (link, "cannot be read"),
    "a pipe": (device, "not a regular file"),
    "a missing file": (lambda bundle: bundle.path.unlink(), "cannot be read"),
    "a name of a picture that leads up": (said(DOCUMENT, original="../../../etc/passwd"), "original"),
    "a link for a picture": (blob_link, "cannot be read"),
    "another picture": (
        lambda bundle: bundle.folder.joinpath("blobs", KEY[:2], KEY).write_bytes(PICTURE + b"!"),
        "was changed or cut off",
    ),
    "a missing picture": (
        lambda bundle: bundle.folder.joinpath("blobs", KEY[:2], KEY).unlink(),
        "cannot be read",
    ),
    "no JSON": (raw(b"hello"), "line 3"),
    "an unknown kind": (raw(b'{"kind":"program"}'), "line 3"),
    "a number for a line": (raw(b"1"), "line 3"),
    "half a surrogate pair": (source(text="\ud800" + "a" * 18), "line 1"),
    "nested without end": (raw(b"[" * 100_000), "line 3"),
    "too many values": (raw(b"[" + b"1," * 200_000 + b"1]"), "line 3"),
    "a document of another ontology's name": (
        lambda bundle: bundle.manifest["files"].append(bundle.manifest["files"][0]) or bundle.save_manifest(),
        "duplicate file or ontology",
    ),
    "no source": (said(DOCUMENT, sources=[]), "sources"),
    "a block behind its source": (source(blocks=[["paragraph", 99]]), "a block starts after the end"),
    "metadata that is not finite": (said(DOCUMENT, metadata={"a": float("inf")}), "line 1"),
    "a number beyond 64 bits": (said(DOCUMENT, metadata={"a": 2**70}), "64 bits"),
    "a vector with NaN": (passage(vector=vector(1, float("nan"), 3)), "NaN"),
    "a vector without end": (passage(vector=vector(1, float("inf"), 3)), "infinite"),
    "a vector of great length": (passage(vector=LONG_VECTOR), "length 1"),
    "a vector of zeros": (passage(vector=vector(0, 0, 0)), "is zero"),
    "no vector": (passage(vector="bm90IGE="), "32-bit floats"),
    "no base64": (passage(vector="!!!!!!!!"), "base64"),
    "a paragraph twice": (passage(paragraph=1), "duplicate"),
    "a chunk that goes back": (chunk(first=1, last=0), "from a source to a later one"),
    "a chunk without a vector": (chunk(vector=None), "has a vector"),
    "a chunk of all": (chunk(first=0, last=2**31), "from a source to a later one"),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_corrupt_bundle_is_rejected(bundle: HandmadeBundle, spoilt: str) -> None:
    spoil, message = SPOILT[spoilt]
    spoil(bundle)
    with pytest.raises((InvalidInput, NotFound), match=message):
        check(bundle.folder)


def test_imported_document_counts_characters_of_its_text() -> None:
    line = {**lines()[0], "preface": "---\n", "characters": 3}
    record = build_record("notes", BundledDocument.model_validate(line))
    assert record.characters == record.sources[-1].end == len("---\n" + "".join(TEXTS))


@pytest.mark.parametrize(
    ("place", "fits"),
    [
        ({"first": 0, "last": 1, "offset": 18, "end_offset": 14}, True),
        ({"first": 0, "last": 1, "offset": 19, "end_offset": 16}, True),
        ({"first": 0, "last": 1, "offset": 20, "end_offset": 14}, False),
        ({"first": 0, "last": 1, "offset": 0, "end_offset": 17}, False),
        ({"first": 1, "last": 2, "offset": 0, "end_offset": 1}, False),
    ],
)
def test_chunk_beyond_its_stored_sources_is_rejected(place: dict[str, int], *, fits: bool) -> None:
    line = lines()[PASSAGES]
    line["chunks"][0].update(place)
    stored: Any = {at: SimpleNamespace(text=SimpleNamespace(full_text=text)) for at, text in enumerate(TEXTS)}
    with contextlib.nullcontext() if fits else pytest.raises(InvalidInput, match=r"exceeds|unknown source"):
        check_passages(bundles.BundledPassages.model_validate(line), stored)


@pytest.mark.parametrize(
    ("content", "own", "anew", "written"),
    [(HASH, "", 2, ["s0"]), (HASH, "keyphrase", 2, []), ("1" * 32, "", 2, [])],
    ids=["not extracted", "extracted here", "changed"],
)
def test_import_keeps_concepts_that_kg_extracted(
    monkeypatch: pytest.MonkeyPatch, content: str, own: str, anew: int, written: list[str]
) -> None:
    line = bundles.BundledPassages.model_validate(lines()[PASSAGES])
    stored = {
        at: SimpleNamespace(
            text=SimpleNamespace(source_id=f"s{at}", content_hash="h", full_text=text), extracted_with=own
        )
        for at, text in enumerate(TEXTS)
    }
    given = list[str]()

    def write(_: object, ontology: str, found: Any, mark: str) -> int:
        assert (ontology, mark) == ("notes", "m1")
        given.extend(each.source_id for each in found)
        return len(found)

    monkeypatch.setattr(importing, "hold_documents", lambda _, ids: dict.fromkeys(ids, content))
    monkeypatch.setattr(importing, "read_stored_sources", lambda *_: stored)
    monkeypatch.setattr(importing, "write_extractions", write)
    state: Any = SimpleNamespace(ontology="notes", texts=[], target=SimpleNamespace(mark=None))
    done, unused = ImportedLines(), cast("Any", None)
    importing._write_passages(unused, state, [line], done)
    assert given == written
    assert (done.anew, done.concepts) == (anew, len(written))


def test_overlong_line_is_not_read(bundle: HandmadeBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg_api.transfer.bundles.MAX_LINE_BYTES", 400)
    source(text="a" * 500)(bundle)
    with pytest.raises(InvalidInput, match="longer than 400 bytes"):
        check(bundle.folder)
    assert bundles.MAX_LINE_BYTES == 64 * 1024 * 1024


def test_a_message_repeats_no_text(bundle: HandmadeBundle) -> None:
    bundle.path.write_bytes(b'{"kind":"source","text":5,"secret":"tell nobody"}\n' + json.dumps({}).encode())
    with pytest.raises(InvalidInput) as refused:
        check(bundle.folder)
    assert "tell nobody" not in str(refused.value)


class Service:
    """Client that accepts everything except chosen and too large items."""

    def __init__(self, most: int = 2**30, refusals: dict[str, Exception] | None = None) -> None:
        self._refusals = refusals or {}
        self._most = most
        self.taken: list[list[str]] = []
        """Kinds of the lines of each request."""
        self.files: list[str] = []

    def open_import(self, configuration: Any, **_: Any) -> ImportOpened:
        self._refuse("open_import")
        return ImportOpened(ontology=configuration.ontology, created=True, takes_vectors=True, notes=[])

    def import_blob(self, key: str, content: bytes) -> None:
        assert content == PICTURE
        self.files.append(key)
        self._refuse("import_blob")

    def import_lines(self, _: str, lines: bytes, **__: Any) -> ImportedLines:
        self._refuse("import_lines")
        if len(lines) > self._most:
            raise TooLarge(f"more than {self._most} bytes")
        self.taken.append([json.loads(line)["kind"] for line in lines.splitlines()])
        return ImportedLines(stored=lines.count(b'"kind": "document"'))

    def _refuse(self, name: str) -> None:
        if name in self._refusals:
            raise self._refusals.pop(name)


def send(bundle: HandmadeBundle, service: Service) -> OntologyImport:
    manifest = check_bundle(bundle.folder, lambda _: None)
    client, file = cast("KgClient", service), manifest.files[0]
    return import_ontology(client, bundle.folder, manifest, file, replace=False, advance=lambda _: None)


@pytest.mark.parametrize("away", ["open_import", "import_blob", "import_lines"])
def test_briefly_unavailable_service_is_retried(bundle: HandmadeBundle, away: str) -> None:
    service = Service(refusals={away: Unavailable()})
    found = send(bundle, service)
    assert (found.ontology, found.created, found.takes_vectors, found.notes) == ("notes", True, True, [])
    assert found.done.stored == 1
    assert {*service.files} == {KEY}


def test_documents_that_are_too_large_are_named(
    bundle: HandmadeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg_cli.transfer.bundles.SENT_LINES", 1)
    bundle.lines += lines("b.md")
    bundle.lines[2]["sources"][1]["text"] += "A long text. " * 500
    bundle.save()
    service = Service(most=2000, refusals={"import_blob": TooLarge("a large file")})
    done = send(bundle, service).done
    assert service.files == [KEY], "a file of several documents once"
    assert done.stored == 1
    assert done.problems == [
        f"file {KEY}: a large file; raise KG_API__MAX_DOCUMENT_BYTES there",
        "b.md: more than 2000 bytes; raise KG_API__MAX_DOCUMENT_BYTES there",
    ]


def test_chosen_ontologies_are_imported_once_each(bundle: HandmadeBundle) -> None:
    manifest = check_bundle(bundle.folder, lambda _: None)
    assert [each.configuration.ontology for each in choose(manifest, None)] == ["notes"]
    assert choose(manifest, ["notes", "notes"]) == choose(manifest, None)
    with pytest.raises(NotFound, match="in the bundle"):
        choose(manifest, ["notes", "other"])


def export_nothing(folder: Path) -> None:
    nothing = {"ontologies": [], "documents": {}, "waiting": {}, "left_out": []}
    offer = BundleOffer.model_validate({**nothing, "format": 1, "kg_version": "1", "schema_version": 1})
    client = cast("KgClient", SimpleNamespace(export_offer=lambda _: offer))
    exporting.export_bundle(client, folder, None, print, print)


def test_export_needs_a_new_or_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "new" / "folder"):
        export_nothing(folder)
        with pytest.raises(Conflict, match="is not empty"):
            export_nothing(folder)


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "bundle"),
        (PermissionError(errno.EACCES, "Permission denied", "other"), "other"),
    ],
)
def test_failed_export_names_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, place: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exporting, "write_whole", fail)
    with pytest.raises(InvalidInput, match=f"^{place} cannot be written: {error.strerror}$"):
        export_nothing(Path("bundle"))


def test_parcels_are_as_large_as_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg_cli.transfer.bundles.SENT_LINES", 2)
    monkeypatch.setattr("kg_cli.transfer.bundles.SENT_BYTES", 5)
    (tmp_path / "lines").write_bytes(b"1\n2\n3\n44\n55\n666666\n7\n")
    parcels = [b"".join(each) for each in split_to_parcels(tmp_path / "lines")]
    assert parcels == [b"1\n2\n", b"3\n44\n", b"55\n", b"666666\n", b"7\n"]


@pytest.mark.parametrize("end", [0, 1000])
def test_quote_beyond_its_source_is_rejected(end: int) -> None:
    line = bundles.BundledPassages.model_validate(lines()[PASSAGES])
    line.passages[0].evidence[0].concepts[0].quotes[0].end = end
    stored: Any = {at: SimpleNamespace(text=SimpleNamespace(full_text=text)) for at, text in enumerate(TEXTS)}
    with pytest.raises(InvalidInput, match="a quote is not within its source"):
        check_passages(line, stored)
