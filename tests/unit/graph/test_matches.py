from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.fulltext import MAX_MATCHES, MAX_SCANNED, QuestionWords
from kg_api.graph.text_analysis import normalize_word, parts

TEXTS = st.text(st.characters(exclude_categories=["Cs", "No"]), max_size=60) | st.lists(
    st.sampled_from(
        ["on", "call", "calls", "the", "Is", "snake_case", "l’homme", "café", "测试", ".", "\n", "½"]
    )
).map(" ".join)


def marked(question: str, text: str) -> list[str]:
    return [text[start:end] for start, end in QuestionWords(question).find(text)]


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Lease", "a lease, LEASES and leasing; release not", ["lease", "LEASES", "leasing"]),
        ("possible ontology", "possibly. ontologies, ontological", ["possibly", "ontologies", "ontological"]),
        ("who is on call", "Only Ada is on call; calls go on", ["is on call", "calls"]),
        ("who is on call", "isolated, on the call; on-call", ["call", "on-call"]),
        ("how do I use a filter", "I use a\nfilter as you do", ["I use a\nfilter"]),
        ("to be or not to be", "to be, or: not to be", ["to be", "not to be"]),
        ("case of snakes", "snake_case, snake-case, showcase", ["snake", "case", "snake", "case"]),
        ("snake_case", "a case; snake_case, snake case", ["snake_case", "snake case"]),
        ("Python's", "python Pythons Python’s S", ["python", "Pythons", "Python"]),
        ("résumé", "Resume cafe\u0301 re\u0301sume\u0301s", ["Resume", "re\u0301sume\u0301s"]),
        ("caf\u00e9", "cafe\u0301, CAFÉ", ["cafe\u0301", "CAFÉ"]),
        ("测试文档", "这是一个测试，文档。", ["测试", "文档"]),
        ("½ inch", "½inch ½ 3", ["½inch", "½"]),
        ("5 kg", "takes 5kg, 7 kg and 5", ["5kg", "kg", "5"]),
        ("5kg", "takes 5 kg, 5-kg, 7 kg and 5", ["5 kg", "5-kg"]),
        ("2022", "2022년 ب٢٠٢٢", ["2022년", "ب٢٠٢٢"]),
        ("ｱﾝﾃﾅ", "アンテナ、ｱﾝﾃﾅ", ["アンテナ", "ｱﾝﾃﾅ"]),
        ("12kg", "12㎏ or 12 ㎏", ["12㎏", "12 ㎏"]),
        ("x²", "x2, x^2 and x", ["x2", "x^2"]),
        ("C++ (a|b)*", "C, c++", ["C", "c"]),
        ("the", "the wall", []),
        ("", "nothing", []),
        ("?!", "?! nothing", []),
    ],
)
def test_words_are_marked_as_full_text_compares_them(question: str, text: str, expected: list[str]) -> None:
    assert marked(question, text) == expected


@given(TEXTS, TEXTS)
def test_only_query_words_are_marked(question: str, text: str) -> None:
    asked = {normalize_word(each) for word in parts(question).split() for each in (word, *word)}
    last = 0
    for start, end in QuestionWords(question).find(text):
        assert last <= start < end <= len(text)
        last = end
        said = parts(text[start:end]).split()
        assert said
        assert all(
            normalize_word(word) in asked or asked.issuperset(map(normalize_word, word)) for word in said
        )


@given(st.lists(st.sampled_from(["leases", "worker", "renewing", "café", "foo_bar"]), min_size=1, max_size=5))
def test_text_equal_to_the_query_is_marked_completely(words: list[str]) -> None:
    text = " ".join(words)
    assert marked(text, text) == [text]


def test_number_of_matches_and_scanned_characters_is_bounded() -> None:
    assert len(marked("word", "word. " * 1000)) == MAX_MATCHES
    assert marked("word", " " * MAX_SCANNED + "word") == []
