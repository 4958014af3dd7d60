"""Write the reference pages from the code: `python docs/generate.py`, or compare them with `--check`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from typer.main import get_command

from kg_api.settings import FILE, list_secret_variables, list_variables, load_settings
from kg_api.web.app import create_app
from kg_cli.main import app

HERE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py. Change the code, not this page. -->\n"
SHARED = 2
"""An argument or option that this many commands describe alike is described once."""
ALIKE = {
    "--by",
    "--document",
    "--hyde",
    "--json",
    "--limit",
    "--list",
    "--metadata",
    "--min-similarity",
    "--mmr",
    "--ontology",
    "--per-document",
    "--prefix",
    "--rerank",
    "--tokens",
    "--wait",
    "--watch",
    "--window",
    "--yes",
}
"""Options that mean the same everywhere, although their descriptions differ."""
JSON = "--json"
WIDTH = 120
"""Longest description of an argument or option, in characters. `kg COMMAND --help` has the rest."""


# ---- kg commands ----

CLI_HEAD = """# CLI reference

```console
$ kg search "how are retries delayed" --ontology notes --limit 5
$ kg search --help
```

`kg COMMAND --help` prints the full help of a command with its examples, defaults, and limits. Here,
`[NAME]` marks an optional argument and `...` a value that you can repeat.

| Exit code | Meaning |
| --- | --- |
| 0 | Success. |
| 1 | A check failed, or a job ended without success. |
| 2 | Wrong arguments. |
| 3 | Part of the work failed. |
| 4, 5 | Not found, or in conflict with stored data. |
| 69 | kg, Neo4j, or a model is not available. Try again later. |
| 77 | The API key is missing, wrong, or lacks the scope. |
| 78 | A setting is wrong. |

## Shared arguments and options

The sections below list these arguments and options by name only:
"""


def write_cli() -> str:
    """Return every command with its arguments and options."""
    root: Any = get_command(app)
    commands = list(_commands(root, "kg"))
    shared = _find_shared([each for _, command in commands for each in _shown(command)])
    lines = [
        NOTE,
        CLI_HEAD,
        *(f"- `{', '.join(_names(each))}{_choices(each)}`: {' '.join(each.help.split())}" for each in shared),
    ]
    group, without_json = "", list[str]()
    for path, command in commands:
        if group != (group := path.rpartition(" ")[0]):
            lines += ["", f"## `{group}`" if group != "kg" else "## Commands"]
        lines += ["", f"### `{path}`\n", _summary(command.help)]
        known = [each for each in _shown(command) if any(_is_alike(each, other) for other in shared)]
        has_json = any(_names(each)[-1] == JSON for each in known)
        lines += ["", *(_describe(each) for each in _shown(command) if each not in known)]
        if named := [f"`{_names(each)[-1]}`" for each in known if _names(each)[-1] != JSON]:
            lines += ["", f"Shared: {', '.join(named)}."]
        if not has_json:
            without_json.append(f"`{path}`")
    option = next(i for i, line in enumerate(lines) if line.startswith(f"- `{JSON}`"))
    lines[option] += f" You can use it with all commands except {', '.join(without_json)}."
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    below = [(name, command) for name, command in group.commands.items() if not command.hidden]
    yield from ((f"{path} {name}", command) for name, command in below if not hasattr(command, "commands"))
    for name, command in below:
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")


def _shown(command: Any) -> list[Any]:
    return [each for each in command.params if each.name != "help" and not getattr(each, "hidden", False)]


def _names(parameter: Any) -> list[str]:
    if parameter.param_type_name == "argument":
        name = parameter.name.upper().replace("_", "-") + ("..." if parameter.nargs != 1 else "")
        return [name if parameter.required else f"[{name}]"]
    return sorted(parameter.opts, key=len) + list(parameter.secondary_opts)


def _find_shared(options: list[Any]) -> list[Any]:
    """Return one argument or option of each name that several commands describe alike."""
    uses = Counter((_names(each)[-1], _shorten(each.help)) for each in options)
    best = {name: help_text for (name, help_text), _ in reversed(uses.most_common())}
    shared = {
        name: each
        for each in reversed(options)
        if (name := _names(each)[-1]) in ALIKE or uses[name, best[name]] >= SHARED
        if best[name] == _shorten(each.help)
    }
    return [shared[name] for name in sorted(shared)]


def _is_alike(option: Any, other: Any) -> bool:
    if _names(option)[-1] != _names(other)[-1]:
        return False
    return _names(option)[-1] in ALIKE or _shorten(option.help) == _shorten(other.help)


def _describe(parameter: Any) -> str:
    value = "" if parameter.param_type_name == "argument" else _value(parameter)
    return f"- `{', '.join(_names(parameter))}{value}`: {_shorten(parameter.help)}"


def _choices(parameter: Any) -> str:
    """Return the choices of a shared option, unless they depend on the command."""
    if parameter.param_type_name == "argument" or _names(parameter)[-1] in ALIKE:
        return ""
    value = _value(parameter)
    return value if "|" in value else ""


def _value(parameter: Any) -> str:
    if parameter.is_flag:
        return ""
    return f" {parameter.metavar or _type_name(parameter.type_descriptor.annotation)}" + (
        "..." if parameter.multiple else ""
    )


def _type_name(annotation: Any) -> str:
    """Return the name of a type as the value of an option: its choices, or a word in capitals."""
    if inner := [each for each in get_args(annotation) if each is not NoneType]:
        choices = get_origin(annotation) is Literal
        return "|".join(map(str, inner)) if choices else _type_name(inner[0])
    return {str: "TEXT", int: "N", float: "X"}.get(annotation) or str(annotation.__name__).upper()


def _summary(text: str | None) -> str:
    return _first_sentence(" ".join((text or "").split("\n\n")[0].split()))


def _shorten(text: str | None) -> str:
    whole = _split_clauses(text)
    if len(whole) <= WIDTH:
        return whole
    first = _first_sentence(whole)
    return (
        first if len(first) <= WIDTH else re.split(r", such as |: (?![^(]*\))", first)[0].rstrip(".,") + "."
    )


def _split_clauses(text: str | None) -> str:
    """Return a description with a sentence for each clause that a semicolon ends."""
    first, *others = " ".join((text or "").split()).split("; ")
    if any(" " not in each for each in others):
        return "; ".join([first, *others])
    return ". ".join([first, *(each[:1].upper() + each[1:] for each in others)])


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!])\s+(?=[A-Z`-])", text)[0]


# ---- Settings ----

SETTINGS_HEAD = """# Settings

```bash
KG_API__PORT=9000 KG_LOG__FORMAT=text kg up
```

All settings are environment variables. The defaults suit one machine without internet access. The
service and the workers read settings when they start. After a change, run `kg down` and `kg up`. kg does
not start if a value is wrong or a `KG_*` group is misspelt. The error names the variable.
"""


def write_settings() -> str:
    """Return every variable with its default."""
    secrets = ", ".join(f"`{name}`" for name in list_secret_variables())
    files = (
        f"To read a secret from a file, set `NAME{FILE}` to its absolute path. You can do this for {secrets}."
    )
    return "\n".join([NOTE, SETTINGS_HEAD, files, *_groups(), ""])


def _groups() -> Iterator[str]:
    group = None
    for name, field in list_variables():
        if (this := _prefix(name)) != group:
            group = this
            yield from ("", f"## {group}", "", "| Variable | Default | Meaning |", "| --- | --- | --- |")
        yield f"| `{name}` | {_default(field)} | {_split_clauses(field.description)} |"


def _prefix(name: str) -> str:
    """Return the group of a variable: the part before `__`, or its first word."""
    if name.startswith("KG_"):
        return f"`{name.rpartition('__')[0]}__*`" if "__" in name else "General"
    return f"`{name.partition('_')[0]}_*`"


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "platform folder"
    return "" if field.default is None else f"`{field.default}`"


# ---- REST ----

REST_HEAD = """# REST reference

```bash
curl -s http://127.0.0.1:8420/queries/sources/search -H 'Content-Type: application/json' \\
  -d '{"query_text": "how are retries delayed", "ontology": "notes", "limit": 5}'
```

The service publishes types, descriptions, limits, and examples of all fields at `/openapi.json`, and
shows them at `/docs`. This page lists the operations, their fields, and the scope that an API key needs.
`*` marks a required field and † an operation that rejects a key of some ontologies. Fields in braces are
parts of the path.

Errors are `application/problem+json` (RFC 9457). `type` is `urn:kg:` and the name of the error. `detail`
states the problem and the fix.
"""
COMMON = {
    "ontology": "Name of an ontology, or a list of names. Default: all visible ontologies.",
    "documents": "Documents to search, by name, `ONTOLOGY/NAME`, or id.",
    "where": 'List of filters, such as `["date>=2025-01-01", "tags=oncall"]`. All must match.',
    "mode": "`hybrid` (default), `vector`, or `text`.",
    "kinds": "Kinds of sources to return, such as `image`.",
    "limit": "Maximum number of results to return.",
    "offset": "Number of items to skip.",
    "cursor": "`next_cursor` of the previous page. Repeat the other fields unchanged.",
    "min_similarity": "Minimum cosine similarity. The default is calibrated for the model.",
    "token_budget": "Maximum number of tokens of text to return.",
    "window_size": "Number of neighbours to return on each side of a source.",
    "mmr_lambda": "Use 1 to rank by relevance only and 0 to rank by diversity only (MMR).",
    "dry_run": "Return the effects and the cost, but do not change anything.",
    "by": "Name of the person who decides. kg records it with the change.",
    "Idempotency-Key": "If you repeat a request with the same key, it will only run once.",
    "If-None-Match": "ETag of your copy. If the file has not changed, the service returns 304.",
}
"""Fields that many operations have. The page describes each once."""
AREAS = {
    "moving": "Export and import",
    "library": "Documents",
    "jobs": "Jobs",
    "keys": "API keys and audit",
    "review": "Review",
}


def write_rest() -> str:
    """Return every operation with its fields."""
    document = create_app(load_settings(), lambda _: None).openapi()
    schemas = document["components"]["schemas"]
    areas: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag: str = operation["tags"][0]
            lines = areas.setdefault(AREAS.get(tag) or tag.capitalize(), [])
            lines += ["", "\\\n".join(_operation(f"{method.upper()} {path}", operation, schemas))]
    common = [f"- `{name}`: {meaning}" for name, meaning in COMMON.items()]
    pages = [line for area, lines in areas.items() for line in ("", f"## {area}", *lines)]
    return "\n".join([NOTE, REST_HEAD, "## Common fields\n", *common, *pages, ""])


def _operation(name: str, operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    yield f"**`{name}`** {operation['summary'].rstrip('.?')}.{_scope(operation)}"
    given = operation.get("parameters", [])
    for place, title in (("query", "Query"), ("header", "Header")):
        if names := [_field(each["name"], each.get("required")) for each in given if each["in"] == place]:
            yield f"{title}: {', '.join(names)}."
    for media_type, title in (("application/json", "JSON"), ("multipart/form-data", "Form")):
        if names := list(_names_of(operation, media_type, schemas)):
            yield f"{title}: {', '.join(names)}."
    for media_type in operation.get("requestBody", {}).get("content", {}):
        if media_type not in {"application/json", "multipart/form-data"}:
            yield f"Body: `{media_type}`."


def _scope(operation: dict[str, Any]) -> str:
    if not (security := operation.get("security")):
        return ""
    everywhere = operation["x-key-of-some-ontologies"]
    return f" `{security[0]['key'][0]}`" + ("" if everywhere else "†")


def _field(name: str, required: bool | None) -> str:
    return f"`{name}{'*' if required else ''}`"


def _names_of(operation: dict[str, Any], media_type: str, schemas: dict[str, Any]) -> Iterator[str]:
    schema = _resolve(_content(operation).get(media_type, {}).get("schema", {}), schemas)
    for name in schema.get("properties", {}):
        yield _field(name, name in schema.get("required", []))


def _content(operation: dict[str, Any]) -> dict[str, Any]:
    return operation.get("requestBody", {}).get("content", {})


def _resolve(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return schema


PAGES = {"cli.md": write_cli, "settings.md": write_settings, "rest.md": write_rest}


def main() -> int:
    """Write the pages, or report the stale ones."""
    pages = {name: write() for name, write in PAGES.items()}
    stale = [name for name, text in pages.items() if _read(HERE / name) != text]
    if "--check" in sys.argv:
        for name in stale:
            print(f"docs/reference/{name} is stale. Run: python3 tasks.py docs", file=sys.stderr)
        return int(bool(stale))
    for name in stale:
        (HERE / name).write_text(pages[name], encoding="utf-8")
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
