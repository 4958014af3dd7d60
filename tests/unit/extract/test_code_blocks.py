"""What a format marks as code is known as code: it gives no concept, whatever it says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kg_api.extract.blocks import with_blocks
from kg_api.graph.spaces.due import DocumentAbout, SourceText
from kg_api.ingest.records import Incoming, to_record
from kg_api.models.library.parsing import Format
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


def test_a_program_is_code_from_its_first_line_to_its_last() -> None:
    record, _ = to_record(Incoming("notes", "worker.py", f"{lines()}\n{lines()}"))
    assert {block.kind for source in record.sources for block in source.blocks} == {"code"}


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


def stored(*, with_kinds: bool) -> Sequence[SourceText]:
    """As the database gives the sources of a document, without kinds where an older version stored it."""
    record, _ = to_record(Incoming("notes", "a.md", TEXT))
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
    known, old = stored(with_kinds=True), stored(with_kinds=False)
    assert len(known) > 3
    assert with_blocks(known, about) is known
    assert [each.blocks for each in with_blocks(old, about)] == [each.blocks for each in known]
    found = {concept.label for each in extract(known, 20) for concept in each.concepts}
    names = {"Dora Miles", "Emma Ross", "Frida Kahn", "Greta Olsen", "Hanna Berg", "Ida Falk", "Jane Moss"}
    assert found >= FOUND | names
