import contextlib
import io
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
from kg_api.schemas.constructive import ConstructiveQuery
from kg_api.schemas.spaces import FIRST_IMAGE_SLUG
from tests.process.cli.conftest import ROOT, Kg
from tests.support.concepts import state
from tests.support.embedding import run_jobs
from tests.support.images import drawn, encoded
from tests.support.mcp import answer, call
from tests.support.proposals import propose
from tests.support.running import Service
from tests.unit.evaluate.sets import write

Ids = Mapping[str, Callable[[], object]]
GUIDES = ROOT / "docs" / "guides"
BASH = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
JSON = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)
FILES = ("standup.jsonl", "contract.pdf", "draft.md", "IMG_9.jpg", "boat.jpg", "book.epub", "slides.pptx")
"""Files that are used in a guide without their folder."""
ASKING = ("delete ", "documents reject", "folders remove", "ingest ~/notes --ontology notes --preview")
LEFT_TO_OTHER_TESTS = {
    "ingest.md": ("--ocr always",),
    "search.md": ("answer ",),
    "concepts.md": ("llm", "concepts extract", "--ontology leases", "proposals", "subgraph"),
    "images.md": ("photos --wait", "book.epub", "documents page", "admin spaces", "down", "up"),
    "evaluation.md": ("eval make", "~/sets/notes", "~/sets/asked", "RESULT.json", "results delete"),
}
"""Commands that need a model, a program, a large corpus, another service, or the files of this
database."""
FRONT = "---\ntags: [oncall]\ndraft: false\nauthor: Ada\ndate: 2025-03-01\n---\n"
TEXTS = {
    "a.md": "The worker requires a lease, and so it supports safety.",
    "b.md": "A worker needs a lease. A frozen worker casts doubt on safety.",
}
STATED = {
    "a.md": [["worker", "requires", "lease"], ["lease", "supports", "safety"]],
    "b.md": [["worker", "needs", "lease"], ["frozen worker", "casts doubt on", "safety"]],
}
PRINTED: dict[str, dict[str, tuple[str, ...]]] = {
    "Review proposed links": {
        "proposals list": ("owls.md#0", "ears.md#0", "voles", "1 of 1 proposal"),
        "proposals show": ("source open", "Barn owls hunt at dusk", "of two documents"),
        "proposals accept": ("are linked", "kg proposals undo"),
        "proposals reject": ("are never proposed again",),
        "proposals undo": ("is open again",),
        "proposals search": ("kg checks everything again", "a worker searches for links"),
    },
    "Search relationships": {
        "concepts relations": ("worker requires lease", "The worker requires a lease"),
        "search": ("a.md", "b.md", "A worker needs a lease."),
        "admin relationship-types list": ("requires", "casts doubt on", "neutral", "supports"),
        "admin relationship-types preview": ("nothing was merged",),
        "admin relationship-types merge requires": ("read as 'requires'", "1 relationship"),
        "admin relationship-types merges": ("needs → requires", "Ada"),
        "admin relationship-types undo": ("is separate from 'requires' again",),
        "admin relationship-types stance": ("casts doubt on: contradicts",),
        "concepts show": ("grounding 0.67", "for: lease supports safety"),
    },
    "Build a subgraph": {
        "subgraph requires.json": (
            "worker requires lease",
            "The worker requires a lease",
            "Nodes after each step",
        )
    },
}
"""Sections in the guide to concepts that show the output of their commands."""
OPERATIONS = [
    ("security", "Create API keys", 4),
    ("security", "Rotate and revoke keys", 2),
    ("security", "See who changed what", 2),
    ("models", "Re-embed documents", 2),
    ("models", "Detect a changed model", 1),
    ("monitoring", "Watch jobs", 2),
    ("backup-and-transfer", "Export and import ontologies", 2),
]
"""Page, section, and number of commands that can be run with only a service."""
SKIPPED = ("jobs watch", "jobs retry", "jobs cancel", "admin regenerate-embeddings --ontology notes --force")
"""Commands that wait for a job or need the id of a job."""
QUICKSTART = {
    "ingest": "2 documents",
    "search": "leases.md",
    "search seabirds": "",  # the model of tests knows no synonyms
    "show": "renews its lease",
    "documents": "birds.md",
    "read": "renews its lease",
}


def section_of(page: str, heading: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def commands_in(text: str) -> list[str]:
    """Return the lines of a page's commands, without `kg` and comments."""
    lines = (line for block in BASH.findall(text) for line in block.splitlines())
    return [re.sub(r"\s+#.*", "", line).removeprefix("kg ") for line in lines if line.startswith("kg ")]


def check_commands(kg: Kg, commands: list[str], told: Mapping[str, tuple[str, ...]], ids: Ids) -> list[Any]:
    """Run commands and compare the output with the longest matching entry of `told`. Return the JSON that
    was printed."""
    seen, given = set[str](), list[Any]()
    for command in commands:
        done = kg(*(str(ids[word]()) if word in ids else word for word in shlex.split(command)))
        assert done.returncode == 0, (command, done.stderr)
        if command.endswith(("--json", "--schema")):
            given.append(json.loads(done.stdout))
            continue
        name = max((each for each in told if command.startswith(each)), key=len)
        seen.add(name)
        for expected in told[name]:
            assert expected in " ".join((done.stdout + done.stderr).split()), (command, done.stdout)
    assert seen == told.keys()
    return given


def run_guide(
    kg: Kg, page: str, home: Path, ids: Mapping[str, str], before: Mapping[str, Callable[[], Any]]
) -> None:
    unused = set(before)
    for command in commands_in((GUIDES / page).read_text(encoding="utf-8")):
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
    """Return 20 paragraphs. Each of them is long enough to be a source."""
    return "\n\n".join(f"Paragraph {n} says much about {topic}. " * 15 for n in range(20))


@pytest.fixture
def home(folder: Path, graph: Graph) -> Path:
    """Return a folder with the files that are used in the guides, and an empty database."""
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


def add_proposal(client: KgClient, graph: Graph) -> Ids:
    propose(client, graph)
    (found,) = client.proposals("notes", kind="source").proposals
    return {"PROPOSAL_ID": lambda: found.proposal_id}


def add_relationships(client: KgClient, graph: Graph) -> Ids:
    for name, text in TEXTS.items():
        client.ingest_text(text, ontology="leases", document=name)
    run_jobs(graph)
    for name, stated in STATED.items():
        state(graph, name, relations=stated, ontology="leases")
    run_jobs(graph)
    return {"MERGE_ID": lambda: client.relationship_type_merges("leases").merges[0].merge_id}


PREPARE = {
    "Review proposed links": add_proposal,
    "Search relationships": add_relationships,
    "Build a subgraph": add_relationships,
}


@pytest.mark.parametrize("heading", PRINTED)
def test_documented_concept_commands_print_expected_output(
    kg: Kg, client: KgClient, graph: Graph, folder: Path, heading: str
) -> None:
    section = section_of("docs/guides/concepts.md", heading)
    ids = {"requires.json": lambda: folder / "requires.json", **PREPARE[heading](client, graph)}
    for query in re.findall(r"`requires.json`:\n\n```json\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        (folder / "requires.json").write_text(query, encoding="utf-8")
    given = check_commands(kg, commands_in(section), PRINTED[heading], ids)
    match heading:
        case "Review proposed links":
            assert given[0]["total"] == 0, "the proposal is open again"
        case "Search relationships":
            grounding = given[-1]["grounding"]
            assert [grounding[name] for name in ("supporting", "contradicting", "strength")] == [1, 1, 0.5]
        case _:
            assert given[1] == ConstructiveQuery.model_json_schema()


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
def test_concepts_guide_commands_succeed(kg: Kg, home: Path, client: KgClient, graph: Graph) -> None:
    client.ingest_text("A worker renews its lease.", ontology="notes", document="notes/leases.md")
    client.set_extraction_config("notes", extractor="none")
    relations = [["heartbeat", "precedes", "retry"], ["lease", "needs", "heartbeat"]]
    state(graph, "notes/leases.md", relations=relations)
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
    unembedded = {"heading", "similarity"}
    assert documented["hits"][0].keys() - unembedded <= hit.keys()


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


def test_operations_commands_succeed(kg: Kg, folder: Path) -> None:
    (folder / "leases.md").write_text("# Leases\n\nA worker renews its lease.\n")
    assert kg("ingest", str(folder), "--ontology", "notes").returncode == 0
    for page, heading, number in OPERATIONS:
        lines = commands_in(section_of(f"docs/operations/{page}.md", heading))
        plain = [each for each in lines if each.split()[0] in {"admin", "jobs", "export", "import"}]
        chosen = [each for each in plain if not each.startswith(SKIPPED)]
        assert len(chosen) == number, heading
        for line in chosen:
            done = kg(*line.replace("'", "").replace("moving", str(folder / "bundle")).split())
            assert done.returncode == 0, (line, done.stderr)


@pytest.mark.usefixtures("worker")
def test_quickstart_commands_print_results(kg: Kg, folder: Path, service: Service) -> None:
    page = "docs/quickstart.md"
    for text, name in re.findall(r"printf '(.+)' > /tmp/notes/(\S+)", (ROOT / page).read_text("utf-8")):
        (folder / name).write_text(text.replace("\\n", "\n"))
    sections = ("Ingest a folder", "Search", "Read around a hit")
    lines = [line for heading in sections for line in commands_in(section_of(page, heading))]
    for line in lines:
        words = shlex.split(line.replace("/tmp/notes", str(folder)))  # noqa: S108 - the folder of the page
        if words[0] in QUICKSTART:
            done = kg(*words)
            assert done.returncode == 0, (line, done.stderr)
            expected = QUICKSTART.get(" ".join(words[:2]), QUICKSTART[words[0]])
            assert expected in done.stdout, (line, done.stdout)
    (code,) = re.findall(r"```python\n(.+?)```", section_of(page, "Call kg from Python"), re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code.replace("http://127.0.0.1:8420", service.url), {})  # noqa: S102 - our own page
    assert "leases.md" in printed.getvalue()
