"""A process that converts one file after the other, and can do little else.

python -m kg_api.convert.isolated.child MAX_BYTES IDLE_SECONDS PARENT SETTINGS
"""

from __future__ import annotations

import faulthandler
import os
import select
import shutil
import sys
from collections.abc import Callable

from kg_api.api_settings import ConversionSettings
from kg_api.convert.isolated import messages, sandbox
from kg_api.convert.isolated.messages import ANSWERS, READY, Answer, receive, send
from kg_api.convert.isolated.rendering import read_rendering
from kg_api.convert.kinds import convert, convert_with, load
from kg_api.errors import UnreadableDocument

MAX_INPUT = 1 << 30
OUT_OF_MEMORY = 3
"""Exit code: nothing in this process can be trusted after that."""

_WITHOUT_IMAGES = {"images_within": False}


def main() -> None:
    """Answer until nobody asks, or for too long."""
    max_bytes, idle_seconds, parent = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    settings = ConversionSettings.model_validate_json(sys.argv[4])
    requests, answers = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    faulthandler.disable()
    sandbox.end_with(parent)
    sandbox.enter(max_bytes, shutil.which("tesseract"))
    send(answers, READY)
    while select.select([requests], [], [], idle_seconds)[0]:
        form, content = receive(requests, 100), receive(requests, MAX_INPUT)
        if form is None or content is None:
            return
        send(answers, ANSWERS.dump_json(_answer(content, form.decode(), settings)))


def _answer(content: bytes, form: str, settings: ConversionSettings) -> Answer:
    try:
        return _asked(content, form, settings)
    except UnreadableDocument as error:
        return str(error)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - the border of a file: its parser's bug is that file's alone
        return f"its parser failed on it ({type(error).__name__}): save it again, or in another format"


def _asked(content: bytes, form: str, settings: ConversionSettings) -> Answer:
    kind, _, rest = form.partition(".")
    answer = _ANSWERS.get(f"{kind}.")
    if answer is None:
        return convert(content, form, settings)  # pyright: ignore[reportArgumentType] - as the pool sent it
    return answer(content, rest, settings)


def _convert_with(content: bytes, rest: str, settings: ConversionSettings) -> Answer:
    document, beside = messages.unpack(content)
    return convert_with(document, rest, settings, beside)


def _convert_words(content: bytes, rest: str, settings: ConversionSettings) -> Answer:
    return convert(content, rest, settings.model_copy(update=_WITHOUT_IMAGES))  # pyright: ignore[reportArgumentType]


_ANSWERS: dict[str, Callable[[bytes, str, ConversionSettings], Answer]] = {
    messages.PROGRAM: lambda content, suffix, _: load("program.scopes").find_scopes(content, suffix),
    messages.RENDER: lambda content, rest, settings: load("image.rendering").render(
        content, read_rendering(rest), settings
    ),
    messages.PAGE: lambda content, _, __: load("pdf.pages.drawing").draw_page(*messages.split_page(content)),
    messages.OCR: lambda content, engine, settings: load("pdf.pictures.document").convert(
        content, engine, settings, every=False
    ),
    messages.OCR_ALL: lambda content, engine, settings: load("pdf.pictures.document").convert(
        content, engine, settings, every=True
    ),
    messages.OCR_IMAGE: lambda content, engine, settings: load("image.words").convert(
        content, engine, settings
    ),
    messages.BESIDE: _convert_with,
    messages.WORDS_ALONE: _convert_words,
}
"""By what stands before a dot in what is asked for; a kind of file has none."""


if __name__ == "__main__":
    main()
