"""Images in data URLs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from urllib.parse import unquote_to_bytes

MAX_DATA_URI = 64 * 1024 * 1024
_DATA_URI = re.compile(r"data:image/[\w.+-]+((?:;[\w=.+-]+)*?)(;base64)?,", re.IGNORECASE)
_MIN_INLINE = 200  # characters: a shorter data URL is an example in a text, not an image
_IN_MARKDOWN = re.compile(
    r"""(\]\(\s{0,9}<?|<img\b[^<>]{0,8000}?\bsrc\s*=\s*["']?|^ {0,3}\[[^\[\]\n]{1,500}\]:[ \t]*<?)"""
    r"""(data:image/([\w.-]+)[^,\s"'<>()]{0,200},[^\s"'<>()]*)""",
    re.IGNORECASE | re.MULTILINE,
)


def is_data_uri(address: str) -> bool:
    return address[:5].lower() == "data:"


def from_data_uri(address: str) -> bytes:
    """Return the content of a data URL (empty: damaged, too long, or not an image)."""
    if len(address) > MAX_DATA_URI or not (found := _DATA_URI.match(address)):
        return b""
    content = unquote_to_bytes(address[found.end() :])
    if not found[2]:
        return content
    try:
        return base64.b64decode(content)
    except (binascii.Error, ValueError):
        return b""


def take_inline_images(text: str) -> tuple[str, int]:
    """Replace long data URLs by file names in a Markdown text, and count them."""
    names = set[str]()

    def replace(found: re.Match[str]) -> str:
        if len(found[2]) < _MIN_INLINE:
            return found[0]
        name = f"inline-{hashlib.sha256(from_data_uri(found[2])).hexdigest()[:12]}.{found[3].lower()}"
        names.add(name)
        return found[1] + name

    return (_IN_MARKDOWN.sub(replace, text) if "data:image/" in text.lower() else text), len(names)
