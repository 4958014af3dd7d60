import json
import re
import unicodedata
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document, store_documents
from kg_api.graph.fulltext import (
    CONCEPT_FIELDS,
    QuestionWords,
    build_lucene_queries,
    list_terms,
    write_synonyms,
)
from kg_api.graph.search import find_by_text, find_concepts_by_text
from kg_api.graph.similar import NO_VECTORS, describe_places
from kg_api.graph.spaces import ensure_space
from kg_api.normal_form import ARMENIAN
from kg_api.schemas.base import build_concept_id, build_document_id
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from tests.conftest import Stored
from tests.support.concepts import extraction, found, write
from tests.support.embedders import small_embedder
from tests.support.records import record

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LANGUAGES = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
TATWEEL = "\u0640"
STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these
    they this to was will with
    """.split()  # noqa: SIM905 - a list of words reads better so
)
"""Words that are dropped by the analyzer. You cannot find any text using these words."""
JOINED = [
    *("title:secret", "1,000", "key:value", "3;4", "x·y", "l'homme", "İstanbul'da", "dogs’", "rock'n'roll"),
    *("snake_case", "__init__", "trailing_", "foo.bar", "kg.graph.fulltext:terms", "user@example.com"),
    *("2026.08.1", "v2.x", "3.14", "12:30", "1/2", "a·b·c", "U.S.A.", "e.g.", "C++", "C#", ".NET", "tb-foo"),
    *("10\u202f000", 'צה"ל', "ג'", "wo\u00adrd", "می\u200cخواهم", "\u200eleft\u200f", "ﬁne", "ＡＢＣ"),
    *("１，０００", "½", "x²", "①", "❶", "Ⅷ", "测试.com", "Ru.UTF", "カキ・クケ", "น้ำ", "हिन्दी:शब्द"),
    *(
        "cafe\u0301:bar",
        "Ꟈb",
        "\ufeffmark",
        "بـــيت",
        "한글을",
        "2022년에",
        "データベース",
        "カタ漢字",
        "Ի՞նչ",
    ),
    *("(bracketed)", "«quoted»", "“q:r”", "dash—dash", "under__score", "a\u2024b", "x：y", "don‘t", "¿qué?"),
]


def runs(text: str) -> Iterator[str]:
    spaced = "".join(c if is_within_a_word(c) else " " for c in text)
    return (part for part in spaced.split() if any(map(str.isalnum, part)))


def is_within_a_word(c: str) -> bool:
    return c.isalnum() or unicodedata.category(c) in {"Mn", "Mc", "Me", "Cf"} or c in ARMENIAN


def visible(text: str) -> list[str]:
    """Return all words and their parts, without stop words and duplicates."""
    words = [word for word in text.split() if any(map(str.isalnum, word))]
    found = dict.fromkeys(part for word in words for part in (word, *runs(word)))
    return [each for each in found if not {bare(part.lower()) for part in runs(each)} <= STOP_WORDS | {""}]


def bare(word: str) -> str:
    """Return a word without invisible characters, and without the tatweel, which only stretches others.

    The `ª` of `12.ª` is the stop word `a`.
    """
    normal = unicodedata.normalize("NFKC", word)
    return "".join(c for c in normal if unicodedata.category(c) != "Cf" and c != TATWEEL)


def lost(graph: Graph, name: str, words: Iterable[str]) -> list[str]:
    """Return the words that cannot be used to find the document."""
    with ThreadPoolExecutor(8) as pool:
        finds = pool.map(partial(is_found, graph, build_document_id("notes", name)), words := [*words])
    return [word for word, hit in zip(words, finds, strict=True) if not hit]


def is_found(graph: Graph, document: str, word: str) -> bool:
    queries = build_lucene_queries(list_terms(word), None, [document])
    return any(find_by_text(graph, query, NO_VECTORS, 1) for query in queries)


def documents(graph: Graph, query: str, limit: int) -> list[str]:
    hits = find_by_text(graph, query, NO_VECTORS, limit)
    names = {
        place.source_id: place.document
        for place in describe_places(graph, [h.source.source_id for h in hits])
    }
    return [names[each.source.source_id] for each in hits]


def check(graph: Graph, name: str, texts: Sequence[str], words: Iterable[str] | None = None) -> None:
    store_document(graph, record(name, texts))
    assert lost(graph, name, visible("\n".join(texts)) if words is None else words) == []


def there(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"the data set is not there: {path} does not exist")
    return path


def paragraphs(language: str) -> list[str]:
    lines = there(DATA / "xquad" / language / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


@contextmanager
def store_joined(graph: Graph) -> Generator[Graph]:
    store_documents(graph, [record(word, [f"before {word} after"]) for word in JOINED])
    store_document(graph, record("other", ["something else"]))
    yield graph


def test_punctuated_word_is_found_whole_and_in_parts(stored: Stored, migrated_graph: Graph) -> None:
    graph = stored.give(store_joined, migrated_graph)
    for word in JOINED:
        assert lost(graph, word, visible(f"before {word} after")) == [], word
        assert not is_found(graph, build_document_id("notes", "other"), word), word


@pytest.mark.parametrize(
    ("word", "apart"), [("title:secret", "the secret of a title"), ("1,000", "1 of 000")]
)
def test_who_has_the_whole_word_comes_first(graph: Graph, word: str, apart: str) -> None:
    for number in range(5):
        store_document(graph, record(f"{number}", [f"{apart}, {number}"]))
    store_document(graph, record("whole", [f"it says {word} somewhere in a longer line"]))
    (query,) = build_lucene_queries(list_terms(word))
    assert documents(graph, query, 10)[0] == "whole"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_visible_word_of_twelve_languages(graph: Graph, language: str) -> None:
    check(graph, f"{language}.txt", paragraphs(language)[:2])


@pytest.mark.parametrize("step", [40, pytest.param(10, marks=pytest.mark.full)], ids=["10", "40"])
def test_every_joined_word_of_some_peps(graph: Graph, step: int) -> None:
    joined = re.compile(r"\S*\w[^\w\s]\w\S*|\S*_\S*")
    for path in sorted(there(DATA / "python_peps" / "rst").iterdir())[:400:step]:
        text = path.read_text(encoding="utf-8", errors="replace")
        store_document(graph, record(path.name, [part for part in text.split("\n\n") if part.strip()]))
        words = [part for word in joined.findall(text)[:25] for part in visible(word)]
        assert lost(graph, path.name, dict.fromkeys(words)) == [], path.name


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_visible_word_of_all_of_a_language(graph: Graph, language: str) -> None:
    for number, text in enumerate(paragraphs(language)):
        check(graph, f"{language}{number}.txt", [text])


def test_title_words_are_found_and_updated(graph: Graph) -> None:
    store_document(graph, retitled("a.md", "old:title"))
    assert lost(graph, "a.md", ["old", "title", "a", "md"]) == ["a"], "a stop word"
    store_document(graph, retitled("a.md", "new:caption"))
    assert lost(graph, "a.md", ["new", "caption"]) == []
    assert lost(graph, "a.md", ["old", "title"]) == ["old", "title"]


def retitled(name: str, title: str) -> DocumentRecord:
    made = record(name, ["some text"])
    return replace(made, title=title, content_hash=title)


def test_stop_words_find_nothing_in_any_scope(graph: Graph) -> None:
    store_document(graph, record("a.md", ["the and of it"]))
    for query in [
        *build_lucene_queries(["the", "and"], ["notes"]),
        *build_lucene_queries(["the"], None, [build_document_id("notes", "a.md")]),
    ]:
        assert find_by_text(graph, query, NO_VECTORS, 5) == []


def test_concepts_are_found_by_parts_of_their_names(graph: Graph) -> None:
    made = record("a.md", ["some text"])
    store_document(graph, made)
    write(graph, extraction(made, 0, found("title:secret", search_terms=("snake_case",)), found("other")))
    for word in ("secret", "title:secret", "snake"):
        queries = build_lucene_queries(list_terms(word), ["notes"], fields=CONCEPT_FIELDS)
        hits = [each.concept.concept_id for each in find_concepts_by_text(graph, queries, (), 5)]
        assert hits == [build_concept_id("notes", "title:secret")], word


PROSE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "search.md"
LIKE = """
    possible possibly possibilities legible legibly ontology ontologies ontological biology bias biased
    as was gas gases news new hoping hope hop hopping relate relational related conditional condition happy
    happily happiness generalization generalize general generate Python's Pythons python Is ISO
    """.split()  # noqa: SIM905 - a list of words reads better so
STRANGE = set("❶Ꟈ·")
"""Words that are only indexed in part, or as another word."""


@pytest.fixture(scope="module")
def words() -> list[str]:
    """Build words as they are used in texts, and words to test the rules of the Porter stemmer."""
    said = re.findall(r"[A-Za-z]{3,}", PROSE.read_text(encoding="utf-8"))
    joined = [word for word in JOINED if unicodedata.is_normalized("NFKC", word) and not STRANGE & set(word)]
    return [*dict.fromkeys([*LIKE, *sorted(set(said))[::15], *joined])]


def test_words_are_marked_where_full_text_finds_them(graph: Graph, words: list[str]) -> None:
    stored = record("words", words)
    store_document(graph, stored)
    texts = {source.source_id: source.full_text for source in stored.sources}
    wrong: list[tuple[str, set[str]]] = []
    for word in words:
        found: set[str] = set()
        for query in build_lucene_queries(list_terms(word), fields={"full_text": 1.0}):
            found |= {hit.source.source_id for hit in find_by_text(graph, query, NO_VECTORS, len(words))}
        asked = QuestionWords(word)
        marked = {source for source, text in texts.items() if asked.find(text)}
        if found != marked:
            wrong.append((word, {texts[each].strip() for each in found ^ marked}))
    assert not wrong, "\n".join(map(str, wrong))


@contextmanager
def store_words(graph: Graph) -> Generator[SearchService]:
    ensure_space(graph, small_embedder().identity)
    for ontology, texts in {"a": TEXTS, "b": ["the zeppelin", "a configuratoin"]}.items():
        store_document(graph, record("d", texts, ontology))
    service = SearchService(graph, SpaceRegistry(graph, lambda _: small_embedder()))
    yield service
    service.close()


@pytest.fixture
def search(stored: Stored, migrated_graph: Graph) -> SearchService:
    return stored.give(store_words, migrated_graph)


TEXTS = [
    "Kürbis Kartoffeln Lauch",
    "The configuration of kubernetes is long",
    "A resume is short",
    "Die Zwiebeln sind geschnitten",
    "Hier steht von anderem",
    "Das Gebäude und die Häuser sind mit dem Hof verbunden",
    "Crème brûlée in Bélizère",
    "Ελλάδα, Μεγάλη Άρκτος",
    "nginx is a proxy",
]


def ask(search: SearchService, text: str, **more: object) -> SourceHits:
    asked = {"query_text": text, "mode": "text", "ontology": "a", **more}
    return search.search(SourceSearch.model_validate(asked))


@pytest.mark.parametrize(
    ("asked", "meant", "text"),
    [
        ("Kurbis", ["Kürbis"], TEXTS[0]),
        ("kubernetse", ["kubernetes"], TEXTS[1]),
        ("configuratoin", ["configuration"], TEXTS[1]),
        ("résumé", ["resume"], TEXTS[2]),
        ("proxy of ngin", ["nginx"], TEXTS[-1]),
        ("brulee", ["brûlée"], TEXTS[6]),
        ("Belizere", ["Bélizère"], TEXTS[6]),
        ("αρκτος", ["Άρκτος"], TEXTS[7]),
    ],
)
def test_misspelt_word_is_corrected_and_reported(
    search: SearchService, asked: str, meant: list[str], text: str
) -> None:
    answer = ask(search, asked)
    assert [hit.full_text.strip() for hit in answer.sources] == [text]
    assert [(each.word, each.meant) for each in answer.did_you_mean] == [(asked.lower().split()[-1], meant)]
    assert [(each.part, meant[0] in each.effect) for each in answer.degraded] == [("spelling", True)]


@pytest.mark.parametrize("asked", ["Kürbis", "running kubernetes", "a~ kubernetes~1", "zqxwvut", "short*"])
def test_known_and_unmatched_words_are_not_corrected(search: SearchService, asked: str) -> None:
    answer = ask(search, asked)
    assert (answer.did_you_mean, answer.degraded) == ([], [])


def test_corrections_come_only_from_searched_ontologies(search: SearchService) -> None:
    assert ask(search, "zepelin").sources == []
    assert [hit.ontology for hit in ask(search, "zepelin", ontology=["a", "b"]).sources] == ["b"]
    assert ask(search, "configuratoin", ontology="b").did_you_mean == []
    assert ask(search, "configuratoin").did_you_mean, "known in b only"


def test_keyword_finds_inflections_of_the_text_language(search: SearchService) -> None:
    for asked in ("Haus", "Gebaude", "wo ist das Haus mit dem Hof"):
        answer = ask(search, asked)
        assert answer.sources[0].full_text.strip() == TEXTS[5]
        assert (answer.did_you_mean, answer.degraded) == ([], [])
    assert ask(search, "Zwiebel").sources[0].full_text.strip() == TEXTS[3]


def test_synonyms_rank_behind_the_exact_word(graph: Graph, search: SearchService) -> None:
    groups = [["k8s", "kubernetes"], ["brief", "short"]]
    graph.transaction(lambda tx: write_synonyms(tx, "a", groups))
    answer = ask(search, "k8s configuration")
    assert [hit.full_text.strip() for hit in answer.sources] == [TEXTS[1]]
    assert ask(search, "k8s", ontology="b").sources == [], "each ontology has its own"
    store_document(graph, record("e", ["A note is brief"], "a"))
    exact, synonym = ask(search, "brief").sources
    assert exact.document == "e"
    assert synonym.score < 0.8 * exact.score


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("kube", TEXTS[1]),
        ("a long configurati", TEXTS[1]),  # the index contains `configur`
        ("Kürb", TEXTS[0]),
        ("Zwieb", TEXTS[3]),
    ],
)
def test_unfinished_word_finds_and_marks_its_continuations(
    search: SearchService, typed: str, text: str
) -> None:
    (found,) = ask(search, typed, prefix=True).sources
    assert found.full_text.strip() == text
    assert found.matches
