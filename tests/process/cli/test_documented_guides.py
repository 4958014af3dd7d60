"""Run the commands of the guides, and check the tools and pages that they list."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from reportlab.pdfgen.canvas import Canvas

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.mcp.tools import TOOLS
from kg_api.providers.pixels import HistogramEmbedder
from kg_api.schemas.spaces import FIRST_IMAGE_SLUG
from tests.process.cli.conftest import Kg
from tests.support.documented import ROOT
from tests.support.images import drawn, encoded
from tests.support.mcp import answer, call
from tests.support.running import Service
from tests.unit.evaluate.sets import write

GUIDES = ROOT / "docs" / "guides"
BASH = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
JSON = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)
FILES = (
    "standup.jsonl",
    "contract.pdf",
    "draft.md",
    "IMG_9.jpg",
    "boat.jpg",
    "found.jsonl",
    "book.epub",
    "slides.pptx",
)
"""Files that a guide names without their folder."""
ASKING = ("delete ", "documents reject", "folders remove", "ingest ~/notes --ontology notes --preview")
"""Commands that need a confirmation."""
LEFT_TO_OTHER_TESTS = {
    "ingest.md": ("--ocr always",),
    "search.md": ("answer ", "--cursor"),
    "concepts.md": ("llm", "--ontology leases", "communities", "proposals", "subgraph", "openie"),
    "images.md": ("photos --wait", "book.epub", "documents page", "admin spaces", "down", "up"),
    "evaluation.md": ("eval make", "~/sets/notes", "~/sets/asked", "RESULT.json", "results delete"),
}
"""They need a model, a program, a large corpus, another service, or the files of this database."""
FRONT = "---\ntags: [oncall]\ndraft: false\nauthor: Ada\ndate: 2025-03-01\n---\n"


def list_commands(page: str) -> list[str]:
    """Return the `kg` commands of a guide, without `kg` and comments."""
    text = (GUIDES / page).read_text(encoding="utf-8")
    lines = (line for block in BASH.findall(text) for line in block.splitlines())
    return [re.sub(r"\s+#.*", "", line).removeprefix("kg ") for line in lines if line.startswith("kg ")]


def run_guide(
    kg: Kg, page: str, home: Path, ids: Mapping[str, str], before: Mapping[str, Callable[[], Any]]
) -> None:
    """Run the commands of a guide in their order; each must succeed."""
    unused = set(before)
    for command in list_commands(page):
        if any(each in f"{command} " for each in LEFT_TO_OTHER_TESTS[page]):
            continue
        for start in [each for each in unused if command.startswith(each)]:
            before[start]()
            unused.remove(start)
        words = [str(home / word) if word in FILES else word for word in shlex.split(command)]
        words = [word.replace("~", str(home), 1) if word.startswith("~/") else word for word in words]
        words = [ids.get(word, word) for word in words]
        if command.startswith(ASKING):
            words.append("--yes")
        done = kg(*words)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert not unused


def make_paragraphs(topic: str) -> str:
    """Return 20 paragraphs that are long enough to be sources of their own."""
    return "\n\n".join(f"Paragraph {n} says much about {topic}. " * 15 for n in range(20))


@pytest.fixture
def home(folder: Path, graph: Graph) -> Path:
    """A folder with the files that the guides name, and an empty database."""
    ensure_space(graph, HistogramEmbedder().identity, FIRST_IMAGE_SLUG)
    paragraphs = make_paragraphs("installation")
    files = {
        "notes/install.md": f"{FRONT}# Install\n\n{paragraphs}",
        "notes/plan.md": "# Plan\n\nWe decided to delay retries. Leases come next.",
        "notes/jobs.md": "---\ndate: 2019-05-01\n---\n# Jobs\n\nA worker renews its lease every ten seconds.",
        "papers/README.md": "# Papers\n\nThe paper on Kubernetes leases.",
        "inbox/new.md": "A letter about leases.",
        "standup.jsonl": '{"author": "Ada", "text": "Who renews the lease?"}\n',
        "draft.md": "Who renews the lease of a worker, and how often?",
    }
    for name, text in files.items():
        (folder.parent / name).parent.mkdir(exist_ok=True)
        (folder.parent / name).write_text(text, encoding="utf-8")
    canvas = Canvas(str(folder.parent / "contract.pdf"))
    canvas.drawString(72, 700, "The tenant renews the lease.")
    canvas.save()
    for name in ("Pictures/red boat.jpg", "IMG_9.jpg", "boat.jpg"):
        (folder.parent / name).parent.mkdir(exist_ok=True)
        (folder.parent / name).write_bytes(encoded(drawn(600, 400), "JPEG"))
    return folder.parent


@pytest.fixture
def client(service: Service) -> Iterator[KgClient]:
    with KgClient(service.url) as client:
        yield client


@pytest.mark.usefixtures("worker")
def test_ingest_guide_commands_succeed(kg: Kg, home: Path) -> None:
    plan = home / "notes" / "plan.md"

    def change() -> None:
        plan.write_text(f"{plan.read_text()}\n\nMore.", encoding="utf-8")

    def review_again() -> None:
        change()
        kg("ingest", str(home / "notes"), "--ontology", "notes", "--review")

    before = {"ingest ~/notes --ontology notes --review": change, "documents reject": review_again}
    run_guide(kg, "ingest.md", home, {}, before)


@pytest.mark.usefixtures("worker")
def test_search_guide_commands_succeed(kg: Kg, home: Path, client: KgClient) -> None:
    kg("ingest", str(home / "notes"), str(home / "papers"), "--ontology", "notes", "--wait")
    (first, *_) = client.documents("notes", where=["document=install.md"]).documents
    source = client.search_sources("lease", ontology="notes", mode="text").sources[0]
    ids = {"SOURCE_ID": source.source_id, "DOCUMENT_ID": first.document_id, "3f2a9c04": first.document_id[:8]}
    run_guide(kg, "search.md", home, ids, {})
    found = kg("search", "kubernetse", "--ontology", "notes")
    assert "Kubernetes" in found.stdout


@pytest.mark.usefixtures("worker")
def test_concepts_guide_commands_succeed(kg: Kg, home: Path, client: KgClient) -> None:
    row = next(
        block for block in JSON.findall((GUIDES / "concepts.md").read_text("utf-8")) if '"quotes"' in block
    )
    (home / "found.jsonl").write_text(row, encoding="utf-8")
    client.ingest_text("A worker renews its lease.", ontology="notes", document=json.loads(row)["document"])
    client.set_extraction_config("notes", extractor="keyphrase")
    relations = [["heartbeat", "precedes", "retry"], ["lease", "needs", "heartbeat"]]
    brought = client.import_concepts(
        [{"document": "notes/leases.md", "relations": relations}], ontology="notes"
    )
    assert not brought.problems
    run_guide(kg, "concepts.md", home, {}, {})


@pytest.mark.usefixtures("worker")
def test_images_guide_commands_succeed(kg: Kg, home: Path, client: KgClient) -> None:
    kg("ingest", str(home / "notes"), "--ontology", "notes")
    kg("ingest", str(home / "Pictures"), "--ontology", "photos")
    (image, *_) = client.images("photos").images
    ids = {"1f0c5a77": image.source_id[:8], "notes/harbours.epub#3": "notes/install.md#3"}
    run_guide(kg, "images.md", home, ids, {})


@pytest.mark.usefixtures("worker")
def test_evaluation_guide_commands_succeed(kg: Kg, home: Path, client: KgClient) -> None:
    write(home / "sets" / "handbook")
    text = make_paragraphs("retries")
    client.ingest_text(text, ontology="handbook", document="queues.md")
    run_guide(kg, "evaluation.md", home, {}, {})


@pytest.mark.usefixtures("home")
def test_agents_guide_lists_tools_and_example(service: Service, client: KgClient) -> None:
    page = (GUIDES / "agents.md").read_text(encoding="utf-8")
    assert set(ROW.findall(page)) == {f"`{name}`" for name in TOOLS}
    client.ingest_text(
        "Dictionaries have an operator to merge them.", ontology="python_peps", document="a.md"
    )
    arguments = next(json.loads(block) for block in JSON.findall(page) if '"query"' in block)
    (hit,) = answer(call(f"{service.url}/mcp", "search_sources", **arguments))["hits"]
    documented = next(json.loads(block) for block in JSON.findall(page) if block.startswith('{\n "hits"'))
    assert documented["hits"][0].keys() - {"heading"} <= hit.keys()


@pytest.mark.usefixtures("home")
def test_web_ui_guide_pages_exist(service: Service, client: KgClient) -> None:
    client.ingest_text("A lease ends.", ontology="handbook", document="a.md")
    (source,) = client.search_sources("lease", mode="text").sources
    ids = {"DOCUMENT": source.document_id, "PASSAGE": source.source_id}
    page = (GUIDES / "web-ui.md").read_text(encoding="utf-8")
    paths = re.findall(r"(/ui/[\w?=&>-]+(?:/[A-Z]+)?)", page)
    assert len(paths) > 15
    for path in paths:
        for name, value in ids.items():
            path = path.replace(name, value)  # noqa: PLW2901
        assert httpx.get(f"{service.url}{path}").status_code == 200, path
