"""A folder of real files of many kinds: is each sentence of them found, on its page, and is no word joined?

    python -m benchmarks.mixed_folder FOLDER [--sentences 10] [--rounds 2]

Each file is sent to a fresh kg by itself, and timed. Sentences are taken from the files by other readers than
kg's (pdftotext, the XML of the file, Python's own parsers), evenly over each file. Of each it is told whether
its words stand in the document's text one after the other (`kept`), whether a passage with it is among the
first ten of a full-text search (`found`), and whether that passage has the right page (`page`). Words of kg's
text that are two words of the file, and not one of its own, are `joined`. With more rounds the same files are
sent again, to another ontology each time: `memory_mb` has the service's memory before and after each round,
its own process and those that convert apart.

Prints one JSON object, by kind of file; what failed, and some of what was not kept, by name.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.mixed_folder.truth import Said, sentences, vocabulary, words
from benchmarks.processes import Watched
from benchmarks.stack import Stack, machine, stack
from kg_api.client import KgClient
from kg_api.errors import KgError

ONTOLOGY = "mixed"
ENDS = 5
"""A passage holds a sentence of which it has so many words at its beginning or end: it may be cut within."""
SHOWN = 120
LATIN = re.compile("[a-z\u00df-\u024f]{6,}")
FENCES = re.compile(r"(?m)^\s*`{3,}.*")
"""Their language may be a word of the file's markup."""
FEW = {".xlsx": 3, ".ods": 3, ".csv": 3, ".tsv": 3, ".pptx": 4, ".eml": 4}
"""The fewest words of a sentence, of kinds that hold few long ones."""


@dataclass(slots=True)
class Kind:
    """What was counted of the files of a kind."""

    files: int = 0
    seconds: float = 0.0
    characters: int = 0
    asked: int = 0
    kept: int = 0
    found: int = 0
    paged: int = 0
    right_page: int = 0
    joined: list[str] = field(default_factory=list[str])
    memory_mb: int = 0

    def report(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "files": self.files,
            "files_a_second": round(self.files / self.seconds, 1) if self.seconds else None,
            "characters": self.characters,
            "sentences": self.asked,
            "kept": _share(self.kept, self.asked),
            "found": _share(self.found, self.asked),
            "right_page": _share(self.right_page, self.paged),
            "joined": len(self.joined),
            "joined_words": self.joined[:10],
            "service_mb": self.memory_mb,
        }


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sentences", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args()
    files = sorted(path for path in chosen.folder.rglob("*") if path.is_file())
    with stack() as running:
        print(
            json.dumps(
                measure(running, files, chosen.folder, chosen.sentences, chosen.rounds),
                indent=1,
                ensure_ascii=False,
            )
        )


def measure(running: Stack, files: Sequence[Path], root: Path, most: int, rounds: int) -> dict[str, Any]:
    """Send all, then ask; then send all again."""
    kinds, failed, missed = defaultdict[str, Kind](Kind), list[str](), list[str]()
    watched = Watched({role: pid for role, pid in running.pids().items() if role == "api"})
    sent, memory = dict[Path, str](), [_memory(running.pids()["api"])]
    with running.client() as client:
        for path in sorted(files, key=lambda each: each.suffix):
            kind = kinds[path.suffix.lower()]
            identity = _send(client, path, str(path.relative_to(root)), kind, failed)
            kind.memory_mb = max(kind.memory_mb, *watched.memory_mb().values(), 0)
            if identity:
                sent[path] = identity
        memory.append(_memory(running.pids()["api"]))
        for again in range(2, rounds + 1):
            for path in files:
                _send(client, path, str(path.relative_to(root)), Kind(), [], ontology=f"{ONTOLOGY}-{again}")
            memory.append(_memory(running.pids()["api"]))
        for path, identity in sent.items():
            missed += _ask(client, path, identity, kinds[path.suffix.lower()], most)
    return {
        **machine(),
        "files": len(files),
        "taken": len(sent),
        "memory_mb": memory,
        "all": _all(kinds.values()).report(),
        "kinds": {name: kind.report() for name, kind in sorted(kinds.items())},
        "failed": failed,
        "missed": missed[:SHOWN],
    }


def _memory(pid: int) -> dict[str, int]:
    service = psutil.Process(pid)
    children = sum(each.memory_info().rss for each in service.children(recursive=True))
    return {"service": service.memory_info().rss // 2**20, "converting": children // 2**20}


def _send(
    client: KgClient, path: Path, name: str, kind: Kind, failed: list[str], *, ontology: str = ONTOLOGY
) -> str | None:
    begun = time.perf_counter()
    try:
        done = client.ingest_bytes(path.read_bytes(), ontology=ontology, document=name)
    except KgError as error:
        failed.append(f"{name}: {error}")
        return None
    kind.seconds += time.perf_counter() - begun
    kind.files += 1
    return done.document_id


def _ask(client: KgClient, path: Path, identity: str, kind: Kind, most: int) -> Iterator[str]:
    """Count; give what was missed."""
    text = client.document(identity).text
    kind.characters += len(text)
    stored = words(text)
    kind.joined += joined_words(words(FENCES.sub("", text)), vocabulary(path))
    whole = f" {' '.join(stored)} "
    for sentence in _evenly(sentences(path, FEW.get(path.suffix.lower(), 6)), most):
        kind.asked += 1
        wanted = words(sentence.text)
        kept = f" {' '.join(wanted)} " in whole
        kind.kept += kept
        found = _find(client, sentence.text, wanted)
        kind.found += bool(found)
        if found and sentence.page is not None:
            kind.paged += 1
            kind.right_page += any(sentence.page in pages for pages in found)
        if not (kept and found):
            why = ", ".join(name for name, done in (("not kept", kept), ("not found", found)) if not done)
            yield f"{path.name} [{why}]: {sentence.text}"


def _find(client: KgClient, text: str, wanted: list[str]) -> list[range]:
    """The pages of hits that hold the sentence."""
    hits = client.search_sources(text[:1000], ontology=ONTOLOGY, mode="text", limit=10).sources
    begin, end = f" {' '.join(wanted[:ENDS])} ", f" {' '.join(wanted[-ENDS:])} "
    texts = [
        (f" {' '.join(words(hit.full_text))} ", range(hit.page or 0, (hit.last_page or hit.page or 0) + 1))
        for hit in hits
    ]
    return [pages for held, pages in texts if begin in held or end in held]


def joined_words(stored: Sequence[str], own: set[str]) -> list[str]:
    """Words that are two of the file's own one after the other, and none of it."""
    strange = {word for word in stored if word not in own and LATIN.fullmatch(word)}
    return sorted(
        word
        for word in strange
        if any(word[:at] in own and word[at:] in own for at in range(2, len(word) - 1))
    )


def _evenly(found: Sequence[Said], most: int) -> list[Said]:
    step = max(1, len(found) // most)
    return list(found[::step])[:most]


def _all(kinds: Any) -> Kind:
    total = Kind()
    for kind in kinds:
        for name in (
            "files",
            "seconds",
            "characters",
            "asked",
            "kept",
            "found",
            "paged",
            "right_page",
            "joined",
        ):
            setattr(total, name, getattr(total, name) + getattr(kind, name))
        total.memory_mb = max(total.memory_mb, kind.memory_mb)
    return total


def _share(some: int, all_: int) -> float | None:
    return round(some / all_, 4) if all_ else None


if __name__ == "__main__":
    main()
