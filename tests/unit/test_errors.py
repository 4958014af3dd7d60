from __future__ import annotations

import inspect
import re

import pytest

from kg_api import errors
from kg_api.errors import KgError

KINDS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, KgError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_error_has_message_status_and_exit_code(kind: type[KgError]) -> None:
    assert str(kind()) == inspect.getdoc(kind), "the docstring is the default message"
    assert str(kind("just this")) == "just this"
    assert 400 <= kind.status < 600
    assert 0 < kind.exit_code < 126, "codes from 126 on are the shell's"
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.slug())
