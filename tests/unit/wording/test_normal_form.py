import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.normal_form import fold_letters, normalise_text, normalise_width

TYPED = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from(
        "٢２²₂½①㎏㏠ﾎﾟ٫№™ﬁאּﻛﷺאִكِـإٔٓ\u0653\u0654\u0655\u200c\u00adé\u0301ำ\u0e4d\u0e32가각\u1100\u11a8"
    ),
    max_size=30,
)


@pytest.mark.parametrize(
    ("typed", "normal"),
    [
        ("２０２４ ＡＢＣ 𝟐𝟎", "2024 ABC 20"),
        ("ｶﾀｶﾅ ﾎﾟﾝﾌﾟ ｳﾞ", "カタカナ ポンプ ヴ"),
        ("㎏ ㎡ ℃ µ Ⅳ ﬁ ㈱ \u2126", "kg m2 °C μ IV fi (株) Ω"),
        ("10⁶ 10⁻⁶ 10²³ x² CO₂ 10₂", "10^6 10^−6 10^23 x2 CO2 10 2"),
        ("320ᵃ 10ⁿ⁺¹ 5ʰ xⁿ 1ª", "320^a 10^n+1 5^h xn 1a"),
        ("½ 2½ ①② ⑤2 №5 Java™", "1/2 2 1/2 1 2 5 2  No 5 Java "),
        ("٢٠٢٤ ۱۴۰۲ २०२३ ๒๕๖๗ ᠑", "2024 1402 2023 2567 1"),
        ("٣٫١٤ ١٬٠٠٠", "3.14 1,000"),
        ("תִּקּוּן שׁ", "תקון ש"),
        ("كِتَابٌ كتـــاب أَحمد ﻛﺘﺎﺏ", "كتاب كتاب أحمد كتاب"),
        ("می\u200cخواهم wo\u00adrd 葛\U000e0100", "میخواهم word 葛"),
        ("cafe\u0301 น้ำ हिन्दी", "café น้ำ हिन्दी"),
        ("น\u0e49\u0e4d\u0e32 น\u0e4d\u0e49\u0e32 ນ\u0ecd\u0ec9\u0eb2", "น้ำ น้ำ ນ້ຳ"),
        ("one\u200btwo C++ a_b", "one\u200btwo C++ a_b"),
    ],
)
def test_normal_form_equals_visible_text(typed: str, normal: str) -> None:
    assert normalise_text(typed) == normal


@given(TYPED)
def test_normal_form_has_itself_as_normal_form(text: str) -> None:
    normal = normalise_text(text)
    assert normalise_text(normal) == normal


@given(TYPED, st.sampled_from(["NFC", "NFD"]))
def test_normal_form_is_the_same_of_canonical_forms(text: str, form: str) -> None:
    assert normalise_text(unicodedata.normalize(form, text)) == normalise_text(text)  # pyright: ignore[reportArgumentType]


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_plain_text_stays(text: str) -> None:
    assert normalise_text(text) == normalise_width(text) == text


@given(st.integers(0, 10**9), st.sampled_from("０٠۰०๐໐០᠐𝟎"))
def test_digits_of_any_script_are_ascii(number: int, zero: str) -> None:
    typed = "".join(chr(ord(zero) + int(digit)) for digit in str(number))
    assert normalise_width(typed) == str(number)


def test_letters_of_typists_are_one() -> None:
    assert fold_letters("أحمد إلى مدرسة کتابی آب") == "احمد الي مدرسه كتابي اب"


def test_width_keeps_vowel_signs() -> None:
    assert normalise_width("كِتَابٌ ٢") == "كِتَابٌ 2"
