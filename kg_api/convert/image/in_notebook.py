"""The pictures of a notebook: what its code has drawn, and what is attached to its Markdown."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from urllib.parse import unquote

from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.within import ImagesWithin
from kg_api.convert.markdown_text import MarkdownWriter, words_before
from kg_api.models.images import ReadImage
from kg_api.parse.beside.inline import from_data_uri

MAX_BASE64 = 64 * 1024 * 1024
_ATTACHED = re.compile(r"!\[([^\[\]]{0,2000})\]\(\s{0,9}attachment:([^()\s]{1,1000})[^()\n]{0,1000}\)")
_INLINE = re.compile(
    r"""!\[([^\[\]]{0,2000})\]\(\s{0,9}<?(data:[^()\s<>]+)>?[^()\n]{0,1000}\)"""
    r"""|<img\b[^<>]*?\bsrc\s*=\s*["']?(data:[^"'<>\s]+)[^<>]*>""",
    re.IGNORECASE,
)
_ALT = re.compile(r"""\balt\s*=\s*["']([^"']*)""", re.IGNORECASE)
_TITLES = re.compile(
    r"""(?:title|xlabel|ylabel|label)\s*[(=]\s*[rfu]?(?:"([^"\n]{1,200})"|'([^'\n]{1,200})')""", re.IGNORECASE
)
_MAX_TITLES = 10


class NotebookImages:
    """Reads the pictures of one notebook, and knows the prose before them."""

    def __init__(self, settings: ConversionSettings) -> None:
        self._images = ImagesWithin(settings)
        self._prose = ""

    def write_prose(self, writer: MarkdownWriter, text: str, attached: Mapping[str, str]) -> None:
        """Write Markdown; a picture that has a line for itself stands there, another one behind all of it."""
        text, inline = self._take_inline(text)
        attached = {**attached, **inline}
        self._prose, at, behind = text, 0, list[tuple[ReadImage, str, str]]()
        for found in _ATTACHED.finditer(text) if attached else ():
            name = unquote(found[2])
            if not (image := self._read(attached.get(name, ""))):
                continue
            if _is_alone(text, found.start(), found.end()):
                writer.add(text[at : found.start()].strip("\n").rstrip())
                writer.image(image, found[1], name)
                at = found.end()
            else:
                behind.append((image, found[1], name))
        writer.add(text[at:].strip("\n").rstrip())
        for image, words, name in behind:
            writer.image(image, words, name)

    @staticmethod
    def _take_inline(text: str) -> tuple[str, dict[str, str]]:
        """Make attachments of images whose files are in their addresses."""
        files: dict[str, str] = {}

        def name(found: re.Match[str]) -> str:
            alt = found[1] or ((said := _ALT.search(found[0])) and said[1]) or ""
            name = f"inline-{len(files) + 1}"
            files[name] = base64.b64encode(from_data_uri(found[2] or found[3])).decode() or "?"
            return f"![{alt}](attachment:{name})"

        return (_INLINE.sub(name, text) if "data:" in text.lower() else text), files

    def write_output(self, writer: MarkdownWriter, content: str, source: str) -> None:
        """Write what code has drawn; its words are its titles, and the prose before."""
        if image := self._read(content):
            titles = [single or double for single, double in _TITLES.findall(source)][:_MAX_TITLES]
            words = dict.fromkeys(filter(None, [*titles, words_before(self._prose.split("\n\n"))]))
            writer.image(image, ". ".join(words), "output")

    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        return self._images.notes()

    def _read(self, content: str) -> ReadImage | None:
        if not content or len(content) > MAX_BASE64:
            return None
        try:
            return self._images.read(base64.b64decode(content))
        except (binascii.Error, ValueError):
            return None


def _is_alone(text: str, start: int, end: int) -> bool:
    before = text[text.rfind("\n", 0, start) + 1 : start]
    after = text[end:].partition("\n")[0]
    return not (before + after).strip()
