from __future__ import annotations

import time

import pytest

from kg_api.text.markdown import plain_title


@pytest.mark.parametrize("raw", ["`a" + " " * 200_000, "`a <" * 500_000, ":a:`" * 500_000, "[a](" * 500_000])
def test_a_title_without_end_takes_no_time(raw: str) -> None:
    start = time.process_time()
    assert len(plain_title(raw)) <= 200
    assert time.process_time() - start < 2


def test_a_title_is_one_line() -> None:
    assert plain_title(" a\n\tb\r\n c ") == "a b c"
