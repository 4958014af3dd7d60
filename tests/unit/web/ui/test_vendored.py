from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from kg_api.web.ui.rendering import FOLDER

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
