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
from pydantic import SecretStr

from kg_api.errors import ConfigurationError
from kg_api.providers import model_files
from kg_api.providers.embedding import get_default_choice, open_embedder
from kg_api.providers.embedding_port import CATALOGUE, DEFAULT, PackagedModel, build_remote_model
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import TOKENIZER, WEIGHTS, describe, ensure_model, ensure_packaged
from kg_api.schemas.spaces import ModelChoice
from kg_api.sections import NomicSettings, OpenAISettings
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


def test_damaged_package_is_rejected(tmp_path: Path) -> None:
    jar, model = put_package(tmp_path, {"small.onnx": b"weights"})
    with pytest.raises(ConfigurationError, match=f"{jar.name} is damaged"):
        ensure_packaged(model, tmp_path)


def own(folder: Path) -> Settings:
    return load_settings(embedding=EmbeddingSettings(model_folder=folder))


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


def test_model_without_description_is_rejected(unknown: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"unknown weights .* model\.json"):
        describe(unknown)


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


def test_the_local_model_is_the_default() -> None:
    embedder = open_embedder(load_settings())
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.identity.model == "bge-small-en-v1.5"
    assert get_default_choice(load_settings()) == ModelChoice("local", "bge-small-en-v1.5")


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_packaged_model_is_had_by_its_name(name: str) -> None:
    settings = load_settings(embedding=EmbeddingSettings(model=name, threads=1))
    for embedder in (open_embedder(settings), open_embedder(load_settings(), ModelChoice("local", name))):
        assert embedder.identity.model == name
        assert embedder.embed_query("hello").shape == (embedder.identity.dimensions,)
        embedder.close()


def test_custom_model_is_opened_by_name(model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path, dirs_exist_ok=True)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))  # no longer the packaged bytes
    described = {"name": "my-model", "dimensions": 384, "max_tokens": 512, "pooling": "cls"}
    (tmp_path / "model.json").write_text(json.dumps(described))
    settings = load_settings(embedding=EmbeddingSettings(model_folder=tmp_path))
    for choice in (None, ModelChoice("local", "my-model")):
        assert open_embedder(settings, choice).identity.model == "my-model"


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [
        (ModelChoice("local", "bge-huge"), "KG_EMBEDDING__MODEL.*bge-huge.*all-MiniLM-L6-v2"),
        (ModelChoice("local", None, 100), "384 dimensions, not 100"),
        (ModelChoice("deterministic", "magic"), "word-hash"),
        (ModelChoice("openai"), "OPENAI_API_KEY is not set"),
    ],
)
def test_missing_model_is_rejected(choice: ModelChoice, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        open_embedder(load_settings(), choice)


def test_providers_are_had_by_their_names() -> None:
    settings = load_settings(
        openai=OpenAISettings(api_key=SecretStr("sk-1234"), embed_dims=256),
        nomic=NomicSettings(api_key=SecretStr("nk-1234")),
        embedding=EmbeddingSettings(provider="openai"),
    )
    assert get_default_choice(settings) == ModelChoice("openai", "text-embedding-3-small", 256)
    own = open_embedder(settings)
    nomic = open_embedder(settings, ModelChoice("nomic"))
    assert (own.identity.provider, own.identity.dimensions) == ("openai", 256)
    assert (nomic.identity.provider, nomic.identity.model) == ("nomic", "nomic-embed-text-v1.5")
    own.close()
    nomic.close()


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [
        ("text-embedding-3-small", 1537),
        ("text-embedding-3-small", 0),
        ("text-embedding-ada-002", 512),
        ("nomic-embed-text-v1.5", 256),
    ],
)
def test_unsupported_dimensions_are_rejected(model: str, dimensions: int) -> None:
    with pytest.raises(ConfigurationError, match=f"not {dimensions}. Correct OPENAI_EMBED_DIMS"):
        build_remote_model(ModelChoice("openai", model, dimensions), load_settings())


def test_configured_dimensions_apply_only_to_their_model() -> None:
    settings = load_settings(
        openai=OpenAISettings(embed_model="own-model", embed_dims=32),
        embedding=EmbeddingSettings(max_tokens=2000, query_prefix="q: ", price=0.5),
    )
    own = build_remote_model(ModelChoice("openai"), settings)
    assert (own.dimensions, own.facts.max_tokens, own.facts.query_prefix) == (32, 2000, "q: ")
    other = build_remote_model(ModelChoice("openai", "other-model", 64), settings)
    assert (other.dimensions, other.facts.max_tokens, other.facts.query_prefix) == (64, 512, "")
    with pytest.raises(ConfigurationError, match="OPENAI_EMBED_DIMS"):
        build_remote_model(ModelChoice("openai", "other-model"), settings)
