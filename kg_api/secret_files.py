"""Secrets in files, as Docker and Kubernetes provide them: KG_API_KEY_FILE names a file with KG_API_KEY."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kg_api.errors import ConfigurationError

FILE = "_FILE"
MAX_BYTES = 65_536


def with_secrets_of_files(
    environment: Mapping[str, str | None], secrets: Iterable[str]
) -> dict[str, str | None]:
    """Return an environment in which each secret has its value, and no file is named.

    Args:
        environment: variables in lower case.
        secrets: names of all secrets.

    Raises:
        ConfigurationError: a file cannot be used; the message names the variable, never the content.
    """
    found = dict(environment)
    wrong: list[str] = []
    for variable in secrets:
        path = found.pop((variable + FILE).lower(), None)
        if not path:
            continue
        if found.get(variable.lower()):
            wrong.append(f"{variable + FILE}: {variable} is set, too; unset one of the two")
            continue
        try:
            found[variable.lower()] = _read(Path(path))
        except OSError as error:
            wrong.append(f"{variable + FILE}: {path} cannot be read: {error.strerror}")
        except ValueError as error:
            wrong.append(f"{variable + FILE}: {path} {error}")
    if wrong:
        raise ConfigurationError("invalid settings:\n  " + "\n  ".join(wrong))
    return found


def _read(path: Path) -> str:
    """The text of a file without the end of its last line, which editors add."""
    if not path.is_absolute():
        raise ValueError("is not an absolute path, which all processes of kg need")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ValueError("is not text in UTF-8") from None
    if not text:
        raise ValueError("is empty")
    if "\0" in text:
        raise ValueError("has a zero byte")
    return text
