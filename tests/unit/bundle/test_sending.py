"""Sending a bundle to a service that is away for a moment, or refuses a part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from kg_api.bundle.checking import check_bundle
from kg_api.client import KgClient
from kg_api.errors import Unavailable
from kg_api.models.bundle.manifest import ImportedLines, ImportOpened
from kg_api.web.limits.json_bounds import check_bounds
from kg_cli.bundle.importing import BundleSender, OntologyImport
from tests.support.bundles import HandmadeBundle

NOTHING = ImportedLines(
    stored=0, replaced=0, unchanged=0, kept=[], vectors=0, anew=0, concepts=0, problems=[]
)


class Service:
    """Takes all, but for what it is told to refuse, once each."""

    def __init__(self, **refusals: Exception) -> None:
        self._refusals = refusals

    def open_import(self, configuration: Any, **_: Any) -> ImportOpened:
        self._refuse("open_import")
        return ImportOpened(ontology=configuration.ontology, created=True, takes_vectors=True, notes=[])

    def import_blob(self, *_: Any) -> None:
        self._refuse("import_blob")

    def import_lines(self, _: str, lines: bytes, **__: Any) -> ImportedLines:
        self._refuse("import_lines")
        return NOTHING.model_copy(update={"stored": lines.count(b'"kind": "document"')})

    def _refuse(self, name: str) -> None:
        if name in self._refusals:
            raise self._refusals.pop(name)


def send(bundle: HandmadeBundle, service: Service) -> OntologyImport:
    manifest = check_bundle(bundle.folder, check_bounds, lambda _: None)
    sender = BundleSender(cast("KgClient", service), bundle.folder, manifest, replace=False)
    return sender.send(manifest.files[0], lambda _: None)


@pytest.fixture
def bundle(tmp_path: Path) -> HandmadeBundle:
    return HandmadeBundle(tmp_path / "bundle")


@pytest.mark.parametrize("away", ["open_import", "import_blob", "import_lines"])
def test_a_service_that_is_away_for_a_moment_is_asked_again(bundle: HandmadeBundle, away: str) -> None:
    assert send(bundle, Service(**{away: Unavailable()})).done.stored == 1
