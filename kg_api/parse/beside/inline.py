"""Images whose files are in their addresses (`data:`)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from itertools import compress
from urllib.parse import unquote_to_bytes

from kg_api.parse.beside.shown import outside, shown_in_markdown

MAX_DATA_URI = 64 * 1024 * 1024
_DATA_URI = re.compile(r"data:image/[\w.+-]+((?:;[\w=.+-]+)*?)(;base64)?,", re.IGNORECASE)
_IN_MARKDOWN = re.compile(
    r"""(\]\(\s{0,9}<?|<img\b[^<>]{0,8000}?\bsrc\s*=\s*["']?|^ {0,3}\[[^\[\]\n]{1,500}\]:[ \t]*<?)"""
    r"""(data:image/([\w.-]+)[^,\s"'<>()]{0,200},[^\s"'<>()]*)""",
    re.IGNORECASE | re.MULTILINE,
)


def is_data_uri(address: str) -> bool:
    """Whether an address holds its file itself."""
    return address[:5].lower() == "data:"


def from_data_uri(address: str) -> bytes:
    """Return the file that an address holds; one that is damaged, too long or no image is empty."""
    if len(address) > MAX_DATA_URI or not (found := _DATA_URI.match(address)):
        return b""
    content = unquote_to_bytes(address[found.end() :])
    if not found[2]:
        return content
    try:
        return base64.b64decode(content)
    except (binascii.Error, ValueError):
        return b""


def take_inline_images(text: str) -> tuple[str, dict[str, bytes]]:
    """Give images in addresses of a Markdown text names, so that their bytes are no words of it.

    Returns:
        The text, and the files by their names. What the text shows as code stays.
    """
    found = list(_IN_MARKDOWN.finditer(text)) if "data:image/" in text.lower() else []
    starts = [each.start() for each in found]
    files: dict[str, bytes] = {}
    parts, at = list[str](), 0
    for each in compress(found, outside(starts, shown_in_markdown(text, starts))):
        content = from_data_uri(each[2])
        name = f"inline-{hashlib.sha256(content).hexdigest()[:12]}.{each[3].lower()}"
        files[name] = content
        parts += [text[at : each.start(2)], name]
        at = each.end()
    return "".join([*parts, text[at:]]), files
