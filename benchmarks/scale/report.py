"""The sizes beside each other, and what the largest costs by the smallest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 160


def show(sizes: Mapping[str, Mapping[str, Any]]) -> None:
    """A table on stderr: a column a size, and the growth from the first to the last."""
    rows = {size: dict(_flat(told)) for size, told in sizes.items()}
    table = Table("", *(f"{int(size):,}" for size in sizes), "growth")
    for label in dict.fromkeys(label for told in rows.values() for label in told):
        values = [told.get(label) for told in rows.values()]
        table.add_row(label, *("" if each is None else f"{each:,}" for each in values), _growth(values))
    Console(stderr=True, width=WIDTH).print(table)


def _flat(told: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    for name, value in told.items():
        label = f"{before}: {name}" if before else name
        if isinstance(value, Mapping):
            yield from _flat(value, label)
        elif isinstance(value, int | float):
            yield label, value


def _growth(values: list[float | None]) -> str:
    first, last = values[0], values[-1]
    return f"{last / first:.2f} x" if len(values) > 1 and first and last else ""
