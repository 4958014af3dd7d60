"""What is indexed beside a text: the parts of words that the analyzer does not tell apart, and no more."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.text_analysis import find_hidden_parts, parts
from kg_api.schemas.base import scope_of_document, scope_of_ontology


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("title:secret key:value", ["title secret", "key value"]),
        ("1,000 3;4 x·y 2026.08.1", ["1 000", "3 4", "x y", "2026 08 1"]),
        ("l'homme İstanbul'da don’t", ["l homme", "İstanbul da", "don t"]),
        ("snake_case __init__ foo_ foo.bar:baz", ["snake case", "init", "foo", "foo bar baz"]),
        ("10\u202f000, wo\u00adrd \u200eab\u200f", ["10 000", "word", "ab"]),
        ("צה\"ל ג'", ["צה ל", "ג"]),
        ("½ x² ❶ ﬁne ＡＢＣ Ꟈb", ["1 2", "x2", "1", "fine", "ABC", "ua7c7b"]),
        ("list ❶ and ፲", ["1", "10"]),
        ("Python's dogs’ it's", ["s"]),
        ("title:secret title:secret", ["title secret"]),
        ("12㎏ 15 ㎏ 30㎡ 20℃ 9µm", ["12kg", "15 kg", "30m2", "20 C", "9μm"]),
        ("عام ٢٠٢٤ و٢٠٢٥م ٥ kg", ["2024", "و 2025 م", "5 kg"]),
        ("2022년 ב2016 2017г. 第5条 カメラ5", ["2022 년", "ב 2016", "2017 г"]),
        ("記録は２０１９年のもの。ｱﾝﾃﾅの説明", ["2019", "アンテナ"]),
        ("カ\u3099ス漏れの点検、か\u3099ラス、ホ\u309aンフ\u309a", ["ガス", "が", "ポンプ"]),
        ("זה תִּקּוּן כ\u05b0תב café cafe\u0301", ["תקון", "כתב", "café"]),
        ("10⁶ 450² CO₂ 320ᵃ", ["10 6", "450 2", "CO2", "320 a"]),
        ("ISO9001 QX-17 B2B mp3 7f3a 47Ω 5kg", []),
        ("An (ordinary) sentence: with C++, a/b, 12:30 and tb-foo. 'So' it—is!", []),
        ("这是一个测试，文档。 हिन्दी น้ำ السلام عليكم Ελλάδα, caf\u00e9", []),
    ],
)
def test_only_what_the_analyzer_joins_or_drops_is_indexed_beside_the_text(
    text: str, hidden: list[str]
) -> None:
    assert find_hidden_parts([text]) == hidden


@given(st.text("abc ,;!?()-\n/", max_size=60))
def test_plain_words_cost_nothing(text: str) -> None:
    assert find_hidden_parts([text]) == []


@given(st.text(max_size=40), st.sampled_from(["NFC", "NFD"]))
def test_a_word_is_asked_for_by_what_was_indexed_of_it(text: str, form: str) -> None:
    for seen in find_hidden_parts([unicodedata.normalize(form, text)]):  # pyright: ignore[reportArgumentType]
        assert parts(seen) == seen


@given(st.text(max_size=10), st.sampled_from([":", "_", "", "\u00ad", " "]), st.booleans())
def test_no_part_is_the_token_of_a_scope(name: str, between: str, upper: bool) -> None:
    for token in (scope_of_ontology(name), scope_of_document(scope_of_ontology(name)[3:])):
        forged = token.upper() if upper else token
        text = f"x{between}{forged} {forged}{between}y {forged[0]}\u200d{forged[1:]}"
        for seen in [*find_hidden_parts([text]), parts(forged)]:
            assert token[:-2] not in [part.lower()[: len(token) - 2] for part in seen.split()]
