from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.text import sentences
from kg_api.text.sentences import guess_language, sentence_borders


def pieces(text: str) -> list[str]:
    borders = [0, *sentence_borders(text, 0, len(text)), len(text)]
    return [text[start:end] for start, end in pairwise(borders)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Mr. Smith went home. ", "He slept."],
        [
            "Das ist z. B. gut für den Rest. ",
            "Der 3. Mai ist nicht der 4. Mai. ",
            "Dr. Müller kam mit dem Zug.",
        ],
        ["你好。", "这是第二句！", "第三句？"],
        ["यह पहला वाक्य है। ", "यह दूसरा है।"],
        ["𝒜 one. ", "😀 two. ", "Three"],
        ["One.\n\n", "Two."],
    ],
)
def test_sentences_of_several_languages(expected: list[str]) -> None:
    assert pieces("".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The house is on the hill and it is old.", "en"),
        ("Das Haus ist auf dem Hügel und nicht alt.", "de"),
        ("La maison est sur la colline et pas dans la ville.", "fr"),
        ("Дом стоит на холме", "ru"),
        ("这是一个句子", "zh"),
        ("これは文です", "ja"),
        ("", "en"),
        ("12345 %%%", "en"),
    ],
)
def test_the_language_is_guessed(text: str, language: str) -> None:
    assert guess_language(text) == language


@given(st.text(st.sampled_from("aB .!?\n。“”\u200b"), max_size=200), st.integers(1, 30))
def test_borders_rise_within_the_text_however_it_is_cut_into_windows(text: str, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "_WINDOW", window)
        borders = list(sentence_borders(text, 0, len(text)))
    assert borders == sorted(set(borders))
    assert all(0 < border < len(text) for border in borders)


def test_a_sentence_on_the_edge_of_a_window_stays_whole() -> None:
    sentence = "This sentence has exactly some forty characters. "
    found = pieces(sentence * 200)
    assert found == [sentence] * 200


def test_only_the_part_asked_for_is_looked_at() -> None:
    sentence = "It is so. "
    assert list(sentence_borders(sentence * 4, 10, 30)) == [20]
