from pathlib import Path

from kg_api.convert.pdf import convert

GUIDE = Path(__file__).parents[3] / "data" / "amd-user-guide.pdf"


def test_a_manual_made_by_latex() -> None:
    found = convert(GUIDE.read_bytes())
    for sentence in (
        "efficient",
        "Duff",
        "different",
        "It uses an approximate minimum degree ordering algorithm [1, 2] to find a permutation matrix P",
    ):
        assert sentence in found.text
    for heading in ("# AMD User Guide", "## 1 Overview", "### 4.1 Control parameters", "## References"):
        assert heading in found.text.splitlines()
    assert len(found.pages) == 18
    assert found.notes == ("skipped: 18 repeated headers, footers, and page numbers on 18 pages",)
