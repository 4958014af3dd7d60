from __future__ import annotations

import json
from typing import Any, cast

import nbformat
import pytest

from kg_api.convert.notebook import convert
from kg_api.errors import UnreadableDocument
from tests.unit.convert.gate import BAD_BYTES, assert_in_order, kinds

new: Any = cast("Any", nbformat).v4


def notebook(**about: object) -> bytes:
    outputs = [
        new.new_output("stream", text="one\n" * 3),
        new.new_output("display_data", data={"image/png": "aaaa", "text/plain": "<Figure>"}),
        new.new_output("execute_result", data={"text/plain": "x" * 3_000}),
        new.new_output("error", ename="ValueError", evalue="bad value", traceback=["\x1b[31mred"]),
    ]
    cells = [
        new.new_markdown_cell("# Boiling water\n\nA *first* paragraph."),
        new.new_code_cell('print("```")\nx = 1', outputs=outputs),
        new.new_raw_cell("Raw words"),
        new.new_code_cell(""),
    ]
    book = new.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}, **about})
    return cast("Any", nbformat).writes(book).encode()


def test_cells_become_blocks() -> None:
    got = convert(notebook(authors=[{"name": "Ann Lee"}], title="Water"))
    assert got.text.startswith(
        '# Boiling water\n\nA *first* paragraph.\n\n````python\nprint("```")\nx = 1\n````\n\n```\none\none'
    )
    assert kinds(got.text) == ["heading", "paragraph", "code", "code", "paragraph"]
    assert_in_order(got, ["Boiling water", "x", "one one one", "Figure", "Raw words"])
    assert (got.title, got.metadata) == ("Water", {"author": "Ann Lee"})
    assert got.notes == (
        "left out: 1 lines of tracebacks",
        "left out: 1,043 characters of long outputs",
        "left out: pictures of other kinds than are read, or damaged (1)",
    )


def test_older_notebooks_are_read() -> None:
    cell = {"cell_type": "heading", "level": 2, "source": ["Old", "words"], "metadata": {}}
    sheets = [{"cells": [cell], "metadata": {}}]
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": sheets}
    assert convert(json.dumps(old).encode()).text == "## Old words\n"


@pytest.mark.parametrize(
    "data",
    [
        *(*BAD_BYTES, b"{}", b"[1]", b'"cells"', b'{"cells": 3}', b'{"cells": [[]], "nbformat": "x"}'),
        b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
        *(notebook()[:-20], b"[" * 200_000, b'{"worksheets": [null], "nbformat": 3}'),
        b'{"cells": [null], "nbformat": 4, "metadata": []}',
    ],
)
def test_bad_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match=r"\w+ \w+"):
        convert(data)
