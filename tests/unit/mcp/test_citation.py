from __future__ import annotations

import pytest

from kg_api.errors import InvalidInput
from kg_api.mcp.answers import CitationPlace, called, read_citation


def test_a_citation_is_read_as_it_is_written() -> None:
    citation = CitationPlace("ab12", 7, 19)
    assert str(citation) == "ab12#7-19"
    assert read_citation(" ab12#7-19\n") == ("ab12", citation)


def test_a_bare_source_id_cites_no_place() -> None:
    assert read_citation("ab12") == ("ab12", None)


def test_a_part_has_its_own_offsets() -> None:
    assert str(CitationPlace("ab12", 100, 200).part(5, 9)) == "ab12#105-109"


@pytest.mark.parametrize(
    "text", ["", "#1-2", "a b#1-2", "ab#1", "ab#-1-2", "ab#1-", "ab#x-y", "ab#1-2#3-4", "ab#1-2x", "a" * 101]
)
def test_what_is_no_citation_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a citation id"):
        read_citation(text)


@pytest.mark.parametrize("text", ["ab#5-5", "ab#6-5"])
def test_an_empty_place_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="cites nothing"):
        read_citation(text)


@pytest.mark.parametrize("text", ["a.md", "notes/a b.md", "notes/a.md#3", "issue #17", "C# for all.md"])
def test_a_name_is_none_and_is_kept(text: str) -> None:
    assert called(f" {text}\n") == (text, None)


@pytest.mark.parametrize("text", ["ab#5-", "ab#-5", "ab#5-5", "a b#", "ab#1-2-3"])
def test_a_broken_citation_is_no_name(text: str) -> None:
    with pytest.raises(InvalidInput):
        called(text)
