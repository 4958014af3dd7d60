"""`kg eval run` that cannot be, through the real service."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.process.cli.conftest import Kg
from tests.support.embedders import small_embedder
from tests.unit.evaluate.sets import QRELS, write


@pytest.fixture(autouse=True)
def empty(graph: Graph) -> None:
    """An empty database, with the space that service and worker had made when they started."""
    ensure_space(graph, small_embedder().identity)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small set."""
    return write(tmp_path / "handbook")


BAD: dict[str, tuple[Callable[[Path], object], list[str], str]] = {
    "no set": (lambda folder: (folder / "corpus.jsonl").unlink(), [], "is not a question set"),
    "a line": (
        lambda folder: write(folder, qrels=QRELS + "q1\tx\t1\n"),
        [],
        "qrels.tsv, line 5: there is no",
    ),
    "mode": (lambda _: None, ["--mode", "fast"], "mode: "),
    "option": (lambda _: None, ["--option", "mood=good"], "there is no option mood"),
    "target": (lambda _: None, ["--target", "spans"], "handbook has no spans to measure"),
    "in place": (lambda _: None, ["--in-place"], "--in-place needs --ontology"),
}


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_run_is_said(kg: Kg, folder: Path, case: str) -> None:
    spoil, arguments, said = BAD[case]
    spoil(folder)
    ran = kg("eval", "run", "--set", str(folder), *arguments)
    assert ran.returncode == 2
    assert said in " ".join(ran.stderr.split())


def test_without_the_packages_their_names_are_told(folder: Path) -> None:
    code = f"""
import sys
sys.modules["ir_measures"] = None
from kg_cli.main import run_command
sys.exit(run_command(["eval", "run", "--set", {str(folder)!r}]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 78
    assert "pip install '.[eval]'" in ran.stderr
