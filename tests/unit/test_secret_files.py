from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from kg_api.errors import ConfigurationError
from kg_api.settings import list_secret_variables, list_set_variables, load_settings

PASSWORDS = [
    *("a/b:c@d", " two words ", "$HOME`x`\"'", "pässwörd-密码", "#%&?=+;", '{"json": 1}'),
    *("back\\slash", "[1]", "null", "-dash", "1e5"),
]
CANARY = "canary-4711"


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_password_file_is_read_verbatim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str, end: str
) -> None:
    monkeypatch.setenv("KG_NEO4J__URI", "bolt://127.0.0.1:1")
    with monkeypatch.context() as direct:
        direct.setenv("KG_NEO4J__PASSWORD", password)
        assert load_settings().neo4j.password == SecretStr(password)
    file = tmp_path / "password"
    file.write_bytes(f"{password}{end}".encode())
    monkeypatch.setenv("KG_NEO4J__PASSWORD_FILE", str(file))
    assert load_settings().neo4j.password == SecretStr(password)


def test_every_secret_supports_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = list_secret_variables()
    assert {"KG_API_KEY", "KG_NEO4J__PASSWORD", "KG_LLM__API_KEY", "KG_RERANK__API_KEY"} <= {*names}
    assert {"OPENAI_API_KEY", "NOMIC_API_KEY", "COHERE_API_KEY"} <= {*names}
    for name in names:
        file = tmp_path / name
        file.write_text(f"sk-{name.replace('_', '-').lower()}\n")
        monkeypatch.setenv(f"{name}_FILE", str(file))
    settings = load_settings()
    assert settings.api_key == SecretStr("sk-kg-api-key")
    assert settings.openai.api_key == SecretStr("sk-openai-api-key")
    assert settings.llm.api_key == SecretStr("sk-kg-llm--api-key")
    assert {*names} <= list_set_variables()


def test_unusable_file_is_rejected_with_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {"empty": b"\n", "binary": b"\xff\xfe", "large": b"x" * 70_000, "zero": b"a\0b"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    unusable = [str(tmp_path / each) for each in ("none", "empty", "binary", "large", "zero", "")]
    for path in [*unusable, "relative/file"]:
        monkeypatch.setenv("OPENAI_API_KEY_FILE", path)
        with pytest.raises(ConfigurationError, match=rf"OPENAI_API_KEY_FILE: {path}"):
            load_settings()


def test_secret_and_file_together_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(CANARY)
    monkeypatch.setenv("KG_API_KEY", CANARY)
    monkeypatch.setenv("KG_API_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ConfigurationError, match="KG_API_KEY is also set") as raised:
        load_settings()
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize("name", ["KG_API_KEY_FILES", "KG_NEO4J__PASWORD_FILE", "KG_NEO4J__URI_FILE"])
def test_misspelt_file_variable_is_rejected(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "/run/secrets/x")
    with pytest.raises(ConfigurationError, match=name):
        load_settings()
