import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from kg_api.errors import ConfigurationError
from kg_api.settings import (
    BY_THEIR_OWN_NAMES,
    ConversionSettings,
    Settings,
    WorkerSettings,
    list_secret_variables,
    list_set_variables,
    list_variables,
    load_settings,
)
from kg_api.suggestions import find_nearest

CANARY = "canary-7f3b"
FREE = {
    *("KG_HOME", "KG_CACHE", "KG_API_KEY", "KG_NEO4J__USER", "KG_NEO4J__PASSWORD", "KG_NEO4J__DATABASE"),
    *("KG_API__HOST", "KG_EMBEDDING__MODEL_FOLDER", "KG_EMBEDDING__MODEL", "KG_LLM__MODEL"),
    *("KG_EMBEDDING__QUERY_PREFIX", "KG_EMBEDDING__PASSAGE_PREFIX", "OPENAI_EMBED_MODEL"),
    *("KG_RERANK__MODEL", "KG_RERANK__MODEL_DIR", "KG_BLOBS__FOLDER", "KG_BACKUP__FOLDER"),
    *("KG_IMAGE_EMBEDDING__FOLDER", "KG_IMAGE_EMBEDDING__QUERY_PREFIX"),
}

NO_KEYS = [
    *("sk-two words", "sk-line\nend", "'sk-abc'", '"sk-abc"', "Bearer sk-abc", "sk-schlüssel"),
    *("sk-your-key-here", "<key>", "sk-...", "sk-xxxx", "changeme", "sk-\x07bell", "your-api-key"),
    *("sk-proj-xxxxxxxx-XXXX", "YOUR_OPENAI_API_KEY", "example", "sk-placeholder", "sk-abc..."),
]
WRONG = [
    *(("KG_API_URL", value) for value in ("127.0.0.1:8420", "ftp://127.0.0.1")),
    *(("KG_NEO4J__URI", value) for value in ("http://127.0.0.1", "neo4j:7687", "bolt+s+s://x")),
    *(("KG_NEO4J__PORT", value) for value in ("0", "65536", "-1", "bolt", "7687.5")),
    *(("KG_NEO4J__HEAP_MB", "255"), ("KG_NEO4J__PAGECACHE_MB", "63")),
    *(("KG_API__ROOT_PATH", each) for each in ("kg", "//kg", "/a/../b", "/a b", "https://x.example/kg")),
    *(("KG_NEO4J__CONF", value) for value in ("db.format=block", "[1]", "{")),
    ("KG_NEO4J__CONF", '{"dbms.security.auth_enabled": "false"}'),
    ("KG_NEO4J__CONF", '{"server.bolt.listen_address": "0.0.0.0:7687"}'),
    ("KG_NEO4J__CONF", '{" server.directories.data": "/elsewhere"}'),
    ("KG_NEO4J__CONF", '{"db.format": "block\\nserver.http.enabled=true"}'),
    *((f"KG_API__{name}", value) for name, value in (("PORT", "65536"), ("PROCESSES", "65"))),
    *((name, "x") for name, _ in list_variables() if name.startswith(("KG_PROPOSALS__", "KG_COMMUNITIES__"))),
    ("KG_API__MAX_DOCUMENT_BYTES", "0"),
    *((name, "1") for name, _ in list_variables(constants=True)),
    *(("KG_WORKER__GRACE_SECONDS", value) for value in ("0", "-0.5", "nan", "86401")),
    *((f"KG_API__{name}", "-1") for name in ("REQUIRE_KEYS", "REQUESTS_PER_MINUTE")),
    *(("KG_API__ALLOWED_HOSTS", value) for value in ("http://kg.example", "kg.example:8420", "*")),
    *(("KG_API__ALLOWED_ORIGINS", value) for value in ("kg.example", "https://kg.example/", "*")),
    *(("KG_API__MAX_CONNECTIONS", value) for value in ("0", "many")),
    *((f"KG_CONVERSION__{name.upper()}", "-1") for name in ConversionSettings.model_fields),
    ("KG_EMBEDDING__PROVIDER", "magic"),
    *(("KG_EMBEDDING__QUERY_SECONDS", value) for value in ("0", "nan", "soon")),
    ("KG_EMBEDDING__MAX_TOKENS", "63"),
    *(("KG_EMBEDDING__PRICE", value) for value in ("-1", "inf", "$1")),
    ("KG_IMAGE_EMBEDDING__PROVIDER", "magic"),
    *(("KG_IMAGE_EMBEDDING__DIMENSIONS", value) for value in ("0", "4097", "many")),
    ("KG_IMAGE_EMBEDDING__MODEL", "m" * 201),
    ("KG_WORKER__METRICS_PORT", "65536"),
    ("KG_CONCEPTS__EXTRACTOR", "magic"),
    *(("KG_CONCEPTS__BUDGET", value) for value in ("-1", "inf", "$5")),
    *(("KG_SYNC__ROOTS", value) for value in ("notes", "~/notes", "/srv/notes:papers")),
    ("KG_SYNC__SCANS", "sometimes"),
    ("KG_LLM__BASE_URL", "localhost:1234"),
    ("KG_LLM__API_KEY", "two words"),
    ("KG_LLM__TIMEOUT_SECONDS", "0"),
    *(("KG_LLM__PRICE_INPUT", "-1"), ("KG_LLM__PRICE_OUTPUT", "nan")),
    ("KG_RERANK__PROVIDER", "magic"),
    *(("KG_RERANK__BASE_URL", value) for value in ("localhost:8080", "http://a:b@host")),
    ("KG_RERANK__API_KEY", "two words"),
    *(("KG_RERANK__SECONDS", value) for value in ("0", "nan", "soon")),
    *(("KG_RERANK__MAX_CHARACTERS", value) for value in ("199", "long")),
    *(("KG_LOG__LEVEL", "loud"), ("KG_LOG__FORMAT", "xml")),
    *(("OPENAI_BASE_URL", value) for value in ("api.example", "http://a:b@host/v1", "https://x/v1?k=1")),
    *(("OPENAI_EMBED_DIMS", value) for value in ("0", "4097", "large")),
    *((f"{one}_TIMEOUT", value) for one in ("OPENAI", "NOMIC") for value in ("0", "-1", "nan")),
    *((f"{one}_MAX_RETRIES", value) for one in ("OPENAI", "NOMIC") for value in ("-1", "11", "2.5")),
    *((f"{one}_BATCH_SIZE", value) for one in ("OPENAI", "NOMIC") for value in ("0", "2049")),
    *((name, "ftp://host") for name in ("NOMIC_BASE_URL", "COHERE_BASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT")),
    *(("OPENAI_API_KEY", value) for value in NO_KEYS),
    *((name, "<key>") for name in ("NOMIC_API_KEY", "COHERE_API_KEY")),
    *(("OPENAI_API_KEY", "key-of-someone-else"), ("KG_BLOBS__KEEP_PDFS", "perhaps")),
    *((f"KG_BLOBS__S3__{name}", "/ x@") for name in ("BUCKET", "ENDPOINT", "PREFIX", "REGION", "SECONDS")),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as raised:
        load_settings()
    assert f"\n  {name}: " in str(raised.value)


def test_every_variable_that_can_be_wrong_is_tried() -> None:
    all_names = {name for kind in (False, True) for name, _ in list_variables(constants=kind)}
    assert {name for name, _ in WRONG} | FREE == all_names


def test_all_invalid_settings_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG_API__PORT", "0")
    monkeypatch.setenv("KG_LOG__LEVEL", "loud")
    with pytest.raises(ConfigurationError, match=r"(?s)KG_API__PORT.*KG_LOG__LEVEL"):
        load_settings()


RIGHT: list[tuple[str, str, object]] = [
    ("KG_HOME", "/somewhere/else", Path("/somewhere/else")),
    ("KG_API_URL", "https://kg.example:1", "https://kg.example:1"),
    ("KG_NEO4J__PORT", "17687", 17687),
    ("KG_API__HOST", "0.0.0.0", "0.0.0.0"),
    ("KG_WORKER__GRACE_SECONDS", "0.5", 0.5),
    ("KG_EMBEDDING__MODEL_FOLDER", "/models/own", Path("/models/own")),
    ("KG_EMBEDDING__PROVIDER", "nomic", "nomic"),
    ("KG_EMBEDDING__QUERY_PREFIX", "query: ", "query: "),
    ("OPENAI_API_KEY", "sk-proj-Ab_9-z", SecretStr("sk-proj-Ab_9-z")),
    ("OPENAI_EMBED_DIMS", "256", 256),
    ("OPENAI_TIMEOUT", "2.5", 2.5),
    ("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
]


@pytest.mark.parametrize(("name", "value", "expected"), RIGHT)
def test_a_variable_reaches_its_setting_and_no_other(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: object
) -> None:
    before = load_settings()
    monkeypatch.setenv(name, value)
    after = load_settings()
    assert setting(after, name) == expected
    changed = [each for each, _ in list_variables() if setting(before, each) != setting(after, each)]
    assert changed == [name]


def setting(settings: Settings, name: str) -> object:
    found: object = settings
    section, _, rest = name.lower().partition("_")
    path = [section, rest] if section in BY_THEIR_OWN_NAMES else rest.split("__")
    for part in path:
        found = getattr(found, part)
    return found


def test_without_any_variable_all_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KG_CACHE", raising=False)
    settings = load_settings()
    assert settings.home.is_absolute()
    assert settings.cache.is_absolute()
    assert (settings.api.host, settings.api.port) == ("127.0.0.1", None)
    assert (settings.neo4j.uri, settings.embedding.provider) == (None, "local")
    assert (settings.api_url, settings.api_key) == (None, None)
    assert settings.worker == WorkerSettings()


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("KG_NEO4J__URI", "neo4j+s://db.example", ("KG_NEO4J__PASSWORD", "secret")),
        ("KG_RERANK__PROVIDER", "endpoint", ("KG_RERANK__BASE_URL", "http://127.0.0.1:1")),
    ],
)
def test_a_variable_that_needs_another_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, needed: tuple[str, str]
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=needed[0]):
        load_settings()
    monkeypatch.setenv(*needed)
    load_settings()


def test_another_server_may_have_any_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-someone-else")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1234/v1")
    assert load_settings().openai.api_key == SecretStr("key-of-someone-else")


@pytest.mark.parametrize(
    ("address", "needed"),
    [
        ("https://api.openai.com/v1", True),
        ("https://api.openai.com/v1/", True),
        ("https://eu.api.openai.com/v1", True),
        ("http://127.0.0.1:1234/v1", False),
        ("https://api.openai.com.example/v1", False),
    ],
)
def test_openai_itself_wants_a_key(monkeypatch: pytest.MonkeyPatch, address: str, *, needed: bool) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    assert load_settings().openai.needs_key is needed


@pytest.mark.parametrize(
    ("folder", "name", "value"),
    [
        ("KG_EMBEDDING__MODEL_FOLDER", "KG_EMBEDDING__MODEL", "e5-small-v2"),
        ("KG_EMBEDDING__MODEL_FOLDER", "KG_EMBEDDING__PROVIDER", "openai"),
        ("KG_RERANK__MODEL_DIR", "KG_RERANK__BASE_URL", "http://127.0.0.1:1"),
        ("KG_RERANK__MODEL_DIR", "KG_RERANK__PROVIDER", "cohere"),
    ],
)
def test_custom_model_excludes_other_providers(
    monkeypatch: pytest.MonkeyPatch, folder: str, name: str, value: str
) -> None:
    monkeypatch.setenv(folder, "/models/own")
    load_settings()
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=folder):
        load_settings()


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list_secret_variables():
        monkeypatch.setenv(name, f"sk-{CANARY}")
    settings = load_settings()
    shown = f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"
    assert CANARY not in shown
    assert settings.api_key == SecretStr(f"sk-{CANARY}")


@pytest.mark.parametrize("name", [name for name, _ in list_variables()])
def test_no_error_repeats_a_value(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """This may be a secret that you have set in the wrong variable."""
    monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("KG_LOG__LEVEL", CANARY)
    with pytest.raises(ConfigurationError) as raised:
        load_settings()
    assert CANARY not in str(raised.value)
    assert raised.value.__cause__ is None


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose files can use `KG_X=${KG_X:-}`. If KG_HOME is empty, kg should not use the working
    folder."""
    monkeypatch.delenv("KG_CACHE", raising=False)
    expected = load_settings()
    for name, _ in list_variables():
        monkeypatch.setenv(name, "")
    assert load_settings() == expected


PASSWORDS = [
    *("a/b:c@d", " two words ", "$HOME`x`\"'", "pässwörd-密码", "#%&?=+;", '{"json": 1}'),
    *("back\\slash", "[1]", "null", "-dash", "1e5"),
]


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


@pytest.mark.parametrize("below", ["", "home"])
def test_home_that_is_a_file_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("KG_HOME", str(file / below))
    with pytest.raises(ConfigurationError, match=f"KG_HOME: {file} is not a folder"):
        load_settings()


def test_home_within_a_closed_folder_is_left_to_its_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat, home = os.stat, tmp_path / "closed" / "home"

    def closed(path: str | Path, **options: bool) -> os.stat_result:
        if Path(path) == home:
            raise PermissionError(13, "Permission denied", path)
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", closed)
    assert load_settings(home=home).home == home


def test_secret_and_file_together_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(CANARY)
    monkeypatch.setenv("KG_API_KEY", CANARY)
    monkeypatch.setenv("KG_API_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ConfigurationError, match="KG_API_KEY is also set") as raised:
        load_settings()
    assert CANARY not in str(raised.value)


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
    assert find_nearest(wrong, NAMES)[0] == meant


def test_what_only_shares_some_letters_is_not_near() -> None:
    files = ["CHANGELOG.md", "bad_dimensions.xlsx", "calibre-deu.epub", "0001-neo4j-is-the-only-store.md"]
    assert [find_nearest(wrong, files) for wrong in ("nope", "nope.md", "SOURCE_ID", "misch/nix.md")] == [
        []
    ] * 4
    assert (
        find_nearest("calibre", files) == find_nearest("my calibre deu.epub", files) == ["calibre-deu.epub"]
    )


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
    **dict.fromkeys(("KG_API_KEY_FILES", "KG_NEO4J__PASWORD_FILE", "KG_NEO4J__URI_FILE")),
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
