import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.extraction.replies import CASE_ONLY, MIN_SCORE, QuotedText, QuoteSearch, find_quote
from kg_api.schemas.concepts import Quote

TEXT = (
    "The Zen of Python says “Readability counts” — and\nspecial cases aren't special enough to break the "
    "rules. It was written in 1999. The nai\u0308ve ﬁle is 12 pages long. Nobody has 3.5 apples."
)


def found(quote: str, text: str = TEXT) -> Quote:
    answer = find_quote(text, quote)
    assert answer is not None
    assert text[answer.start : answer.end] == answer.text
    return answer


@pytest.mark.parametrize("quote", ["Readability counts", "  The Zen of Python ", "rules.", "3.5 apples."])
def test_verbatim_quote_is_found_unchanged(quote: str) -> None:
    answer = found(quote)
    assert (answer.text, answer.score) == (quote.strip(), 1)
    assert answer.said is None
    assert found("rules", "Rules are rules.").start == 10


@pytest.mark.parametrize(
    ("quote", "text", "score"),
    [
        ('says "Readability counts" - and special', "says “Readability counts” — and\nspecial", 1),
        ("special   cases aren’t special", "special cases aren't special", 1),
        ("naïve file", "nai\u0308ve ﬁle", 1),
        ("zen of python", "Zen of Python", CASE_ONLY),
    ],
)
def test_form_does_not_count(quote: str, text: str, score: float) -> None:
    answer = found(quote)
    assert (answer.text, answer.score) == (text, score)
    assert answer.said == quote


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("बाल", "बाला और बाल"),  # vowel signs continue a word
        ("मत", "कीमत, मत"),  # and a word does not begin after one
        ("לום", "ש\u05c1\u05b8לום לום"),
        ("กน", "กนี กน"),  # in scripts without spaces, a word begins anywhere, but not at a mark
        ("가", "각 가"),
        ("क्", "क्\u200dष, क्"),
    ],
)
def test_words_end_behind_the_marks_of_letters(word: str, text: str) -> None:
    quote, other = QuotedText(word), text.rpartition(word)[0]
    for find in (QuoteSearch.find_exact, QuoteSearch.find_ignoring_form):
        answer = find(QuoteSearch(text), quote)
        assert answer is not None
        assert answer.start == len(other)
        assert find(QuoteSearch(other), quote) is None


@pytest.mark.parametrize(
    "quote",
    [
        "special cases aren't special enough to brake the rules",
        "special cases aren't special enough break the rules",
        "Zen of Python says: Readability counts, and special cases",
        "The Zen of Python says ... enough to break the rules",
    ],
)
def test_small_slips_are_found_by_likeness(quote: str) -> None:
    answer = found(quote)
    assert MIN_SCORE <= answer.score <= CASE_ONLY
    assert answer.said == quote


@pytest.mark.parametrize(
    "quote",
    [
        "It was written in 1998.",
        "special cases are special enough to break the rules",
        "It was not written in 1999.",
        "Nobody has 3,5 apples",
        "eadability",
        "Pyth",
        "The cat sat on the mat and said nothing at all",
        "The Zen of Python says ... that everything is allowed",
        "",
        " \n",
        "...",
        "—",
    ],
)
def test_quote_with_other_content_is_not_found(quote: str) -> None:
    assert find_quote(TEXT, quote) is None


@pytest.mark.parametrize(
    "text",
    [
        "Das System antwortet in der Regel nicht innerhalb einer Sekunde.",
        "O sistema normalmente não responde dentro de um segundo.",
        "Сервер обычно отвечает без задержки и повторных запросов.",
        "Το σύστημα συνήθως δεν απαντά μέσα σε ένα δευτερόλεπτο.",
        "Sistemul nu răspunde de obicei într-o secundă la cereri.",
        "Hệ thống thường không trả lời trong vòng một giây đồng hồ.",
        "यह प्रणाली आमतौर पर एक सेकंड के भीतर उत्तर नहीं देती है।",
        "النظام عادة لا يستجيب للطلبات خلال ثانية واحدة فقط من الوقت.",
        "המערכת בדרך כלל לא עונה לבקשות בתוך שנייה אחת בלבד.",
        "ระบบมักจะไม่ตอบสนองต่อคำขอภายในหนึ่งวินาทีหลังจากเริ่มต้น",
    ],
)
def test_quote_without_a_negation_is_not_found(text: str) -> None:
    said = re.sub(r" (nicht|não|без|δεν|nu|không|नहीं|لا|לא)(?= )|ไม่", "", text)
    assert said != text
    assert find_quote(text, said) is None
    assert find_quote(said, text) is None
    assert found(text.replace(" ", "  "), text)


@given(st.text(), st.text())
def test_a_quote_is_always_a_span(text: str, quote: str) -> None:
    answer = find_quote(text, quote)
    if answer is not None:
        assert text[answer.start : answer.end] == answer.text != ""
        assert MIN_SCORE <= answer.score <= 1


def test_hostile_lengths_take_no_time() -> None:
    begun = time.process_time()
    find_quote("ab " * 100_000, "a b" * 100_000)
    find_quote("... " * 30_000, "x... " * 30_000)
    assert time.process_time() - begun < 5
