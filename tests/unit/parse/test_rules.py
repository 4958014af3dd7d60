"""What is left out of folders: .gitignore, patterns, empty files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.errors import InvalidInput
from kg_api.text.files import FolderRules, select

ALL = FolderRules()


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def taken(folder: Path, rules: FolderRules | None = ALL) -> list[str]:
    return sorted(each.document for each in select([folder], {".md", ".py"}, rules=rules).files)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(
        tmp_path,
        a_dot_md="a",
        b_dot_py="b",
        build__c_dot_md="c",
        docs__d_dot_md="d",
        docs__build__e_dot_md="e",
    )
    return tmp_path


def test_gitignore_is_followed_from_where_it_stands(folder: Path) -> None:
    (folder / ".gitignore").write_text("*.py\n/build/\n# a comment\n\n!docs/kept.py\n")
    (folder / "docs" / ".gitignore").write_text("d.md\n")
    put(folder, docs__kept_dot_py="kept")
    assert taken(folder) == ["a.md", "docs/build/e.md", "docs/kept.py"]
    assert taken(folder, FolderRules(gitignore=False)) == taken(folder, None)
    found = select([folder], {".md", ".py"}, rules=ALL)
    assert found.left_out == {"ignored by .gitignore": 2, "folder ignored by .gitignore": 1}
    assert (str(folder / "b.py"), "ignored by .gitignore") in found.review


def test_a_repository_above_counts_and_a_folder_outside_one_does_not(folder: Path) -> None:
    (folder / ".gitignore").write_text("d.md\n")
    assert taken(folder / "docs") == ["build/e.md", "d.md"]
    (folder / ".git").mkdir()
    assert taken(folder / "docs") == ["build/e.md"]


def test_patterns_narrow_down(folder: Path) -> None:
    assert taken(folder, FolderRules(include=["docs/"])) == ["docs/build/e.md", "docs/d.md"]
    assert taken(folder, FolderRules(exclude=["build/", "*.py"])) == ["a.md", "docs/d.md"]
    assert taken(folder, FolderRules(include=["*.md"], exclude=["docs"])) == ["a.md", "build/c.md"]
    found = select([folder], {".md"}, rules=FolderRules(include=["a.*"], exclude=["build"]))
    assert found.left_out == {
        "not named by --include": 2,
        "folder excluded by --exclude": 2,
    }


def test_empty_files_are_left_out_of_folders_and_told(folder: Path) -> None:
    (folder / "__init__.py").touch()
    found = select([folder], {".md", ".py"}, rules=ALL)
    assert found.left_out == {"empty file": 1}
    assert not found.problems
    for name, said in (("b.md", " \n\t"), ("c.md", "\ufeff\n"), ("d.md", " " * 9000)):
        (folder / name).write_text(said)
    (folder / "e.md").write_text(" " * 9000 + "x")
    assert [
        path for path, reason in select([folder], {".md"}, rules=ALL).review if reason == "empty file"
    ] == [str(folder / name) for name in ("b.md", "c.md", "d.md")]
    assert [each.document for each in select([folder / "__init__.py"], {".py"}, rules=ALL).files] == [
        "__init__.py"
    ]


def test_what_is_named_itself_is_taken_whatever_is_ignored(folder: Path) -> None:
    (folder / ".gitignore").write_text("*\n")
    assert taken(folder) == []
    assert [each.document for each in select([folder / "a.md"], {".md"}, rules=ALL).files] == ["a.md"]


@pytest.mark.parametrize("text", ["!\n*.py\n", "\x00\n*.py\n", "a\\\n*.py\n", "***/\n*.py\n"])
def test_lines_that_are_no_patterns_are_passed_over(folder: Path, text: str) -> None:
    (folder / ".gitignore").write_text(text)
    assert "b.py" not in taken(folder)
    assert "a.md" in taken(folder)


def test_a_pattern_that_is_none_is_told(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="--exclude"):
        taken(folder, FolderRules(exclude=["!"]))


def test_a_folder_that_is_named_by_the_way_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".gitignore").write_text("/b.py\n")
    monkeypatch.chdir(folder / "docs")
    assert "b.py" not in taken(Path(".."))
    assert taken(Path()) == ["build/e.md", "d.md"]
