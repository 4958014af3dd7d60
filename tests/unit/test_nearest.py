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
    "KG_API_PORT": "KG_API__PORT",
    "KG_HOMES": "KG_HOME",
    "KG_SOMETHING__ELSE": None,
    "KG_API__PROT": "KG_API__PORT",
    "KG_API__NOTHING_LIKE_IT": None,
    "KG_API__SERVICE_PORT": None,
    "OPENAI_EMBED_DIM": "OPENAI_EMBED_DIMS",
    "openai_embedding_model": "OPENAI_EMBED_MODEL",
    "NOMIC_API_KY": "NOMIC_API_KEY",
    "COHERE_BASE_URI": "COHERE_BASE_URL",
}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
def test_misspelt_setting_suggests_the_nearest(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str | None
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(ConfigurationError, match=f"{name.upper()}: ") as raised:
        load_settings()
    assert f"Did you mean {meant}?" in str(raised.value) or meant is None


OF_OTHERS = {
    "KG_SERVICE_HOST": "10.0.0.1",
    "KG_API_PORT": "tcp://10.0.0.1:80",
    "KG_TEST_X__Y": "1",
    "KGX": "1",
    "KG_NEO4J_SERVICE_PORT": "7687",
    "KG_NEO4J_SERVICE_PORT_BOLT": "7687",
    "KG_NEO4J_PORT": "udp://10.0.0.1:7687",
    "KG_NEO4J_PORT_7687_TCP": "tcp://10.0.0.1:7687",
    "KG_NEO4J_PORT_7687_TCP_PROTO": "tcp",
    "KG_NEO4J_PORT_7687_TCP_PORT": "7687",
    **dict.fromkeys(
        ("OPENAI_ORG_ID", "OPENAI_LOG", "OPENAI_API_VERSION", "OPENAI_PROXY", "OPENAI_MODEL"), "x"
    ),
    **dict.fromkeys(("NOMIC_TOKEN", "COHERE_API_URL", "COHERE_MODEL"), "x"),
}
"""Variables of other programs, Kubernetes services, and the packages of providers."""


@pytest.mark.parametrize(("name", "value"), OF_OTHERS.items())
def test_variables_of_others_are_ignored(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    load_settings()
