from __future__ import annotations

from collections.abc import Iterator

import pytest

from kg_cli.terminal import console


@pytest.fixture
def own_consoles() -> Iterator[None]:
    """Consoles of the test's own: they write where its output is captured, as wide as it says."""
    console.stdout.cache_clear()
    console.stderr.cache_clear()
    yield
    console.stdout.cache_clear()
    console.stderr.cache_clear()
