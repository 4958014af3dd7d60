from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from benchmarks.concept_terms import groups
from benchmarks.term_gold import GOLD, Score, read_gold, score
from kg_api.extraction.phrases import split_name
from kg_api.graph.vectors import SourceText
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.concepts import PER_SOURCE
from kg_api.schemas.documents import DocumentRecord, Format
from tests.support.keyphrases import extract, labels, sources

FLOORS = {
    ("held-out", "all"): (0.84, 0.72),
    ("held-out", "en"): (0.84, 0.73),
    ("held-out", "de"): (0.78, 0.73),
    ("held-out", "es"): (0.86, 0.63),
    ("tuning", "all"): (0.83, 0.81),
}
"""Minimum precision and recall. The measured values are slightly higher
(benchmarks/results/concepts.md)."""


def test_precision_and_recall_do_not_decrease() -> None:
    found = defaultdict[tuple[str, str], Score](Score)
    for document in read_gold(GOLD):
        total = sum((each.score for each in score(document, PER_SOURCE["keyphrase"])), Score())
        for group in groups(document):
            found[document.about["half"], group] += total
    for part, (precision, recall) in FLOORS.items():
        assert (found[part].precision >= precision, found[part].recall >= recall) == (True, True), part


def concept(text: str, label: str) -> tuple[str, ...]:
    return next(each.forms for each in extract(sources(text), 20)[0].concepts if each.label == label)


def test_code_name_and_plain_form_are_one_concept() -> None:
    text = "An exception group holds others. Raise an `ExceptionGroup` here; `ExceptionGroup` is new."
    assert concept(text, "exception group") == ("ExceptionGroup",)
    assert "TemporaryDirectory" in " ".join(labels("Use `tempfile.TemporaryDirectory` and it goes."))
    assert {"__exit__", "PYTHONHOME"} <= set(
        labels("Of these, `__exit__` is called, and `PYTHONHOME` is read.")
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HTTPSession", ("http", "session")),
        ("tempfile.TemporaryDirectory", ("temporary", "directory")),
        ("max_attempts", ("max", "attempts")),
        ("BERT", ("bert",)),
        ("HbA1c", ("hba1c",)),
    ],
)
def test_code_names_are_split_into_words(name: str, words: tuple[str, ...]) -> None:
    assert split_name(name) == words


SAID = "the Silver Harbour engine keeps a worker lease for Carla Jones"
FOUND = {"Silver Harbour engine", "worker lease", "Carla Jones"}
CODE = [f"{SAID} and renews it", f"then {SAID}"]


def lines(before: str = "") -> str:
    return "".join(f"{before}{line}\n" for line in CODE)


BLOCKS: list[tuple[Format, str]] = [
    ("markdown", f"```\n{lines()}```\n"),
    ("markdown", f"~~~~ python\n{lines()}```\n{lines()}~~~~\n"),
    ("markdown", f"```\n{lines()}\n\n{lines()}"),
    ("markdown", lines("    ")),
    ("markdown", lines("\t")),
    ("markdown", f"- An item:\n\n  ```\n{lines('  ')}  ```\n"),
    ("markdown", f"- An item:\n\n{lines('      ')}"),
    ("markdown", f"> ```\n{lines('> ')}> ```\n"),
    ("markdown", f"<pre><code>\n{lines()}\n{lines()}</code></pre>\n"),
    ("markdown", f"<div>\n<PRE>\n{lines('  ')}</PRE>\n</div>\n"),
    ("markdown", f"<script>\n{lines()}\n{lines()}</script>\n"),
    ("rst", f"Such as::\n\n{lines('    ')}\n"),
    ("rst", f"::\n\n{lines('  ')}\n{lines('     ')}"),
    ("rst", f".. code-block:: python\n   :caption: x\n\n{lines('   ')}\n{lines('   ')}"),
    ("rst", f"- An item::\n\n{lines('    ')}"),
    ("rst", f">>> {CODE[0]}\n{CODE[1]}\n"),
    ("rst", f".. note::\n\n   Such as::\n\n{lines('       ')}"),
    ("rst", f"..\n{lines('   ')}"),
]
LINES: list[tuple[Format, str]] = [
    ("markdown", f"Said <code>{SAID}</code> and `{SAID}`.\n"),
    ("rst", f"Said ``{SAID}``.\n"),
]


@pytest.mark.parametrize(("form", "text"), [*BLOCKS, *LINES])
def test_code_yields_no_concepts(form: Format, text: str) -> None:
    assert labels(text, form=form) == []
    around = labels(f"Here {SAID}.\n\n{text}", form=form)
    assert set(around) >= FOUND, "the same words beside it do"


PROGRAM = f"""import os

if os.environ:
    from worker import Emma Ross

# Dora Miles keeps a worker lease.
def renew(frida_kahn, options=None):
    # Here {SAID}.
    if worker lease then the Jane Moss engine:
        renew(Greta Olsen, [Hanna Berg], {{Ida Falk: 1}})
"""


@pytest.mark.parametrize("name", ["worker.py", "worker.toml", "worker.log"])
def test_of_a_program_the_comments_are_read(name: str) -> None:
    record, _ = to_record(Incoming("notes", name, PROGRAM))
    assert {block.kind for source in record.sources for block in source.blocks} == {"program"}
    found = {concept.label for each in extract(texts(record), 20) for concept in each.concepts}
    assert found >= FOUND | {"Dora Miles"}
    assert not found & {"Emma Ross", "Greta Olsen", "Hanna Berg", "Ida Falk", "Jane Moss"}


def texts(record: DocumentRecord) -> Sequence[SourceText]:
    return [
        SourceText(
            each.source_id,
            record.document_id,
            each.paragraph,
            each.heading,
            each.start,
            each.full_text,
            each.content_hash,
            each.blocks,
        )
        for each in record.sources
    ]
