"""Loading modules when they are first used, so that `kg --help` stays fast."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LateModule:
    """Stands for a module, which is imported when something of it is looked up.

    `importlib.util.LazyLoader` does not serve: it enters the module into `sys.modules`, where `inspect`, as
    pydantic uses it, loads it in the middle of another import.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
