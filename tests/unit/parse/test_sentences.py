from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.text import sentences
from kg_api.text.files import FolderRules, select
from kg_api.text.sentences import find_sentence_borders, guess_language


def pieces(text: str) -> list[str]:
    borders = [0, *find_sentence_borders(text, 0, len(text)), len(text)]
    return [text[start:end] for start, end in pairwise(borders)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Mr. Smith went home. ", "He slept."],
        ["Das ist z. B. gut für den Rest. ", "Der 3. Mai ist nicht der 4. Mai. ", "Dr. Müller kam."],
        ["你好。", "这是第二句！", "第三句？"],
        ["यह पहला वाक्य है। ", "यह दूसरा है।"],
        ["𝒜 one. ", "😀 two. ", "Three"],
        ["One.\n\n", "Two."],
    ],
)
def test_sentences_of_several_languages(expected: list[str]) -> None:
    assert pieces("".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The house is on the hill and it is old.", "en"),
        ("Das Haus ist auf dem Hügel und nicht alt.", "de"),
        ("La maison est sur la colline et pas dans la ville.", "fr"),
        ("Дом стоит на холме", "ru"),
        ("这是一个句子", "zh"),
        ("これは文です", "ja"),
        ("", "en"),
        ("12345 %%%", "en"),
    ],
)
def test_the_language_is_guessed(text: str, language: str) -> None:
    assert guess_language(text) == language


@given(st.text(st.sampled_from("aB .!?\n。“”\u200b"), max_size=200), st.integers(1, 30))
def test_sentence_boundaries_increase_in_any_window(text: str, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "_WINDOW", window)
        borders = list(find_sentence_borders(text, 0, len(text)))
    assert borders == sorted(set(borders))
    assert all(0 < border < len(text) for border in borders)


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


def test_gitignore_applies_below_its_folder(folder: Path) -> None:
    (folder / ".gitignore").write_text("*.py\n/build/\n# a comment\n\n!docs/kept.py\n")
    (folder / "docs" / ".gitignore").write_text("d.md\n")
    put(folder, docs__kept_dot_py="kept")
    assert taken(folder) == ["a.md", "docs/build/e.md", "docs/kept.py"]
    assert taken(folder, FolderRules(gitignore=False)) == taken(folder, None)
    found = select([folder], {".md", ".py"}, rules=ALL)
    assert found.left_out == {"ignored by .gitignore": 2, "folder ignored by .gitignore": 1}
    assert (str(folder / "b.py"), "ignored by .gitignore") in found.review


def test_gitignore_applies_only_within_a_repository(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / ".gitignore").write_text("d.md\n")
    assert taken(folder / "docs") == ["build/e.md", "d.md"]
    (folder / ".git").mkdir()
    (link := tmp_path_factory.mktemp("outside") / "link").symlink_to(folder / "docs")
    assert taken(folder / "docs") == taken(link) == ["build/e.md"]
    (folder / "docs" / ".git").mkdir()
    assert taken(folder / "docs") == ["build/e.md", "d.md"], "a repository within the other"


def test_patterns_narrow_down(folder: Path) -> None:
    assert taken(folder, FolderRules(include=["docs/"])) == ["docs/build/e.md", "docs/d.md"]
    assert taken(folder, FolderRules(exclude=["build/", "*.py"])) == ["a.md", "docs/d.md"]
    assert taken(folder, FolderRules(include=["*.md"], exclude=["docs"])) == ["a.md", "build/c.md"]
    found = select([folder], {".md"}, rules=FolderRules(include=["a.*"], exclude=["build"]))
    assert found.left_out == {"not named by --include": 2, "folder excluded by --exclude": 2}


def test_empty_files_in_folders_are_skipped_and_reported(folder: Path) -> None:
    (folder / "__init__.py").touch()
    found = select([folder], {".md", ".py"}, rules=ALL)
    assert found.left_out == {"empty file": 1}
    assert not found.problems
    for name, said in (("b.md", " \n\t"), ("c.md", "\ufeff\n"), ("d.md", " " * 9000)):
        (folder / name).write_text(said)
    (folder / "e.md").write_text(" " * 9000 + "x")
    review = select([folder], {".md"}, rules=ALL).review
    empty = [path for path, reason in review if reason == "empty file"]
    assert empty == [str(folder / name) for name in ("b.md", "c.md", "d.md")]
    assert taken(folder / "__init__.py") == ["__init__.py"]
