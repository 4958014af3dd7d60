from __future__ import annotations

import pytest

from kg_api.errors import ConfigurationError
from kg_api.settings import load_settings
from kg_api.suggestions import nearest

NAMES = ["handbook", "notes", "guide/install.md", "Büro 2", "本棚"]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("handbok", "handbook"),
        ("HANDBOOK", "handbook"),
        ("note", "notes"),
        ("install.md", "guide/install.md"),
        ("ins", "guide/install.md"),
        ("büro", "Büro 2"),
        ("本", "本棚"),
    ],
)
def test_a_slip_of_the_finger_finds_the_name(wrong: str, meant: str) -> None:
    assert nearest(wrong, NAMES)[0] == meant


def test_what_only_shares_some_letters_is_not_near() -> None:
    files = ["CHANGELOG.md", "bad_dimensions.xlsx", "calibre-deu.epub", "0001-neo4j-is-the-only-store.md"]
    assert [nearest(wrong, files) for wrong in ("nope", "nope.md", "SOURCE_ID", "misch/nix.md")] == [[]] * 4
    assert nearest("calibre", files) == nearest("my calibre deu.epub", files) == ["calibre-deu.epub"]


MISSPELT = {
    "KG_EMBEDING__PROVIDER": "KG_EMBEDDING__PROVIDER",
    "KG_NEO4__PORT": "KG_NEO4J__PORT",
    "KG_API_PORT": "KG_API__PORT",
    "KG_HOMES": "KG_HOME",
    "KG_SOMETHING__ELSE": None,
    "KG_API__PROT": "KG_API__PORT",
    "KG_API__NOTHING_LIKE_IT": None,
}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
def test_misspelt_setting_group_suggests_the_nearest(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str | None
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(ConfigurationError, match=f"{name}: unknown setting") as raised:
        load_settings()
    assert ("Did you mean" in str(raised.value)) == (meant is not None)
    assert f"Did you mean {meant}?" in str(raised.value) or meant is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KG_SERVICE_HOST", "10.0.0.1"),
        ("KG_API_PORT", "tcp://10.0.0.1:80"),
        ("KG_TEST_X__Y", "1"),
        ("KGX", "1"),
    ],
)
def test_foreign_variables_are_ignored(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KG_NEO4J_SERVICE_HOST", "10.0.0.1"),
        ("KG_NEO4J_SERVICE_PORT", "7687"),
        ("KG_NEO4J_SERVICE_PORT_BOLT", "7687"),
        ("KG_WORKER_SERVICE_PORT", "80"),
        ("KG_API_SERVICE_PORT_HTTP", "80"),
        ("KG_NEO4J_PORT", "tcp://10.0.0.1:7687"),
        ("KG_API_PORT", "udp://10.0.0.1:80"),
        ("KG_NEO4J_PORT_7687_TCP", "tcp://10.0.0.1:7687"),
        ("KG_NEO4J_PORT_7687_TCP_PROTO", "tcp"),
        ("KG_NEO4J_PORT_7687_TCP_PORT", "7687"),
        ("KG_NEO4J_PORT_7687_TCP_ADDR", "10.0.0.1"),
        ("KG_API_PORT_53_UDP", "udp://10.0.0.1:53"),
    ],
)
def test_variables_of_kubernetes_services_are_ignored(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KG_API_PORT", "8420"),
        ("KG_NEO4J_PORT", "7687"),
        ("KG_API__SERVICE_PORT", "80"),
        ("KG_API_HOST", "x"),
    ],
)
def test_misspelt_settings_of_other_form_are_rejected(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=name):
        load_settings()


@pytest.mark.parametrize(
    ("name", "meant"),
    {
        "OPENAI_EMBED_DIM": "OPENAI_EMBED_DIMS",
        "OPENAI_BASEURL": "OPENAI_BASE_URL",
        "openai_embedding_model": "OPENAI_EMBED_MODEL",
        "NOMIC_API_KY": "NOMIC_API_KEY",
        "COHERE_BASE_URI": "COHERE_BASE_URL",
    }.items(),
)
def test_misspelt_provider_variable_is_rejected(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(ConfigurationError, match=rf"{name.upper()}: .* Did you mean {meant}\?"):
        load_settings()


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_ORG_ID", "OPENAI_PROJECT", "OPENAI_PROJECT_ID", "OPENAI_LOG", "OPENAI_ORGANIZATION"),
        *("OPENAI_WEBHOOK_SECRET", "OPENAI_ADMIN_KEY", "OPENAI_API_TYPE", "OPENAI_API_VERSION"),
        *("OPENAI_API_BASE", "OPENAI_PROXY", "OPENAI_MODEL", "OPENAI_API_KEY_PATH", "NOMIC_TOKEN"),
        *("COHERE_API_URL", "COHERE_MODEL"),
    ],
)
def test_variables_of_provider_sdks_are_accepted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    load_settings()
