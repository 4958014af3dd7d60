"""The commands of docs/quickstart.md, run in order as they are written there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.documented import ROOT, commands_in, section_of
from tests.support.embedders import small_embedder
from tests.support.running import Service

PAGE = "docs/quickstart.md"
FOLDER = "/tmp/notes"  # noqa: S108 - the folder that the page uses
WORD = re.compile(r'"[^"]+"|\S+')
OUTPUT = {
    "ingest": "2 documents",
    "search": "leases.md",
    "search seabirds": "",  # the model of tests knows no synonyms
    "show": "renews its lease",
    "documents": "birds.md",
    "read": "renews its lease",
}


@pytest.fixture
def notes(tmp_path: Path, driver: neo4j.Driver, migrated_graph: Graph) -> Path:
    """Return a folder with the files that the page creates."""
    wipe(driver)
    ensure_space(migrated_graph, small_embedder().identity)
    for text, name in re.findall(r"printf '(.+)' > /tmp/notes/(\S+)", (ROOT / PAGE).read_text("utf-8")):
        (tmp_path / name).write_text(text.replace("\\n", "\n"))
    return tmp_path


@pytest.mark.usefixtures("worker")
def test_quickstart_commands_print_results(kg: Kg, notes: Path, service: Service) -> None:
    sections = ("Ingest a folder", "Search", "Read around a hit")
    lines = [line for heading in sections for line in commands_in(section_of(PAGE, heading))]
    for line in lines:
        words = [each.strip('"') for each in WORD.findall(line.replace(FOLDER, str(notes)))]
        if words[0] in OUTPUT:
            done = kg(*words)
            assert done.returncode == 0, (line, done.stderr)
            assert OUTPUT.get(" ".join(words[:2]), OUTPUT[words[0]]) in done.stdout, (line, done.stdout)

    (code,) = re.findall(r"```python\n(.+?)```", section_of(PAGE, "Call kg from Python"), re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code.replace("http://127.0.0.1:8420", service.url), {})  # noqa: S102 - our own page
    assert "leases.md" in printed.getvalue()
