from __future__ import annotations

import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict, InvalidInput, NotFound

NAME = "guide/install.md"
TEXT = "\n\n".join(f"# Part {n}\n\nParagraph {n} is of {'lease ' * 60}." for n in range(12)) + "\n"


@pytest.fixture
def document_id(kg: KgClient) -> str:
    made = kg.ingest_text(TEXT, ontology="notes", document=NAME, metadata={"date": "2025-01-31"})
    return made.document_id


def test_document_is_read_completely(kg: KgClient, document_id: str) -> None:
    text, start = "", 0
    steps = 0
    while start is not None:
        part = kg.read_document(document_id, start=start, token_budget=300)
        assert part.start == start
        assert part.tokens <= 300
        assert part.left == part.document.sources - start - len(part.sources)
        text += "".join(each.full_text for each in part.sources)
        start, steps = part.next, steps + 1
    assert text == TEXT
    assert steps > 2
    whole = kg.read_document(document_id, token_budget=100_000)
    assert (whole.next, whole.left, len(whole.sources)) == (None, 0, whole.document.sources)
    assert whole.document.metadata["date"] == "2025-01-31"
    tiny = kg.read_document(document_id, token_budget=1)
    assert (len(tiny.sources), tiny.next) == (1, 1), "one paragraph is given whatever it has"


def test_unknown_document_suggests_the_nearest(kg: KgClient, document_id: str) -> None:
    with pytest.raises(
        NotFound, match=r"document 'instal\.md' not found \(did you mean 'guide/install\.md'\?"
    ):
        kg.read_document("instal.md")
    with pytest.raises(NotFound, match=r"ontology 'nots' not found .did you mean 'notes'"):
        kg.read_document(NAME, ontology="nots")
    with pytest.raises(InvalidInput, match=f"has {kg.document(document_id).sources} paragraphs"):
        kg.read_document(NAME, start=99)
    kg.ingest_text("Other.", ontology="other", document=NAME)
    with pytest.raises(Conflict, match=rf"notes/{NAME}.*other/{NAME}"):
        kg.read_document(NAME)
