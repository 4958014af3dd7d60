from __future__ import annotations

import pytest

from kg_api.web.ui.rendering import _templates


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\x1b", "\x9b", "\x07"])
def test_template_shows_reordering_and_control_characters(sign: str) -> None:
    page = _templates.from_string("<td>{{ name }}</td>").render(name=f"evil{sign}<b>txt.md")
    assert page == "<td>evil\ufffd&lt;b&gt;txt.md</td>"


def test_template_keeps_marks_of_arabic_and_hebrew() -> None:
    assert _templates.from_string("{{ name }}").render(name="\u200fשלום\n") == "\u200fשלום\n"
