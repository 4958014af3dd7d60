import base64
import io
from typing import Any, cast

import nbformat
import pytest
from PIL import Image

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
        "skipped: 1 lines of tracebacks",
        "skipped: 1,043 characters of long outputs",
        "skipped: images in an unsupported format, or damaged (1)",
    )


@pytest.mark.parametrize(
    "data",
    [
        *(*BAD_BYTES, b"{}", b"[1]", b'"cells"', b'{"cells": 3}', b'{"cells": [[]], "nbformat": "x"}'),
        b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
        *(notebook()[:-20], b"[" * 200_000, b'{"worksheets": [null], "nbformat": 3}'),
        b'{"cells": [null], "nbformat": 4, "metadata": []}',
    ],
)
def test_invalid_bytes_are_rejected(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match=r"\w+ \w+"):
        convert(data)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (
            {"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": "**42** tons"},
            "**42** tons",
        ),
        (
            {"text/plain": "<IPython.core.display.HTML object>", "text/html": "<p>10<sup>6</sup> tons</p>"},
            "10⁶ tons",
        ),
        ({"text/html": "<b>43 tons</b>"}, "43 tons"),
        ({"text/latex": "$44$"}, "$44$"),
        ({"text/plain": "45", "text/html": "<b>45</b>"}, "45"),
        ({"text/plain": "\x1b[31m46\x1b[0m tons"}, "46 tons"),
        ({"text/plain": " 0% 1/9\r50% 5/9\r99% 9/9\n47"}, "99% 9/9\n47"),
        ({"text/plain": "48\r\n49"}, "48\n49"),
    ],
)
def test_displayed_output_is_read(data: dict[str, str], shown: str) -> None:
    cells = [new.new_code_cell("", outputs=[new.new_output("display_data", data=data)])]
    got = convert(cast("Any", nbformat).writes(new.new_notebook(cells=cells)).encode())
    assert got.text == f"```\n{shown}\n```\n"
    assert got.notes == ()


def draw_square() -> str:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


@pytest.mark.parametrize(
    "source", ["![A map](data:image/png;base64,{})", "<img alt='A map' src='data:image/png;base64,{}'>"]
)
@pytest.mark.parametrize("file", [draw_square(), "iVBORw0KGgo"])
def test_image_in_data_uri_is_not_text(source: str, file: str) -> None:
    cells = [new.new_markdown_cell(f"Before.\n\n{source.format(file)}\n\nAfter 5.")]
    got = convert(cast("Any", nbformat).writes(new.new_notebook(cells=cells)).encode())
    assert file[:11] not in got.text
    assert_in_order(got, ["Before.", "A map", "After 5."])
    assert len(got.images) + len(got.notes) == 1


@pytest.mark.parametrize(
    ("source", "end"),
    [
        ("```python\nx = 1", "\n```"),
        ("~~~", "\n~~~"),
        ("```\nx\n```", ""),
        ("<!-- open", "\n-->"),
        ("<!-- a -->", ""),
    ],
)
def test_open_block_ends_with_its_cell(source: str, end: str) -> None:
    cells = [new.new_markdown_cell(source), new.new_markdown_cell("# Next\n\nText 5.")]
    got = convert(cast("Any", nbformat).writes(new.new_notebook(cells=cells)).encode())
    assert got.text == f"{source}{end}\n\n# Next\n\nText 5.\n"
