"""`kg eval results`: saved results listed and deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.cli.conftest import Kg
from tests.support.evaluations import measured, save
from tests.support.running import Service


@pytest.fixture
def folder(service: Service) -> Iterator[Path]:
    """A result in the home of the service."""
    folder = service.log.parent / "home" / "evaluations"
    save(folder, "words", measured("text", [1, 2], ontology="bees"))
    yield folder
    shutil.rmtree(folder)


def test_results_are_listed_and_deleted(kg: Kg, folder: Path) -> None:
    listed = kg("eval", "results", "list", "--ontology", "bees")
    assert "words" in listed.stdout, listed.stderr
    assert "1 of 1 result" in listed.stderr + listed.stdout
    near = kg("eval", "results", "delete", "word", "--yes")
    assert near.returncode != 0
    assert "did you mean 'words'" in " ".join(near.stderr.split())
    assert kg("eval", "results", "delete", "words").returncode != 0, "it asks, and nobody answers"
    assert (folder / "words.json").is_file()
    assert "deleted: words" in kg("eval", "results", "delete", "words", "--yes").stderr
    assert list(folder.iterdir()) == []
