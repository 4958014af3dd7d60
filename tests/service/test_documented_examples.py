import contextlib
import inspect
import io
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import neo4j
import pytest
from reportlab.pdfgen.canvas import Canvas

from kg_api.client import AsyncKgClient, KgClient
from kg_api.graph.client import Graph
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.support.concepts import state
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import quoting
from tests.support.running import environment, serve, started

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "python.md"
TOUR = ROOT / "tests" / "data" / "client_tour.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"  # prints (.+)$", re.MULTILINE)
ADDRESS = "http://127.0.0.1:8420"
FOLDER = "/srv/handbook"
LEAFLET = "/srv/leaflet.pdf"
INGESTING = 2


def list_examples(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.fixture
def places(server: Neo4jServer, driver: neo4j.Driver, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield a service and a worker with a language model, and replacements for the examples.

    The database is empty, because a second ingest would report unchanged documents.
    """
    wipe(driver)
    folder = tmp_path / "documented"
    folder.mkdir()
    (folder / "files").mkdir()
    leaflet = folder / "leaflet.pdf"
    canvas = Canvas(str(leaflet))
    canvas.drawString(72, 700, "Blueberries need acid soil.")
    canvas.save()
    with EmbeddingServer() as provider:
        provider.chat = quoting
        more = {"KG_LLM__MODEL": "small-writer", "OPENAI_BASE_URL": provider.openai_url}
        service, log = serve(server, folder, **more), folder / "worker.log"
        with started(["worker"], environment(server, **more, KG_WORKER__POLL_SECONDS="0.1"), log) as worker:
            yield {ADDRESS: service.url, FOLDER: str(folder / "files"), LEAFLET: str(leaflet)}
            assert worker.stop() == 0, worker.output()
        assert service.stop() == 0, service.output()


@pytest.mark.parametrize("page", [GUIDE, TOUR], ids=lambda page: page.stem)
def test_examples_print_documented_output(places: dict[str, str], graph: Graph, page: Path) -> None:
    names: dict[str, object] = {"state": partial(state, graph)}
    examples = list_examples(page)
    assert len(examples) > 6
    try:
        for number, written in enumerate(examples, start=1):
            run(f"{page.name}, example {number}", in_this_test(written, places), names)
            if number == INGESTING:
                again = dict[str, object](names)
                exec(in_this_test(written, places), again)  # noqa: S102 - our own page; a reader runs it twice
    finally:
        opened = names.get("kg")
        assert isinstance(opened, KgClient)
        opened.close()


def in_this_test(written: str, places: dict[str, str]) -> str:
    for documented, here in places.items():
        written = written.replace(documented, here)
    return written


def run(example: str, block: str, names: dict[str, object]) -> None:
    """Run an example after the earlier ones, and compare the lines that it prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, example, "exec"), names)  # noqa: S102 - our own page
    lines = iter(said.getvalue().splitlines())
    for expected in PRINTS.findall(block):
        assert expected in lines, f"{example} does not print {expected!r}:\n{said.getvalue()}"


def test_examples_import_only_dependencies_of_kg() -> None:
    code = "\n".join([*list_examples(GUIDE), *list_examples(TOUR)])
    imports = set(re.findall(r"^\s*(?:from|import) (\w+)", code, re.MULTILINE))
    assert imports - sys.stdlib_module_names <= {"kg_api", "PIL"}


@pytest.mark.parametrize("client", [KgClient, AsyncKgClient])
def test_client_methods_are_all_documented(client: type) -> None:
    guide, code = GUIDE.read_text(encoding="utf-8"), "\n".join(list_examples(TOUR))
    methods = {name for name, _ in inspect.getmembers(client, inspect.isfunction) if not name.startswith("_")}
    assert len(methods) > 40
    assert [name for name in sorted(methods) if f"`{name}`" not in guide and f".{name}(" not in guide] == []
    assert [name for name in sorted(methods) if f".{name}(" not in code] == []
