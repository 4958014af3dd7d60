import io
from collections.abc import Callable, Iterator

import pytest
from rich.console import Console

from kg_cli.terminal import console


@pytest.fixture
def own_consoles() -> Iterator[None]:
    """Consoles of the test's own: they write where its output is captured, as wide as it says."""
    console.stdout.cache_clear()
    console.stderr.cache_clear()
    yield
    console.stdout.cache_clear()
    console.stderr.cache_clear()


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Return what both wide consoles have printed."""
    written = io.StringIO()
    out = Console(file=written, width=160)
    monkeypatch.setattr(console, "stdout", lambda: out)
    monkeypatch.setattr(console, "stderr", lambda: out)
    return written.getvalue
