import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import typer

from kg_api.settings import list_variables
from kg_cli.main import app
from tests.support.routes import build_openapi

ROOT = Path(__file__).parents[2]
PRODUCT = sorted(path for package in ("kg_api", "kg_cli") for path in (ROOT / package).rglob("*.py"))
HOMES: dict[str, str | tuple[str, ...]] = {
    "neo4j": "kg_api/graph/",
    "fastapi": "kg_api/web/",
    "onnxruntime": "kg_api/onnx_sessions.py",
    "prometheus_client": ("kg_api/providers/", "kg_api/metrics.py"),
    "opentelemetry": "kg_api/tracing.py",
    "httpx": ("kg_api/client/", "kg_api/providers/"),
    "mcp": ("kg_api/mcp/", "kg_api/web/mcp_mount.py"),
    "typer": "kg_cli/",
}
"""Modules that are allowed to import a library."""

ENVIRONMENT = {"environ", "environb", "getenv", "putenv", "unsetenv"}
READS_THE_ENVIRONMENT = {
    "kg_api/convert/isolated/pool.py": "hands on the little that a converting process needs",
    "kg_api/local/processes.py": "hands it on to the processes it starts",
    "kg_api/metrics.py": "asks for a variable of prometheus_client, which reads it by itself",
    "kg_cli/terminal/console.py": "asks whether a desktop or a CI runs the command",
    "kg_api/web/shared/metrics_folder.py": "sets that variable, before prometheus_client is imported",
}
"""Other modules than settings.py that can read the environment, with the reason."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def references(path: Path) -> tuple[ast.Import | ast.ImportFrom | ast.Attribute, ...]:
    """List the imports and attributes of a module, as it takes long to walk through all nodes."""
    nodes = ast.walk(tree_of(path))
    return tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom | ast.Attribute))


@cache
def imports(path: Path) -> frozenset[str]:
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in references(path):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_in_its_home_only(library: str) -> None:
    users = {name_of(path) for path in PRODUCT if library in imports(path)}
    strangers = {name for name in users if not name.startswith(HOMES[library])}
    assert strangers == set()
    assert users, "the table is out of date: nobody imports it any more"


def place_of(dotted: str) -> str:
    path = ROOT.joinpath(*dotted.split("."))
    while not (is_folder := (path / "__init__.py").is_file()) and not path.with_suffix(".py").is_file():
        path = path.parent  # not `is_dir`: an older checkout leaves folders of compiled files behind
    if is_folder or len(path.relative_to(ROOT).parts) == 2:
        return name_of(path)
    return name_of(path.parent)


def test_no_folders_import_each_other_in_a_circle() -> None:
    below: dict[str, set[str]] = {}
    for path in PRODUCT:
        here = place_of(name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for node in references(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("kg_api", "kg_cli")):
                imported = {place_of(f"{node.module}.{alias.name}") for alias in node.names}
                below.setdefault(here, set()).update(imported - {here, "kg_api", "kg_cli"})
    TopologicalSorter(below).prepare()  # raises CycleError, which names the circle


def test_only_settings_reads_the_environment() -> None:
    readers = {name_of(path) for path in PRODUCT if ENVIRONMENT & set(os_attributes(path))}
    assert readers == set(READS_THE_ENVIRONMENT), "add it with its reason, or read a setting"


def os_attributes(path: Path) -> Iterator[str]:
    for node in references(path):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_importing_a_module_calls_nothing_of_weight(path: Path) -> None:
    """If you import a module, this should not open a client, a file, a process, a thread, or a
    setting."""
    forbidden = {"open", "load_settings", "Settings", "Graph", "Client", "AsyncClient", "FastAPI", "Thread"}
    forbidden |= {
        "Popen", "run", "connect", "create_app", "ThreadPoolExecutor", "mkdir", "read_text", "getLogger",
    }  # fmt: skip
    called = {name for statement in tree_of(path).body for name in calls_at_import(statement)}
    assert called & forbidden == ({"run"} if name_of(path) == "kg_cli/main.py" else set()), "main runs itself"


def calls_at_import(statement: ast.stmt) -> Iterator[str]:
    """Return the names of functions that are called by a statement when you import the module."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        todo.extend(ast.iter_child_nodes(node))


@pytest.fixture(scope="module")
def docs() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))


def settings() -> Iterator[str]:
    yield from (name for name, _ in list_variables())


def commands(group: typer.Typer = app, path: str = "kg") -> Iterator[str]:
    for command in group.registered_commands:
        if command.callback is not None and not command.hidden:
            yield f"{path} {command.name or command.callback.__name__.replace('_', '-')}"
    for below in group.registered_groups:
        if below.typer_instance is not None and below.hidden is not True:
            yield from commands(below.typer_instance, f"{path} {below.name}")


def operations() -> Iterator[str]:
    for path, methods in build_openapi()["paths"].items():
        yield from (f"{method.upper()} {path}" for method in methods)


def undocumented(names: Iterator[str], docs: str) -> list[str]:
    """Yield the names that are not documented. `kg jobs list` is not enough for `kg jobs`."""
    known = list(names)
    assert len(known) > 10
    return [name for name in known if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w/{{-])", docs)]


def test_every_setting_is_documented(docs: str) -> None:
    assert undocumented(settings(), docs) == []


def test_every_command_is_documented(docs: str) -> None:
    assert undocumented(commands(), docs) == []


def test_every_operation_is_documented(docs: str) -> None:
    assert undocumented(operations(), docs) == []


def test_the_map_of_packages_is_whole() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    mapped = set(re.findall(r"`(kg_(?:api|cli)/\w+)`", text))
    there = {name_of(path.parent) for path in PRODUCT if len(path.relative_to(ROOT).parts) == 3}
    assert mapped == there


def test_every_module_that_is_named_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(kg_(?:api|cli)/[\w/]+\.py)`", text))
    assert {name for name in named if not (ROOT / name).is_file()} == set()
