from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

from kg_api import errors
from kg_api.errors import KgError

DRAWN = re.compile(r"^    ((?:[│├└─ ]{4})*)(\w+) +(\d{3}) +exit (\d+)", re.MULTILINE)


def classes(
    kind: type[KgError] = KgError, above: str | None = None
) -> Iterator[tuple[str, str | None, int, int]]:
    """The same of the classes, in the order of their definition."""
    yield kind.__name__, above, kind.status, kind.exit_code
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from classes(below, kind.__name__)


KINDS = [getattr(errors, name) for name, *_ in classes()]


def test_slugs_are_unique() -> None:
    slugs = [kind.slug() for kind in KINDS]
    assert len(set(slugs)) == len(slugs)
    assert "database-unavailable" in slugs


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_error_has_message_status_and_exit_code(kind: type[KgError]) -> None:
    assert str(kind()) == inspect.getdoc(kind), "the docstring is the default message"
    assert str(kind("just this")) == "just this"
    assert 400 <= kind.status < 600
    assert 0 < kind.exit_code < 126, "codes from 126 on are the shell's"
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.slug())
