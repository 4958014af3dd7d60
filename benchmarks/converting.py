"""A thousand small files: converted in this process, and in the processes apart that kg uses.

    python -m benchmarks.converting tests/data/files [--files 1000] [--largest 20000]

The folder's files below a size are taken in turn. Prints files a second by the clock, for this process, for
one process apart and for two that are asked by two threads, their start by itself; and the processor time of
a file, which a busy machine changes little.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import psutil

from benchmarks.stack import machine
from kg_api.convert import kinds
from kg_api.convert.isolated.pool import ConverterPool
from kg_api.schemas.documents import Converted
from kg_api.schemas.formats import CONVERTED, ConvertedFormat
from kg_api.settings import ConversionSettings
from kg_api.text.documents import detect_format

File = tuple[bytes, ConvertedFormat]
Convert = Callable[[bytes, ConvertedFormat], Converted]


def convert(data: bytes, form: ConvertedFormat) -> Converted:
    """In this process, as one apart does it."""
    return kinds.convert(data, form, ConversionSettings())


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--largest", type=int, default=20_000)
    chosen = parser.parse_args()
    own = read(chosen.folder, chosen.largest)
    files = list(itertools.islice(itertools.cycle(own), chosen.files))
    in_turn(convert, own)  # libraries are loaded
    found: dict[str, Any] = {"in this process": timed(lambda: in_turn(convert, files), len(files))}
    for processes in (1, 2):
        found |= apart(processes, own, files)
    print(json.dumps({**machine(), "different files": len(own), "files": len(files), **found}, indent=1))


def read(folder: Path, largest: int) -> list[File]:
    """Its files that are converted, each with its kind."""
    found: list[File] = []
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        form = detect_format(path.name, None, data)
        if len(data) <= largest and form in CONVERTED:
            found.append((data, cast("ConvertedFormat", form)))
    return found


def apart(processes: int, own: Sequence[File], files: Sequence[File]) -> dict[str, Any]:
    """By so many processes, asked by as many threads."""
    pool = ConverterPool(ConversionSettings(processes=processes))
    try:
        with ThreadPoolExecutor(processes) as threads:
            start = timed(
                lambda: list(threads.map(lambda _: in_turn(pool.convert, own), range(processes))), 1
            )
            done = timed(lambda: list(threads.map(lambda file: pool.convert(*file), files)), len(files))
    finally:
        pool.close()
    return {f"{processes} apart": {**done, "start_seconds": start["seconds"]}}


def in_turn(convert_: Convert, files: Iterable[File]) -> None:
    """One after the other."""
    for data, form in files:
        convert_(data, form)


def timed(work: Callable[[], object], files: int) -> dict[str, float]:
    """Its time by the clock and of the processor, children and all."""
    begun, cpu = time.perf_counter(), _cpu()
    work()
    seconds = time.perf_counter() - begun
    return {
        "seconds": round(seconds, 2),
        "files_a_second": round(files / seconds, 1),
        "cpu_ms_a_file": round((_cpu() - cpu) * 1000 / files, 2),
    }


def _cpu() -> float:
    """Of this process, its children, and those that have ended: the pool renews them."""
    own, ended = psutil.Process(), resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(sum(each.cpu_times()[:2]) for each in (own, *own.children(recursive=True)))
    return living + ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    main()
