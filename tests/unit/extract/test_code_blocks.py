"""What a format marks as code is known as code: it gives no concept, whatever it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kg_api.extraction.keyphrases import KeyphraseExtractor
from kg_api.extraction.replies import with_blocks
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.documents import DocumentRecord, Format, SourceBlock
from tests.support.keyphrases import extract, labels

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
def test_code_gives_no_concept(form: Format, text: str) -> None:
    assert labels(text, form=form) == []
    around = labels(f"Here {SAID}.\n\n{text}", form=form)
    assert set(around) >= FOUND, "the same words beside it do"


@pytest.mark.parametrize(("form", "text"), BLOCKS)
def test_code_that_reaches_over_several_sources_is_none_in_any(form: Format, text: str) -> None:
    parts = [text[at : at + 40] for at in range(0, len(text), 40)]
    assert labels(*parts, form=form) == []


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


TEXT = f"""# The {SAID}

Here {SAID}. {"Many words follow it. " * 40}

```
{lines()}

{lines() * 40}
```

- Dora Miles
- Emma Ross

| Frida Kahn | Greta Olsen |
|---|---|
| Hanna Berg | Ida Falk |

<div>
Jane Moss
</div>
"""


def texts(record: DocumentRecord, *, with_kinds: bool = True) -> Sequence[SourceText]:
    """As the database gives the sources of a document, without kinds where an older version stored it."""
    return [
        SourceText(
            each.source_id,
            record.document_id,
            each.paragraph,
            each.heading,
            each.start,
            each.full_text,
            each.content_hash,
            each.blocks if with_kinds else (),
        )
        for each in record.sources
    ]


def test_sources_without_kinds_are_read_as_those_with() -> None:
    about = DocumentAbout("", {}, "a.md", "markdown")
    record, _ = to_record(Incoming("notes", "a.md", TEXT))
    known, old = texts(record), texts(record, with_kinds=False)
    assert len(known) > 3
    assert with_blocks(known, about) is known
    assert [each.blocks for each in with_blocks(old, about)] == [each.blocks for each in known]
    found = {concept.label for each in extract(known, 20) for concept in each.concepts}
    names = {"Dora Miles", "Emma Ross", "Frida Kahn", "Greta Olsen", "Hanna Berg", "Ida Falk", "Jane Moss"}
    assert found >= FOUND | names


def test_what_is_stored_of_some_sources_is_believed() -> None:
    record, _ = to_record(Incoming("notes", "a.md", TEXT))
    kept, *rest = texts(record, with_kinds=False)
    kept = replace(kept, blocks=(SourceBlock("code", 0),))
    assert with_blocks([kept, *rest], DocumentAbout("", {}, "a.md", "markdown"))[0].blocks == kept.blocks


def test_a_text_that_is_code_now_is_read_again() -> None:
    record, _ = to_record(Incoming("notes", "a.txt", f"Here {SAID}.\n"))
    prose = texts(record)
    code = [replace(each, blocks=(SourceBlock("code", 0),)) for each in prose]
    extractor, about = KeyphraseExtractor(20), DocumentAbout("", {})
    found = [extractor.extract(each, each, about)[0] for each in (prose, code)]
    assert [bool(each.concepts) for each in found] == [True, False]
    assert [each.block_kinds for each in found] == [("paragraph",), ("code",)]


@pytest.mark.parametrize("text", ["- \n- \n", "-\n"])
def test_a_text_without_blocks_is_a_paragraph(text: str) -> None:
    record, _ = to_record(Incoming("notes", "a.md", text))
    assert [source.blocks for source in record.sources] == [(SourceBlock("paragraph", 0),)]
