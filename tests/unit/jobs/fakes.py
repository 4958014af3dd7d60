from collections.abc import Callable
from typing import Any, cast

from kg_api.graph.client import Graph, Transaction

Answers = Callable[[str, dict[str, Any]], list[dict[str, Any]]]


class FakeGraph:
    """Graph that returns the given rows for a statement and records its calls."""

    def __init__(self, answers: Answers) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self._answers = answers

    def run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        self.ran.append((name, parameters))
        return self._answers(name, parameters)

    read = search = write = run

    def transaction(self, work: Callable[[Transaction], Any]) -> Any:
        return work(cast("Transaction", self))

    def count(self, name: str) -> int:
        return sum(each == name for each, _ in self.ran)

    @property
    def graph(self) -> Graph:
        return cast("Graph", self)
