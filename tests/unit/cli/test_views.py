import importlib
import inspect
import pkgutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import count
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

import kg_api.schemas
import kg_cli
from kg_api.client import KgClient
from kg_api.client.call import Call
from kg_api.evaluation.comparing import compare
from kg_api.local import processes
from kg_api.local.processes import ApiAnswer
from kg_api.schemas import operations
from kg_api.settings import Settings
from kg_api.text.files import FileSelection
from kg_cli.documents import ingestion
from kg_cli.documents.ingestion import IngestOutcome
from kg_cli.evaluate.run import SavedResult, print_comparison, print_result
from kg_cli.jobs import report
from kg_cli.stack import doctor
from kg_cli.terminal.answers import ANSWERED, Table, call_view
from tests.support.evaluations import measured
from tests.support.stored import compare_with_stored

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
OPTIONS = {
    "as_json": False,
    "folder": Path("bundle"),
    "kg": None,
    "kind": None,
    "left_out": ["logs"],
    "ontology": "notes",
    "overlap_hours": 1.5,
}
ELSEWHERE = {
    *(
        "admin.concepts.print_progress",
        "admin.concepts.list_type_merges",
        "documents.commands.print_page",
        "search.views.print_passage",
    ),
    *("evaluate.run.print_comparison", "evaluate.run.print_result", "search.views.print_subgraph"),
    *("terminal.answers.print_rows", "terminal.console.print_json", "terminal.console.print_table"),
}
"""Parts of views, views that call the service or write files, and answers whose parts name each other."""
NECESSARY = {
    "last_scan.duplicate_files",
    "passages.sources",
    "sources.explanation.mmr_score",
    "sources.explanation.rerank_score",
}
"""Parts that are always there with other parts of the answer."""


def answer_of(method: str) -> type[BaseModel]:
    """Return the model that a method of the client returns."""
    (answer,) = get_args(get_type_hints(inspect.unwrap(getattr(KgClient, method)))["return"])
    return answer


class Examples:
    """Builder of answers. All values of an answer differ.

    `full` has all optional parts. `sparse` has none, and one item in each list. `empty` has no items either.
    `full` can lack one part, such as `workers.job`, whose other values stay the same.
    """

    def __init__(self, kind: str, without: str = "") -> None:
        self._kind, self._is_full, self._numbers = kind, kind == "full", count(2)
        self._without, self._path = without, list[str]()
        self.parts = dict[str, None]()
        """Parts that can be absent, in the order of the fields."""

    def build(self, annotation: Any, name: str = "") -> Any:
        self._path += [name] if name else []
        value, part = self._build(annotation, name), ".".join(self._path)
        del self._path[len(self._path) - bool(name) :]
        is_optional = type(None) in get_args(annotation)
        if name and (is_optional or isinstance(value, bool | list)):
            self.parts[part] = None
            if part == self._without:
                return None if is_optional else type(value)()
        return value

    def _build(self, annotation: Any, name: str = "") -> Any:  # noqa: PLR0911 - a case each
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self._build(arguments[0], name)
        if origin is Literal:
            return self._choose(arguments)
        if origin in {Union, UnionType}:
            if not self._is_full and type(None) in arguments:
                return None
            return self._build(next(each for each in arguments if each is not type(None)), name)
        if "Mapping" in str(origin) or origin is dict:
            return {"total": self._build(arguments[1], name)} if self._is_full or name == "timings_ms" else {}
        if arguments:
            length = {"full": 2, "sparse": int(inspect.isclass(arguments[0]) and arguments[0] is not str)}
            return [self._build(arguments[0], name) for _ in range(length.get(self._kind, 0))]
        if isinstance(annotation, type) and is_dataclass(annotation):
            hints = get_type_hints(annotation, localns=vars(operations)).items()
            return annotation(**{each: self.build(kind, each) for each, kind in hints})
        if issubclass(annotation, BaseModel):
            known = annotation.model_fields.items()
            return annotation.model_construct(**{each: self.build(f.annotation, each) for each, f in known})
        if issubclass(annotation, Enum):
            return self._choose([*annotation])
        number = next(self._numbers) if self._is_full else 0
        further = 1000 if name == "total" and self._is_full else 0  # more than this page has
        plain = {
            str: self.name(name, number),
            int: number + further,
            float: 1.01 * number,
            bool: self._is_full,
        }
        return plain.get(annotation, NOW - timedelta(hours=number))

    def name(self, name: str, number: int) -> str:
        return f"{name}{number or ''}"

    def _choose(self, values: Sequence[Any]) -> Any:
        return values[next(self._numbers) % len(values) if self._is_full else -1]


def list_views() -> Iterator[tuple[str, Callable[..., None], Any]]:
    """Yield the name, the view, and the type of its answer for all views."""
    modules = {
        module.name: vars(importlib.import_module(module.name))
        for package in (kg_cli, kg_api.schemas)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    }
    types = {name: each for known in modules.values() for name, each in known.items()}
    for command, (method, view, _) in ANSWERED.items():
        name = command.removeprefix("kg_cli.")
        if isinstance(view, Table) and name not in ELSEWHERE:
            yield name, view, answer_of(method)
    for module, known in modules.items():
        for function, view in known.items():
            name = f"{module}.{function}".removeprefix("kg_cli.")
            is_own = inspect.isfunction(view) and view.__module__ == module
            if is_own and function.startswith("print_") and name not in ELSEWHERE:
                answer = next(iter(inspect.signature(view).parameters.values())).annotation
                yield name, view, eval(answer.replace("schemas.", ""), types)  # noqa: S307 - an annotation


def print_ingested(outcome: IngestOutcome) -> None:
    skipped = FileSelection()
    for name in (
        ("a.rtf", "b.odt", "c.odt", "d.odp", "e.heic", "f.avif", "g.mbox", "h.xyz")
        if outcome.ingested
        else ()
    ):
        skipped.skip(Path(name), Path(name).suffix)
    ingestion._report(outcome, skipped, "notes", waited=False)


def examine_service(kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[doctor.DoctorFinding]:
    """Yield what `kg doctor` finds in example answers of a service."""

    def answer(_: object, call: Call[Any]) -> Any:
        return Examples(kind).build(call.answer)

    monkeypatch.setattr(KgClient, "_send", answer)
    monkeypatch.setattr(processes, "ask_ready", lambda *_, **__: ApiAnswer(reached=True, serves=True))
    yield from doctor._examine_service("http://kg", Settings(), fix="see its log", start="kg up")


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("own_consoles", "utc")
def test_views_print_what_is_stored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(report, "_count_seconds_until", lambda at: (at - NOW).total_seconds())
    printed: dict[str, list[str]] = {}
    known = set[tuple[str, ...]]()

    def call(view: Callable[..., None], answer: Any) -> list[str]:
        first = next(iter(inspect.signature(view).parameters))
        call_view(view, answer, {each: value for each, value in OPTIONS.items() if each != first})
        told = capsys.readouterr()
        return [line.rstrip() for line in (told.out + told.err).splitlines() if line.strip(" ─")]

    def record(name: str, kind: str, view: Callable[..., None], answer: Any) -> None:
        lines = call(view, answer)
        if kind != "empty" or lines != printed[f"{name}, sparse"]:
            printed[f"{name}, {kind}"] = lines

    def record_part(name: str, part: str, view: Callable[..., None], answer: Any) -> None:
        """Record the lines that change if a part is absent, unless they have been recorded."""
        full, lines = printed[f"{name}, full"], call(view, answer)
        removed = [f"- {line}" for line in full if line not in lines]
        changed = [line for line in lines if line not in full] or removed
        if changed and tuple(changed) not in known:
            known.add(tuple(changed))
            printed[f"{name}, without {part}"] = changed

    for name, view, answer in list_views():
        for kind in ("full", "sparse", "empty"):
            record(name, kind, view, Examples(kind).build(answer))
        examples = Examples("full")
        examples.build(answer)
        for part in [each for each in examples.parts if each not in NECESSARY]:
            record_part(name, part, view, Examples("full", part).build(answer))
    ranks = {"text": [3] * 12, "hybrid": [1] * 11 + [4], "vector": [3] * 11 + [4], "graph": [4] * 12}
    results = [measured(label, each) for label, each in ranks.items()]
    for kind in ("full", "sparse", "empty"):
        record("documents.ingestion", kind, print_ingested, Examples(kind).build(IngestOutcome))
        record("stack.doctor", kind, doctor.print_findings, [*examine_service(kind, monkeypatch)])
    record("evaluation", "result", print_result, SavedResult(results[0], Path("result.json")))
    record("evaluation", "comparison", print_comparison, compare(results, ["mrr@10", "recall@5"], "first"))
    compare_with_stored("views.txt", [line for name in printed for line in (f"=== {name}", *printed[name])])
