"""Writes the reference pages from the code itself: `python docs/generate.py`; with --check only compares."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from kg_api.settings import FILE, load_settings, secret_variables, variables
from kg_api.web.app import create_app

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py; change the code, not this page. -->\n"


def cli() -> str:
    """Every command with its help, as Typer writes it."""
    typer = (sys.executable, "-m", "typer", "kg_cli.main", "utils", "docs", "--name", "kg")
    written = subprocess.run(typer, check=True, capture_output=True, text=True).stdout
    return NOTE + "\n" + written.strip() + "\n"


def settings() -> str:
    """Every variable with its default."""
    head = "# Settings\n\nAll are environment variables; the defaults are for one machine, offline.\n"
    secrets = ", ".join(f"`{name}`" for name in secret_variables())
    head += f"\nA secret ({secrets}) can come from a file: `NAME{FILE}` is its absolute path.\n"
    rows = ["| variable | default | meaning |", "| --- | --- | --- |", *_rows()]
    return "\n".join([NOTE, head, *rows, ""])


def _rows() -> Iterator[str]:
    for name, field in variables():
        yield f"| `{name}` | {_default(field)} | {' '.join((field.description or '').split())} |"


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "the platform's own folder"
    return "" if field.default is None else f"`{field.default}`"


def rest() -> str:
    """Every operation of the REST service."""
    document = create_app(load_settings(), lambda _: None).openapi()
    head = (
        "# REST\n\nThe service describes itself at `/openapi.json`. Errors are problem+json (RFC 9457): "
        "`type` is `urn:kg:` and the name of the error, `detail` says what to do.\n"
    )
    return "\n".join([NOTE, head, *_operations(document)])


def _operations(document: dict[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            summary, description = operation["summary"].rstrip(".?"), operation.get("description", "")
            yield f"## `{method.upper()} {path}`\n\n{summary}. {description}\n"
            if security := operation.get("security"):
                more = "" if operation["x-key-of-some-ontologies"] else " One of some ontologies is refused."
                yield f"Scope of a key: `{security[0]['key'][0]}`.{more}\n"
            for each in operation.get("parameters", []):
                yield f"- `{each['name']}` ({each['in']}): {each.get('description', '')}"
            yield from _form(operation)
            yield ""
            yield from _examples(operation)


def _form(operation: dict[str, Any]) -> Iterator[str]:
    """The parts of a form, where a file may be sent."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("multipart/form-data", {}).get("schema", {})
    if parts := schema.get("properties", {}):
        yield "As `multipart/form-data`, a file with what is said of it:\n"
        for name, part in parts.items():
            needed = "form, required" if name in schema.get("required", []) else "form"
            said = " ".join(part.get("description", "").split())
            yield f"- `{name}` ({needed}): {said or _FORM_PARTS.get(name, '')}".rstrip(": ")


def _examples(operation: dict[str, Any]) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {})
    for media_type, body in content.items():
        examples = [each["value"] for each in body.get("examples", {}).values()]
        for example in [*examples, *([body["example"]] if "example" in body else [])]:
            text = json.dumps(example, indent=2, ensure_ascii=False)
            yield f"`{media_type}`:\n\n```json\n{text}\n```\n"


_FORM_PARTS = {
    "ontology": "Where it goes.",
    "metadata": "A JSON object: what is known of the document, typed; lists too.",
    "limit": "Maximum number of results.",
}
"""What the schema does not say of its parts."""

PAGES = {"cli.md": cli, "settings.md": settings, "rest.md": rest}


def main() -> int:
    """Write the pages, or say which are stale."""
    stale = [name for name, page in PAGES.items() if _read(HERE / name) != page()]
    if "--check" in sys.argv:
        for name in stale:
            print(f"docs/{name} is stale; run: python3 tasks.py docs", file=sys.stderr)
        return int(bool(stale))
    for name in stale:
        (HERE / name).write_text(PAGES[name](), encoding="utf-8")
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
