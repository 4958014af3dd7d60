from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from kg_api.convert.isolated.pool import ConverterPool
from kg_api.convert.shared import ocr
from kg_api.errors import UnreadableDocument
from kg_api.settings import ConversionSettings
from tests.support.pictures import pictured

FIRST = ("Apricots ripen early in July, and", "Blueberries need acid soil.")
SECOND = ("Cherries split after rain.",)
TEXT = "Apricots ripen early in July, and Blueberries need acid soil."
MAX_MEMORY_MB = 2048

Opener = Callable[[ConversionSettings], ConverterPool]


@pytest.fixture
def opened() -> Iterator[Opener]:
    pools: list[ConverterPool] = []

    def start(settings: ConversionSettings) -> ConverterPool:
        pools.append(ConverterPool(settings))
        return pools[-1]

    yield start
    for pool in pools:
        pool.close()


def test_ocr_reads_images_but_not_text_pages(opened: Opener) -> None:
    pool = opened(ConversionSettings(processes=1))
    found = pool.convert(pictured(SECOND, FIRST, SECOND, text_pages=[1, 3]), "pdf")
    assert found.text == f"{SECOND[0]}\n\n{TEXT}\n\n{SECOND[0]}"
    assert found.pages == (0, len(SECOND[0]) + 2, len(SECOND[0]) + 2 + len(TEXT) + 2)
    assert {box.page for box in found.words} == {2}
    assert " ".join(found.text[box.start : box.end] for box in found.words) == TEXT
    assert min(box.confidence for box in found.words) > 50
    tops = [box.top for box in found.words if found.text[box.start : box.end] in {"Apricots", "Blueberries"}]
    assert tops[0] < tops[1]
    (note,) = found.notes
    assert note.startswith("page 2 was read by OCR (rapidocr")
    assert _peak(pool) < MAX_MEMORY_MB * 1024 * 1024 * 0.6


def _peak(pool: ConverterPool) -> int:
    """Return the peak memory of the converter process. If it is not known, return the current memory."""
    process = pool._idle[0]._process.pid
    try:
        told = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return psutil.Process(process).memory_info().rss
    return 1024 * int(next(line.split()[1] for line in told.splitlines() if line.startswith("VmHWM:")))


@pytest.mark.parametrize(("setting", "told"), [("off", "OCR is off"), ("auto", "no OCR is installed")])
def test_missing_ocr_is_reported_per_document(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, setting: str, told: str
) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda _: None)
    pool = opened(ConversionSettings(processes=1, ocr=setting))  # pyright: ignore[reportArgumentType]
    (note,) = pool.convert(pictured(FIRST, SECOND, text_pages=[2]), "pdf").notes
    assert note.startswith("page 1 has no text (a scanned image?): not searchable. ")
    assert told in note
    with pytest.raises(UnreadableDocument, match=told):
        pool.convert(pictured(FIRST), "pdf")


def test_what_ocr_takes_costs_the_other_pages_nothing(opened: Opener) -> None:
    """There is not enough memory to load the models, so the process ends. The text should be returned
    anyway."""
    pool = opened(ConversionSettings(processes=1, max_memory_mb=512))
    found = pool.convert(pictured(FIRST, SECOND, text_pages=[2]), "pdf")
    assert found.text == SECOND[0]
    assert "page 1 has no text" in found.notes[-1]
    assert "OCR failed" in found.notes[-1] or "could not be read by OCR" in found.notes[0]
    assert pool.convert(pictured(SECOND, text_pages=[1]), "pdf").text == SECOND[0]
