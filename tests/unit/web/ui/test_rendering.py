from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from kg_api.web.ui.rendering import FOLDER, _templates


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\x1b", "\x9b", "\x07"])
def test_template_shows_reordering_and_control_characters(sign: str) -> None:
    page = _templates.from_string("<td>{{ name }}</td>").render(name=f"evil{sign}<b>txt.md")
    assert page == "<td>evil\ufffd&lt;b&gt;txt.md</td>"


def test_template_keeps_marks_of_arabic_and_hebrew() -> None:
    assert _templates.from_string("{{ name }}").render(name="\u200fשלום\n") == "\u200fשלום\n"


DECLARED = re.compile(r"^(?:const|let|var|class|(?:async )?function)\s", re.MULTILINE)


def test_page_script_keeps_its_names_private() -> None:
    script = (FOLDER / "page.js").read_text("utf-8")
    shared, block, own = script.partition("\n{")
    assert block, "all of it stands in a block"
    assert not DECLARED.search(shared)
    assert own.rstrip().endswith("\n}")


VENDOR = FOLDER / "vendor"
TOLD = json.loads((VENDOR / "packages.json").read_text(encoding="utf-8"))
LICENCES = {"0BSD", "MIT"}


def test_each_vendored_script_states_its_origin() -> None:
    assert {each.name for each in VENDOR.iterdir() if each.suffix in {".js", ".css"}} == TOLD.keys()


@pytest.mark.parametrize("name", TOLD)
def test_a_script_is_the_one_of_its_package(name: str) -> None:
    told = TOLD[name]
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == told["sha256"]
    assert told["licence"] in LICENCES
    assert (VENDOR / f"{Path(name).name.partition('.')[0]}.LICENSE").read_text(encoding="utf-8").strip()
    assert all(part.isdigit() for part in told["version"].split("."))
