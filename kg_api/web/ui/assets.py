"""Scripts, styles and pictures of the page, under addresses that change with their content."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request, Response

from kg_api.errors import NotFound

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/ui/assets/"
SHOWN: Final = frozenset({".js", ".css", ".svg"})
FOR_GOOD: Final = "public, max-age=31536000, immutable"
"""The address has a part of the content's hash: another content has another address."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages load."""

    content: bytes
    packed: bytes
    """By gzip."""
    media_type: str
    digest: str


@cache
def _assets() -> dict[str, Asset]:
    """All there are, by their names; read once."""
    files = [each for each in sorted(FOLDER.rglob("*")) if each.suffix in SHOWN]
    return {each.name: _read(each) for each in files}


def _read(path: Path) -> Asset:
    content = path.read_bytes()
    media_type = guess_type(path.name)[0] or "application/octet-stream"
    packed = gzip.compress(content, mtime=0)
    return Asset(content, packed, media_type, hashlib.sha256(content).hexdigest()[:16])


def address_of(name: str) -> str:
    """Where a page finds one."""
    return f"{PREFIX}{_assets()[name].digest}/{name}"


@router.get(PREFIX + "{digest}/{name}")
async def get_asset(request: Request, digest: str, name: str) -> Response:
    """Give one, at once and from memory; 404 where it is of another version."""
    found = _assets().get(name)
    if found is None or found.digest != digest:
        raise NotFound(f"there is no {name[:100]!r} of that version: load the page anew")
    headers = {"Cache-Control": FOR_GOOD, "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(found.packed, media_type=found.media_type, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)
