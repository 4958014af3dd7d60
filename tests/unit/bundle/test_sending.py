from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from kg_api.client import KgClient
from kg_api.errors import TooLarge, Unavailable
from kg_api.schemas.bundles import ImportedLines, ImportOpened
from kg_api.transfer.bundles import check_bundle
from kg_cli.transfer.bundles import OntologyImport, import_ontology
from tests.support.bundles import KEY, HandmadeBundle, lines


class Service:
    """Client that accepts everything except chosen and too large items."""

    def __init__(self, most: int = 2**30, refusals: dict[str, Exception] | None = None) -> None:
        self._refusals = refusals or {}
        self._most = most
        self.taken: list[list[str]] = []
        """Kinds of the lines of each request."""

    def open_import(self, configuration: Any, **_: Any) -> ImportOpened:
        self._refuse("open_import")
        return ImportOpened(ontology=configuration.ontology, created=True, takes_vectors=True, notes=[])

    def import_blob(self, *_: Any) -> None:
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


@pytest.fixture
def bundle(tmp_path: Path) -> HandmadeBundle:
    return HandmadeBundle(tmp_path / "bundle")


@pytest.mark.parametrize("away", ["open_import", "import_blob", "import_lines"])
def test_briefly_unavailable_service_is_retried(bundle: HandmadeBundle, away: str) -> None:
    assert send(bundle, Service(refusals={away: Unavailable()})).done.stored == 1


def test_documents_that_are_too_large_are_named(
    bundle: HandmadeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg_cli.transfer.bundles.SENT_LINES", 1)
    bundle.lines += lines("b.md")
    bundle.lines[2]["sources"][1]["text"] += "A long text. " * 500
    bundle.save()
    done = send(bundle, Service(most=2000)).done
    assert done.stored == 1
    assert done.problems == ["b.md: more than 2000 bytes; raise KG_API__MAX_DOCUMENT_BYTES there"]


def test_too_large_image_names_the_setting(bundle: HandmadeBundle) -> None:
    done = send(bundle, Service(refusals={"import_blob": TooLarge("more than 5 bytes")})).done
    assert done.problems == [f"file {KEY}: more than 5 bytes; raise KG_API__MAX_DOCUMENT_BYTES there"]


def test_parts_of_a_document_may_follow(bundle: HandmadeBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg_cli.transfer.bundles.SENT_BYTES", 1)
    service = Service()
    send(bundle, service)
    assert service.taken == [["document"], ["passages"]]
