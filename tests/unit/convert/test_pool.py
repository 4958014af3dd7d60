from __future__ import annotations

from typing import Any, cast

import pytest

from kg_api.convert.isolated.child import Request
from kg_api.convert.isolated.pool import ConverterDied, ConverterPool, ConverterProcess
from kg_api.schemas.documents import Converted
from kg_api.settings import ConversionSettings


class Recorded:
    """Process that closes its pool while it converts."""

    is_usable = True
    ended = False
    pool: ConverterPool

    def ask(self, *_: object) -> Converted:
        self.pool.close()
        return Converted("text")

    def end(self) -> None:
        self.ended = True


def test_process_busy_at_close_ends_after_its_file() -> None:
    process = Recorded()
    process.pool = ConverterPool(ConversionSettings(), lambda _: cast("Any", process))
    assert process.pool.convert(b"fine", "html").text == "text"
    assert process.ended


def test_file_over_the_time_limit_is_not_retried() -> None:
    process = ConverterProcess(ConversionSettings(max_seconds=1), "tests.support.hostile_child")
    assert isinstance(process.ask(Request("convert", "html"), [b"fine"]), Converted)
    with pytest.raises(ConverterDied, match="more than 1 s") as died:
        process.ask(Request("convert", "html"), [b"loop"])
    assert (died.value.late, died.value.again) == (True, False)
