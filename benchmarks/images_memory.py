"""Memory of service, worker and converting processes while many large photographs are taken in.

python -m benchmarks.images_memory [--pictures 500] [--megapixels 12] [--drawn 40] [--follow] [--every 1.0]

The photographs are made: a smooth field of colours with noise, as large as a camera's. Making one takes time:
so many are drawn (--drawn), each is written as several files that differ in a comment.
OCR is off, unless KG_CONVERSION__OCR says otherwise. --follow: a worker reads them from a folder, and not the
service from the command line.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from PIL import Image

from benchmarks.stack import Stack, machine, stack

ROLES = ("api", "worker")


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=500)
    parser.add_argument("--megapixels", type=float, default=12)
    parser.add_argument("--drawn", type=int, default=40)
    parser.add_argument("--follow", action="store_true")
    parser.add_argument("--every", type=float, default=1.0)
    chosen = parser.parse_args()
    os.environ.setdefault("KG_CONVERSION__OCR", "off")
    with tempfile.TemporaryDirectory(prefix="kg-benchmark-photos-") as name, stack() as running:
        folder = Path(name)
        size = make_photos(folder, chosen.pictures, chosen.megapixels, min(chosen.drawn, chosen.pictures))
        print(f"{chosen.pictures} pictures, {size / 1e6:,.0f} MB", flush=True)
        roles = running.pids()
        before = memory_mb(roles)
        begun = time.monotonic()
        with sampled(roles, chosen.every) as samples:
            _follow(running, folder) if chosen.follow else _ingest(running, folder)
        seconds = time.monotonic() - begun
        with running.client() as client:
            stored = client.images("photos").total
    told = {"machine": machine(), "stored": stored, "seconds": round(seconds), "megabytes": round(size / 1e6)}
    print(json.dumps({**told, "before": before, **summary(samples)}, indent=2))


def make_photos(folder: Path, count: int, megapixels: float, drawn: int) -> int:
    """Write JPEGs, no two the same; give their bytes."""
    photos = list(_photos(drawn, megapixels))
    for number in range(count):
        comment = f"{number:08}".encode()
        photo = photos[number % drawn]
        content = photo[:2] + b"\xff\xfe\x00\x0a" + comment + photo[2:]
        (folder / f"IMG_{number:04}.jpg").write_bytes(content)
    return sum(path.stat().st_size for path in folder.iterdir())


def _photos(count: int, megapixels: float) -> Iterator[bytes]:
    width, height = round((megapixels * 1e6 * 4 / 3) ** 0.5), round((megapixels * 1e6 * 3 / 4) ** 0.5)
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 9, (height, width, 1)).astype(np.float32)
    for _ in range(count):
        coarse = Image.fromarray(rng.integers(30, 225, (9, 12, 3), dtype=np.uint8))
        field = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float32)
        moved = np.roll(noise, tuple(rng.integers(0, 2000, 2)), (0, 1))
        pixels = np.clip(field + moved, 0, 255).astype(np.uint8)
        made = io.BytesIO()
        Image.fromarray(pixels).save(made, "JPEG", quality=90)
        yield made.getvalue()


def _ingest(running: Stack, folder: Path) -> None:
    running.kg("ingest", str(folder), "--ontology", "photos")


def _follow(running: Stack, folder: Path) -> None:
    running.kg("folders", "add", str(folder), "--ontology", "photos")
    running.rest()


@contextmanager
def sampled(roles: Mapping[str, int], every: float) -> Generator[list[dict[str, int]]]:
    """Look at the memory of the processes again and again meanwhile."""
    samples, ended = list[dict[str, int]](), threading.Event()

    def sample() -> None:
        while not ended.wait(every):
            with suppress(psutil.Error):
                samples.append(memory_mb(roles))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def memory_mb(roles: Mapping[str, int]) -> dict[str, int]:
    """RSS at this moment, by role; converting processes of all roles together."""
    found: dict[str, int] = dict.fromkeys([*ROLES, "converters", "converters_count"], 0)
    for role in ROLES:
        process = psutil.Process(roles[role])
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                converts = "kg_api.convert.isolated" in " ".join(each.cmdline())
                found["converters" if converts else role] += each.memory_info().rss // 2**20
                found["converters_count"] += converts
    return found


def summary(samples: list[dict[str, int]]) -> dict[str, Any]:
    """The most and the last of each, and ten points of its way."""
    steps = [samples[round(at)] for at in np.linspace(0, len(samples) - 1, 10)] if samples else []
    return {
        "most": {name: max(each[name] for each in samples) for name in samples[0]} if samples else {},
        "last": samples[-1] if samples else {},
        "over_time": {name: [each[name] for each in steps] for name in (*ROLES, "converters")},
    }


if __name__ == "__main__":
    main()
