import re
import unicodedata
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kg_api.errors import (
    BudgetSpent,
    ConfigurationError,
    EmbeddingUnavailable,
    InvalidInput,
    KgError,
    LlmUnavailable,
    OtherModel,
)
from kg_api.graph.fulltext import (
    FIELDS,
    MAX_STEMS,
    MAX_TERMS,
    SCOPES_A_QUERY,
    build_lucene_queries,
    list_terms,
    parse_question_words,
)
from kg_api.graph.spellings import MAX_VARIANTS, find_variants
from kg_api.graph.text_analysis import find_hidden_parts, find_stop_words
from kg_api.providers.chat import Prompt
from kg_api.schemas.base import build_ontology_scope
from kg_api.schemas.search import Respelling, SourceSearch
from kg_api.search import question as question_module
from kg_api.search.plan import Wording
from kg_api.search.question import OPEN_SECONDS, Hyde, average_vectors, count_wanted

LUCENE_CLAUSES = 1024
QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
WITHOUT_WORDS = re.compile(
    r"\+\((full_text:\( *\)\^1\.0 heading:\( *\)\^1\.0 title:\( *\)\^1\.0 document:\( *\)\^0\.5"
    r"( scope:\( *\)\^1\.0)?)\)"  # `scope` is not searched for single characters of Chinese
    r"( \+scope:\([a-z0-9 ]+\)\^0)?"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How are retries delayed?", ["How", "are", "retries", "delayed"]),
        ("C++ C# .NET", ["C", "NET"]),
        ('* ? ~ ^ \\ / && || ! ( ) { } [ ] - + " :', []),
        ("", []),
        (" \n\t\u3000", []),
        ("a.b.c it's don’t 3.14", ["a.b.c", "it's", "don’t", "3.14"]),
        ("'quoted' ...end. .start", ["quoted", "end", "start"]),
        ("snake_case x2", ["snake_case", "x2"]),
        ("一 测试 テスト て", ["一", "测", "试", "テスト", "テス", "スト", "て"]),
        ("हिन्दी น้ำ می\u200cخواهم", ["हिन्दी", "น้ำ", "میخواهم", "می", "خواهم"]),
        ("２０２４ ｶﾀｶﾅ 12㎏ תִּקּוּן", ["2024", "カタカナ", "カタ", "タカ", "カナ", "12kg", "תקון"]),
        ("2022년 ב2016", ["2022", "년", "ב2016", "ב", "2016"]),
        ("نرم\u200cافزار", ["نرمافزار", "نرم", "افزار"]),
        ("한글을 책", ["한글을", "한글", "글을", "책"]),
        ("QX-17 B2B mp3 ISO9001 7f3a", ["QX", "17", "B2B", "mp3", "ISO9001", "7f3a"]),
        ("title:secret x·y", ["title:secret", "title", "secret", "x·y", "x", "y"]),
        ("12:30 a,b p:1 (x;y)", ["12", "30", "a", "b", "p", "1", "x", "y"]),
        ('צה"ל', ['צה"ל', "צה", "ל"]),
        ("กรุงเทพ ปี", ["กรุ", "รุง", "งเ", "เท", "ทพ", "ปี"]),
        ("ร้านiPhone15 ๑๕ปี", ["ร้า", "าน", "iPhone15", "15", "ปี"]),
    ],
)
def test_query_is_split_into_words(text: str, expected: list[str]) -> None:
    assert list_terms(text) == expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ประเทศไทยมีเมืองหลวงคือกรุงเทพมหานคร", "เมืองหลวง"),
        ("ນະຄອນຫຼວງຂອງປະເທດລາວແມ່ນວຽງຈັນ", "ປະເທດລາວ"),
        ("ရန်ကုန်မြို့သည်မြန်မာနိုင်ငံ၏အကြီးဆုံးမြို့ဖြစ်သည်", "မြန်မာ"),
        ("រាជធានីភ្នំពេញគឺជាទីក្រុងធំជាងគេ", "ទីក្រុង"),
        ("ขนมไทย", "นม"),  # without marks
        ("½ขนมไทย", "ขนม"),  # in a text that is not in normal form
    ],
)
def test_words_of_texts_without_spaces_are_indexed(text: str, word: str) -> None:
    indexed = " ".join(find_hidden_parts([text])).split()
    assert set(list_terms(word)) <= set(indexed)
    assert parse_question_words(word).find(text) == [(text.index(word), text.index(word) + len(word))]


@given(st.text())
def test_composed_and_decomposed_text_have_the_same_words(text: str) -> None:
    assert list_terms(unicodedata.normalize("NFD", text)) == list_terms(unicodedata.normalize("NFC", text))


@example("一", None, None)
@given(st.text(), st.none() | st.just(["one", "two"]), st.none() | st.just(["d"]))
def test_query_text_is_always_quoted(
    text: str, ontologies: list[str] | None, documents: list[str] | None
) -> None:
    for query in build_lucene_queries(list_terms(text), ontologies, documents):
        assert WITHOUT_WORDS.fullmatch(QUOTED.sub("", query)), query


def test_variants_apply_to_each_field() -> None:
    (query,) = build_lucene_queries(["5", "kg"], variants=find_variants("5 kg"))
    assert query.count('"5kg"^2.0') == len(FIELDS) + 1
    (query,) = build_lucene_queries(["5kg"], variants=find_variants("5kg"))
    assert query.count('"5 kg"') == len(FIELDS) + 1


@given(st.integers(0, 300), st.integers(0, 2300))
def test_a_query_never_has_too_many_clauses(words: int, documents: int) -> None:
    asked = [f"é{n}kg" for n in range(words)]
    queries = build_lucene_queries(
        asked,
        None,
        [f"{n:032x}" for n in range(documents)],
        stems=[f"kgs{word}" for word in asked],
        variants=find_variants(" ".join(f"{n}kg" for n in range(words))),
        name="kga",
    )
    for query in queries:
        most = (MAX_TERMS + MAX_VARIANTS) * (len(FIELDS) + 1) + MAX_STEMS
        assert len(QUOTED.findall(query)) <= most
        assert most + 1 + SCOPES_A_QUERY < LUCENE_CLAUSES
        assert query.count("kgd") <= SCOPES_A_QUERY
    assert sum(query.count("kgd") for query in queries) == (documents if words else 0)


@pytest.mark.parametrize("joint", ["", ":", "15"])
def test_long_question_without_spaces_has_few_clauses(joint: str) -> None:
    letters = [chr(0x0E01 + at % 40) + chr(0x0E01 + at // 40) for at in range(1600)]
    (query,) = build_lucene_queries(list_terms(joint.join(letters)))
    assert sum(len(found.split()) for found in re.findall('"([^"]*)"', query)) <= MAX_TERMS * 5


def test_empty_words_or_scope_make_no_query() -> None:
    assert build_lucene_queries([]) == []
    assert build_lucene_queries(["a"], []) == []
    assert build_lucene_queries(["a"], None, []) == []


def test_stop_words_weigh_half_and_a_prefix_matches_no_scope() -> None:
    (query,) = build_lucene_queries(["Who", "call"], light={"who"})
    assert '("Who"^0.5 "call")' in query
    (query,) = build_lucene_queries(["kub"], prefix="kub")
    assert "scope:(kub*)" in query
    (query,) = build_lucene_queries(["kgo"], prefix="kgo")
    assert "scope:(kgo*)" not in query


def test_very_many_scopes_are_shared_out_each_once() -> None:
    names = [f"o{n}" for n in range(SCOPES_A_QUERY * 2 + 1)]
    queries = build_lucene_queries(["a"], names)
    assert len(queries) == 3
    assert [token for query in queries for token in re.findall("kgo[0-9a-f]+", query)] == [
        build_ontology_scope(name) for name in names
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How does the Scheduler start?", {"how", "does", "the"}),
        ("Wer hat das Schiff gebaut?", {"wer", "hat", "das"}),
        ("¿Quién descubrió el radio?", {"quién", "el"}),
        ("Who is on call?", {"who", "is", "on"}),
        ("lease renewal", set[str]()),
        ("", set[str]()),
    ],
)
def test_stop_words_follow_the_query_language(question: str, expected: set[str]) -> None:
    assert find_stop_words(list_terms(question)) == expected


def test_added_words_have_half_weight_and_displace_no_word() -> None:
    respelt = (Respelling(word="bik", meant=["bikes"]),)
    (query,) = Wording(["bike"], synonyms=["cycle"], respelt=respelt).queries
    assert '"bike" "bikes"^0.5 "cycle"^0.5' in query
    assert '"kgsbike"^0.5' not in query, "the form of a word in the question counts fully"
    assert "cycle" not in Wording(["a"] * MAX_TERMS, synonyms=["cycle"]).queries[0]


def test_words_that_may_be_misspelt_are_looked_up() -> None:
    words = ["Sourdoh", "because", "thier", "unfinishe", "v2", "acgt" * 16]
    assert Wording(words, frozenset({"thier"}), prefix="unfinishe").watched == ["sourdoh"]


@pytest.mark.parametrize(
    ("pairs", "compared"),
    [(["on call"], ["on call"]), (["call home"], ()), (["on call", "call a", "a cat", "cat b"], ())],
)
def test_pairs_with_an_omitted_word_are_compared(pairs: list[str], compared: Sequence[str]) -> None:
    assert Wording(pairs=pairs).compared_pairs == compared


@pytest.mark.parametrize(
    ("asked", "answers"),
    [
        ({"query_text": "why " * 12}, 3),
        ({"query_text": "why " * 11}, 0),
        ({"query_text": "why " * 12, "mode": "text"}, 0),
        ({"query_text": "why " * 12, "query_vector": [1.0], "space": "default"}, 0),
        ({"query_text": "why", "hyde": 2}, 2),
    ],
)
def test_long_questions_get_hypothetical_answers(asked: dict[str, Any], answers: int) -> None:
    assert count_wanted(SourceSearch.model_validate({"hyde": "auto", **asked})) == answers


@pytest.mark.parametrize(
    ("fault", "pause"),
    [
        (LlmUnavailable("down", retry_after_seconds=60), 60),
        (ConfigurationError("no key"), OPEN_SECONDS),
        (BudgetSpent("spent"), OPEN_SECONDS),
    ],
)
def test_failed_language_model_is_called_again_after_a_pause(
    fault: KgError, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Prompt] = []
    now = 0.0
    monkeypatch.setattr(question_module, "time", SimpleNamespace(monotonic=lambda: now))

    def fail(question: Prompt) -> str:
        asked.append(question)
        raise fault

    hyde = Hyde(fail)
    for at, times in ((0.0, 1), (0.0, 1), (pause - 0.1, 1), (pause + 0.1, 2)):
        now = at
        assert hyde.generate(SourceSearch(query_text="why", hyde=1)) == ([], str(fault))
        assert len(asked) == times


QUESTION = np.array([1, 0], np.float32)


def answering(vector: Sequence[float], fault: KgError | None = None) -> tuple[Any, list[str]]:
    texts = list[str]()

    def embed(passages: Sequence[str]) -> Any:
        if fault:
            raise fault
        texts.extend(passages)
        return np.array([vector] * len(passages), np.float32)

    model = SimpleNamespace(spans=lambda text: [(0, 4), (4, len(text))])
    return SimpleNamespace(get_embedder=lambda: model, embed_passages=embed), texts


def test_answers_are_averaged_with_the_question() -> None:
    opened, texts = answering([0, 1])
    found, reason = average_vectors(QUESTION, ["wool and linen", "    and wool", "silk"], opened)
    assert texts == ["wool", "silk"], "truncated to the limit of the model"
    assert (found.tolist(), reason) == (pytest.approx([5**-0.5, 2 * 5**-0.5]), None)
    assert average_vectors(QUESTION, [], opened) == (QUESTION, None)
    opposite, _ = answering([-1, 0])
    assert average_vectors(QUESTION, ["silk"], opposite) == (QUESTION, None), "the mean has no direction"


@pytest.mark.parametrize("fault", [EmbeddingUnavailable("down"), InvalidInput("too odd")])
def test_without_answer_vectors_the_question_is_used(fault: KgError) -> None:
    assert average_vectors(QUESTION, ["silk"], answering([0, 1], fault)[0]) == (QUESTION, str(fault))


def test_answers_of_another_model_are_an_error() -> None:
    with pytest.raises(OtherModel):
        average_vectors(QUESTION, ["silk"], answering([0, 1], OtherModel("another"))[0])
