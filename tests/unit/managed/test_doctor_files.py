from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.local.processes import Home
from kg_api.settings import load_settings
from kg_cli.stack.doctor import DoctorFinding, examine_files


def found(home: Path) -> DoctorFinding:
    (finding,) = examine_files(Home(home), load_settings(home=home))
    return finding


def test_the_folder_below_the_home_is_named(tmp_path: Path) -> None:
    finding = found(tmp_path / "home")
    assert (finding.name, finding.state) == ("files", "ok")
    assert finding.detail == f"images and PDFs are stored in {tmp_path / 'home' / 'blobs'}"


def test_configured_folder_or_bucket_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG_BLOBS__FOLDER", str(tmp_path / "files"))
    assert found(tmp_path).detail.endswith(f"in {tmp_path / 'files'}")
    monkeypatch.setenv("KG_BLOBS__S3__BUCKET", "pictures")
    assert found(tmp_path).detail.endswith("in the bucket pictures")


def test_file_instead_of_folder_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "files").write_text("no folder")
    monkeypatch.setenv("KG_BLOBS__FOLDER", str(tmp_path / "files"))
    finding = found(tmp_path)
    assert (finding.state, "KG_BLOBS__FOLDER" in finding.fix) == ("fail", True)
