from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from kg_api.schemas.concepts import Label, Phrase
from kg_api.schemas.documents import Author

BLANKS = ["", " ", "\t\n", "\xa0", "\u3000", "\ufeff", "\x1c\x1f", "\x85", "\u2028 \ufeff"]


@pytest.mark.parametrize("kind", [Label, Phrase, Author], ids=["label", "phrase", "author"])
@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_blank_text_is_rejected(kind: Any, blank: str) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    with pytest.raises(ValidationError):
        adapter.validate_python(blank)
    assert adapter.validate_python(f"{blank}a") == f"{blank}a"
    assert adapter.json_schema()["pattern"] == r"\S"
