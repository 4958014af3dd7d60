from __future__ import annotations

from kg_api.convert.shared.accounting import find_missing, note_missing


def test_complete_text_has_nothing_missing() -> None:
    assert find_missing(["Load limit", "40 tons"], "# Load limit\n\n40 tons\n") is None


def test_missing_words_are_counted_with_an_example() -> None:
    missing = find_missing(["Ordinary box", "The load limit is 40 tons"], "Ordinary box\n")
    assert missing is not None
    assert (missing.words, missing.example) == (6, "The load limit is 40 tons")


def test_repeated_number_missing_once_is_found() -> None:
    missing = find_missing(["4711", "4711"], "4711")
    assert missing is not None
    assert missing.words == 1


def test_joined_and_split_words_are_detected() -> None:
    assert find_missing(["10", "6", "Kla", "mmer"], "10^6 Klammer") is None
    assert find_missing(["Klammer"], "Klam mer") is None


def test_compatibility_forms_are_equal() -> None:
    assert find_missing(["ﬁle ２０２４"], "file 2024") is None


def test_cjk_text_over_two_lines_is_found() -> None:
    assert find_missing(["三つのク\nレーン"], "三つのクレーン") is None


def test_note_names_the_place() -> None:
    assert note_missing(["Order 4711"], "nothing", "fields") == (
        'skipped: 2 words of fields, e.g. "Order 4711"',
    )
    assert note_missing(["nothing"], "nothing", "fields") == ()
