import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.text.files import NO_EXTENSION, FileSelection, FolderFilter, FolderRules, select, to_printable

SUFFIXES = {".md", ".txt"}


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.fsencode(name))


def names(selection: FileSelection) -> list[str]:
    return [file.document for file in selection.files]


def test_folder_yields_files_by_relative_path(tmp_path: Path) -> None:
    put(tmp_path, "b.md", "a.txt", "deep/er/c.md", "deep/a.MD")
    selection = select([tmp_path], SUFFIXES)
    assert names(selection) == ["a.txt", "b.md", "deep/a.MD", "deep/er/c.md"]
    assert [file.path for file in selection.files] == [tmp_path / name for name in names(selection)]


def test_skipped_files_are_counted(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b.png", "c.PNG", "archive.tar.gz", ".env", ".git/config.md")
    (tmp_path / "program").write_bytes(b"\x7fELF\x02\x01\x01\x00")
    selection = select([tmp_path], SUFFIXES)
    assert (names(selection), selection.problems) == (["a.md"], [])
    assert selection.left_out == {".png": 2, ".gz": 1, NO_EXTENSION: 1}


def test_content_decides_without_an_extension(tmp_path: Path) -> None:
    texts = {
        "LICENSE": b"Permission is hereby granted\n",
        "Apache-2.0": b"Permission is hereby granted\n",
        "Notizen": "Das WLAN-Passwort h\xe4ngt am K\xfchlschrank, f\xfcr G\xe4ste\n".encode("latin-1"),
        "cut": ("a\n" + "\u20ac" * 4000).encode(),  # the 4096th byte is inside a character
    }
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    for name, content in {"tar": b"ustar\x00", "photo": b"\xff\xd8\xff\xe0", "blank": b" \n"}.items():
        (tmp_path / name).write_bytes(content)
    selection = select([tmp_path], SUFFIXES)
    assert names(selection) == [*sorted(texts)]
    assert selection.left_out == {NO_EXTENSION: 3}


def test_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert select([tmp_path], SUFFIXES).left_out == {NO_EXTENSION: 1}


def test_invalid_pattern_is_rejected_and_skipped_as_in_git(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--include and --exclude take patterns"):
        FolderFilter(tmp_path, FolderRules(exclude=("!",)))
    (tmp_path / ".gitignore").write_text("!\nb.md\n")
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("text")
    assert names(select([tmp_path], SUFFIXES, rules=FolderRules())) == ["a.md"]


def test_links_to_folders_are_counted_and_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "real/a.md")
    (tmp_path / "real" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a-link.md").symlink_to(tmp_path / "real" / "a.md")
    selection = select([tmp_path], SUFFIXES)
    assert names(selection) == ["a-link.md", "real/a.md"]
    assert selection.left_out == {"link to a folder": 1}


def test_second_file_of_equal_name_is_rejected(tmp_path: Path) -> None:
    put(tmp_path, "one/a.md", "one/b.md", "two/a.md")
    selection = select([tmp_path / "one", tmp_path / "one", tmp_path / "two"], SUFFIXES)
    assert [file.path for file in selection.files] == [tmp_path / "one/a.md", tmp_path / "one/b.md"]
    [(path, reason, _)] = selection.problems
    assert path == str(tmp_path / "two/a.md")
    assert str(tmp_path / "one/a.md") in reason
    assert "--prefix" in reason


def test_names_are_composed_and_compared(tmp_path: Path) -> None:
    put(tmp_path, "U\u0308ber/A\u0301.md")
    assert names(select([tmp_path], SUFFIXES, "E\u0301:")) == ["É:Über/Á.md"]
    put(tmp_path, "Über/Á.md")
    selection = select([tmp_path], SUFFIXES)
    assert names(selection) == ["Über/Á.md"]
    assert ["is used by" in each.reason for each in selection.problems] == [True]


def test_each_unreadable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to("nowhere")
    (tmp_path / "circle.md").symlink_to("circle.md")
    os.mkfifo(tmp_path / "pipe.md")
    put(tmp_path, "good.md")
    selection = select([tmp_path], SUFFIXES)
    assert names(selection) == ["good.md"]
    told = {Path(path).name: reason for path, reason, _ in selection.problems}
    assert told == {
        "circle.md": "cannot be read: Too many levels of symbolic links",
        "gone.md": "cannot be read: No such file or directory",
        "pipe.md": "cannot be read: the path is a pipe, a socket, or a device, not a file",
    }


def test_name_without_valid_utf8_is_reported(tmp_path: Path) -> None:
    put(tmp_path, os.fsdecode(b"caf\xe9.md"))
    [(path, reason, _)] = select([tmp_path], SUFFIXES).problems
    assert path.encode()
    assert path.endswith("caf\ufffd.md")
    assert reason == "the file name is not valid UTF-8. Rename the file"


@given(st.binary(max_size=30))
def test_everything_that_is_shown_can_be_printed(name: bytes) -> None:
    assert isinstance(to_printable(os.fsdecode(name)).encode(), bytes)


def test_url_suggests_to_save_the_page() -> None:
    with pytest.raises(InvalidInput, match="Save the page, and ingest the file"):
        select([Path("https://example.org/a.html")], SUFFIXES)
