import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kg_api.graph.fulltext import (
    MAX_ADDED,
    MAX_MATCHES,
    MAX_SCANNED,
    QuestionWords,
    build_fuzzy_queries,
    find_synonyms,
    find_unfinished,
    list_word_pairs,
)
from kg_api.graph.spellings import MAX_VARIANTS, find_dates, find_variants, list_amounts, write_amounts
from kg_api.graph.text_analysis import (
    build_fuzzy_clauses,
    detect_language,
    find_hidden_parts,
    find_stop_words,
    fold,
    may_be_misspelt,
    normalize_word,
    split_parts,
    stem_question,
    stem_texts,
    suggest_words,
)
from kg_api.schemas.base import build_document_scope, build_ontology_scope
from kg_api.schemas.languages import SynonymList

GERMAN = "Die Zwiebeln sind auf dem Brett und werden mit dem Messer geschnitten."
GREEK = "Οι βιβλιοθήκες της πόλης δεν είναι ανοιχτές για τους φοιτητές, αλλά έχουν νέα βιβλία."
HINDI = "जर्मनी के विद्यार्थियों ने चर्च की नीतियों और लूथर की पुस्तकों के बारे में पढ़ा था।"
SPANISH = "Los jugadores de la selección han ganado en el estadio de la ciudad."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "german"),
        ("Der Mieter ist verpflichtet zu zahlen. " * 2000, "german"),
        ("黑豹队的防守只丢了 308分", "chinese"),
        ("ひらがなとカタカナ", "japanese"),
        ("Η κατσίκα και το τυρί της Ηπείρου: Feta, made in Greece", "greek"),
        ("Київ — столиця України, і це її найбільше місто", "ukrainian"),
        ("მთავარი ქალაქი", "georgian"),
        ("ｶﾀｶﾅ", "japanese"),
        ("def f(t, p): return f(t, d) if d in t else f(p, t)", "english"),
        ("copy(dir, dir)  # the dir or dir", "english"),
        *(
            (text, None)
            for text in ("𝑓(𝑥) ∈ ℝ", "ＡＰＩ", "f(t, p); f(t, d);", "20 de enero de 2025 acta", "1,000 €", "")
        ),
    ],
)
def test_detected_language_follows_script_and_stop_words(text: str, language: str | None) -> None:
    assert detect_language(text) == language


def test_word_has_stem_of_its_inflections_and_accents() -> None:
    (stored,) = stem_texts([GERMAN])
    assert {*stem_question(["Zwiebel"])} & {*stored.split()}
    (stored,) = stem_texts([SPANISH])
    asked = ["¿Cuál", "es", "la", "seleccion", "de", "los", "jugador?"]
    assert {*stem_question(asked)} & {*stored.split()}
    (stored,) = stem_texts([HINDI])
    assert {*stem_question(["पुस्तक"])} & {*stored.split()}
    (stored,) = stem_texts([GREEK])
    asked = ["Πόσα", "βιβλία", "έχει", "η", "βιβλιοθήκη", "του", "δήμου", "και", "τι", "ώρα", "ανοίγει"]
    assert {*stem_question(asked)} & {*stored.split()} == {"kgsβιβλ", "kgsβιβλιοθηκ"}
    assert "kgsdie" not in stem_texts([GERMAN])[0].split(), "stop words have none"
    assert stem_question(["Zwiebeln"], ["german", "english"]) == ["kgszwiebel"], "in the chosen languages"


@pytest.mark.parametrize(
    "group", [["one"], ["a", "b=c"], ["a", "?"], ["a", " "], ["a"] * 11, ["a", "x" * 101]]
)
def test_invalid_synonyms_are_rejected(group: list[str]) -> None:
    with pytest.raises(ValidationError, match="groups"):
        SynonymList.model_validate({"groups": [group]})


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("C++ guide", ["cpp"]),
        ("is c++11 old?", ["cpp"]),
        *((text, []) for text in ("vitamin C", "a fishing net.", "learning by machine")),
        *((text, []) for text in ("kubernetes and k8s", "k8smith")),
        ("what is C#?", ["c sharp"]),
        ("a C#-developer", ["c sharp"]),
        ("c sharp and cpp", ["C#", "C++"]),
        ("the .NET runtime", ["dotnet"]),
        ("salt+pepper, machine-learning", ["sodium chloride", "ML"]),
        ("restart K8S now", ["kubernetes"]),
        *(("बिल क्या है", []), ("बाल क्या है", ["केश"])),
    ],
)
def test_synonyms_are_added(text: str, added: list[str]) -> None:
    groups = [["C#", "c sharp"], ["C++", "cpp"], [".NET", "dotnet"]]
    groups += [["salt", "sodium chloride"], ["ML", "machine learning"], ["k8s", "kubernetes"], ["बाल", "केश"]]
    assert find_synonyms(text, groups) == added
    many = ["k8smith", *(f"smith{number}" for number in range(20))]
    assert len(find_synonyms("k8smith", [many])) == MAX_ADDED


def test_pairs_of_words_are_listed_once() -> None:
    assert list_word_pairs("Who is ON call? Who is") == ["who is", "is on", "on call", "call who"]


def test_stop_words_of_known_language_weigh_less() -> None:
    assert find_stop_words(["der", "Zwiebel"]) == frozenset()
    assert find_stop_words(["der", "Zwiebel"], ["german", None]) == {"der"}
    assert find_stop_words(["πόσα", "βιβλία", "έχει", "η", "πόλη"]) == {"πόσα", "έχει", "η"}
    assert find_stop_words(["who", "is", "on", "der"], ["german"]) >= {"who", "is", "on", "der"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("Kürbis", "kurbis"), ("Straße", "strasse"), ("Długość", "dlugosc"), ("œuvre", "oeuvre")),
        *(("Việt", "viet"), ("ёлка", "елка"), ("Ελλάς", "ελλασ"), ("مُحَمَّد", "محمد")),
    ],
)
def test_accents_and_case_make_no_other_word(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("word", "texts", "meant"),
    [
        ("kubernetse", ["A Kubernetes cluster", "kubernetes"], ["Kubernetes"]),
        ("Kurbis", ["der Kürbis und der Kubus"], ["Kürbis"]),
        ("wrod", ["a word, the ward"], ["word"]),
        ("hope", ["at home"], []),
        ("tyres", ["cuesta tres veces más"], []),
        ("worrd", ["a word"], ["word"]),
        ("schedule", ["die Schule"], []),
        ("uber", ["über"], ["über"]),
        ("cat", ["car", "cät"], ["cät"]),
        ("percentage", ["parentage"], []),
        ("verblieb", ["er verlief", "verblieben"], ["verblieben"]),
        ("zebra", ["nothing of it"], []),
        ("kitten", ["a mitten"], []),
        ("विद्यार्थि", ["वह विद्यार्थी है"], ["विद्यार्थी"]),
        ("বাংলদেশের", ["ঢাকা বাংলাদেশের রাজধানী"], ["বাংলাদেশের"]),
    ],
)
def test_the_nearest_word_is_meant(word: str, texts: list[str], meant: list[str]) -> None:
    assert suggest_words(word, texts) == meant


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *((word, True) for word in ("kubernetes", "विद्यार्थी", "বাংলাদেশ", "தமிழ்", "Việt")),
        *((word, False) for word in ("k8s", "a", "kg_api", "ของ", "ភាសា")),
    ],
)
def test_words_of_letters_and_marks_may_be_misspelt(word: str, expected: bool) -> None:
    assert may_be_misspelt(word) == expected


def test_fuzzy_query_contains_only_letters_and_operators() -> None:
    (asked,) = build_fuzzy_queries(build_fuzzy_clauses("Straßenbahn"), ["a"])
    assert "full_text:(straßenbahn~2 strassenbahn~2" in asked
    assert " straße*)" in asked
    assert "+scope:(" in asked


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("5kg", ["5 kg"]),
        ("a load of 5-kg", ["5kg"]),
        ("1,5 kg 2.5m", ["2.5 m", "1,5kg"]),
        ("100 km/h", ["100km"]),
        ("20 °C", ["20C"]),
        ("30m2", ["30 m2"]),
        ("ISO 9001", ["9.001", "9,001", "9001.00", "9001,00", "9.001,00", "9,001.00", "ISO9001"]),
        ("6254 euros in 2025", ["6.254", "6,254", "6254.00", "6254,00", "6.254,00", "6,254.00", "6254euros"]),
        ("1,234,567", ["1234567", "1.234.567", "1234567.00", "1234567,00", "1.234.567,00", "1,234,567.00"]),
        ("1,739.90", ["1739.9", "1739,9", "1.739,9", "1,739.9", "1739.90", "1739,90", "1.739,90"]),
        ("6.254,33", ["6254.33", "6254,33", "6,254.33"]),
        ("2940.80", ["2940.8", "2940,8", "2.940,8", "2,940.8", "2940,80", "2.940,80", "2,940.80"]),
        ("ISO9001", ["ISO 9001"]),
        ("a 16A fuse", ["16"]),
        ("Python 3.11", ["Python3.11"]),
        ("10⁶ x^2 1/2", ["10 6", "1 2", "6x", "x2"]),
        *((question, []) for question in ("A4 in 2024, at 5", "2022년 2022 년 第5条", "20% 3.11 2024-05")),
        *((question, []) for question in ("31.13.2024, in 1800", "")),
        ("45.90", ["45.9"]),
        ("145,9", ["145,90"]),
    ],
)
def test_variantss_are_the_other_way_to_write(question: str, expected: list[str]) -> None:
    assert [each.words for each in find_variants(question)] == expected


@pytest.mark.parametrize(
    "question",
    [
        "17.06.2025",
        "17. Juni 2025",
        "17th of June, 2025",
        "Jun 17, 2025",
        "17 de junio de 2025",
        "2025-06-17",
        "06/17/2025",
        "2025_06_17.pdf",
        "17/06/2025",
    ],
)
def test_spellings_of_a_day_match_each_other(question: str) -> None:
    assert [f"{each}" for each in find_dates(question)] == ["20250617"]
    found = {each.words for each in find_variants(f"on {question}")}
    assert found >= {"17 06 2025", "2025 06 17", "17 june 2025", "june 17 2025", "17 juni 2025"}
    assert {"06 2025", "2025 06", "june 2025", "juni 2025", "junio de 2025"} <= {
        each.words for each in find_variants("Sommer, Juni 2025")
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("05/06/2025", []),
        ("05/05/2025", ["20250505"]),
        ("32.01.2025 and 1.5.1499", []),
        ("1er août 2025", ["20250801"]),
        ("3 Sept. 2025", ["20250903"]),
        ("juin 2025, juillet 2025", ["202506", "202507"]),
    ],
)
def test_only_certain_dates_are_found(text: str, expected: list[str]) -> None:
    assert [f"{each}" for each in find_dates(text)] == expected


@pytest.mark.parametrize(
    ("text", "written", "listed"),
    [
        ("6.254,00", "6254", ["6254"]),
        ("1,739.90", "1739.9", ["1739.9"]),
        ("3.10 and 0.50", "3.10 and 0.50", []),
        ("17 June 2025 cost 6,000", "20250617 cost 6000", ["6000"]),
    ],
)
def test_amounts_have_one_spelling(text: str, written: str, listed: list[str]) -> None:
    assert (write_amounts(text), list_amounts(text)) == (written, listed)


@pytest.mark.parametrize(
    ("text", "last"),
    [("a Kube", "kube"), ("kube ", None), ("a k", None), ("测试", None), ("", None), ("foo b1", "b1")],
)
def test_last_word_may_be_unfinished(text: str, last: str | None) -> None:
    assert find_unfinished(text) == last


@given(st.text())
def test_variantss_are_few_words_of_letters_and_digits(question: str) -> None:
    found = find_variants(question)
    assert len(found) <= MAX_VARIANTS
    assert all(
        part.replace(",", "").replace(".", "").isalnum() for each in found for part in each.words.split()
    )


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
        ("Python's dogs’ it's", ["s"]),
        ("عام ٢٠٢٤ و٢٠٢٥م ٥ kg", ["2024", "و 2025 م", "5 kg"]),
        ("2022년 ב2016 2017г. 第5条 カメラ5", ["2022 년", "ב 2016", "2017 г", "カメ メラ 5"]),
        ("한글을 배우는 책 ﬁ", ["한글 글을", "배우 우는", "fi"]),
        ("データ, 漢字カナを", ["デー ータ"]),
        ("Ի՞նչ է սա", ["Ինչ"]),
        ("نرم\u200cافزار क्\u200cष", ["نرم", "افزار", "نرمافزار", "क्ष"]),
        ("カ\u3099ス漏れの点検、か\u3099ラス、ホ\u309aンフ\u309a", ["ガス", "が", "ラス", "ポン ンプ"]),
        ("זה תִּקּוּן כ\u05b0תב café cafe\u0301", ["תקון", "כתב", "café"]),
        ("ISO9001 QX-17 B2B mp3 7f3a 47Ω 5kg", []),
        ("An (ordinary) sentence: with C++, a/b, 12:30 and tb-foo. 'So' it—is!", []),
        ("这是一个测试，文档。 हिन्दी น้ำ السلام عليكم Ελλάδα, caf\u00e9", []),
    ],
)
def test_only_words_hidden_by_the_analyzer_are_indexed(text: str, hidden: list[str]) -> None:
    assert find_hidden_parts([text]) == hidden


@given(st.text(max_size=40), st.sampled_from(["NFC", "NFD"]))
def test_query_uses_the_indexed_form_of_a_word(text: str, form: str) -> None:
    for seen in find_hidden_parts([unicodedata.normalize(form, text)]):  # pyright: ignore[reportArgumentType]
        assert split_parts(seen) == seen


@given(st.text(max_size=10), st.sampled_from([":", "_", "", "\u00ad", " "]), st.booleans())
def test_no_part_is_the_token_of_a_scope(name: str, between: str, upper: bool) -> None:
    for token in (build_ontology_scope(name), build_document_scope(build_ontology_scope(name)[3:])):
        forged = token.upper() if upper else token
        text = f"x{between}{forged} {forged}{between}y {forged[0]}\u200d{forged[1:]}"
        for seen in [*find_hidden_parts([text]), split_parts(forged)]:
            assert token[:-2] not in [part.lower()[: len(token) - 2] for part in seen.split()]


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
        ("Python's", "python Pythons Python’s S", ["python", "Pythons", "Python"]),
        ("caf\u00e9", "cafe\u0301, CAFÉ", ["cafe\u0301", "CAFÉ"]),
        ("ΑΘΗΝΑ οδυσσέας", "η Αθήνα, ο ΟΔΥΣΣΕΑΣ", ["Αθήνα", "ΟΔΥΣΣΕΑΣ"]),
        ("Strasse", "die Straße, STRASSE", ["Straße", "STRASSE"]),
        ("کتاب حافظ", "کتاب\u200cهای حافظ، کتابخانه", ["کتاب", "حافظ"]),
        ("کتاب\u200cها", "کتاب\u200cها، کتابها، کتاب ها", ["کتاب\u200cها", "کتابها", "کتاب", "ها"]),
        ("ինչ", "Ի՞նչ է սա", ["Ի՞նչ"]),
        ("ո՞վ", "Ով, ո՜վ", ["Ով", "ո՜վ"]),
        ("ışık", "IŞIK, Işık", ["IŞIK", "Işık"]),
        ("еж", "Ёж", ["Ёж"]),
        ("测试文档", "这是一个测试，文档。", ["测试", "文档"]),
        ("金閣寺 水", "金閣寺の水、寺院、閣", ["金閣寺", "水"]),
        ("東京タワー", "京都の塔、東京のタワー", ["東京", "タワー"]),
        ("½ inch", "½inch ½ 3", ["½inch", "½"]),
        ("5 kg", "takes 5kg, 7 kg and 5", ["5kg", "kg", "5"]),
        ("5kg", "takes 5 kg, 5-kg, 7 kg and 5", ["5 kg", "5-kg"]),
        ("2022", "2022년 ب٢٠٢٢", ["2022", "ب٢٠٢٢"]),
        ("한글은 책", "한글을 배우는 책은", ["한글"]),
        ("배우는 김치", "나는 김치를", ["김치"]),  # pairs at the end of a word are in many words
        ("データ", "データベース、デー", ["データ"]),
        ("x²", "x2, x^2 and x", ["x2", "x^2"]),
        ("C++ (a|b)*", "C, c++", ["C", "c"]),
        ("the", "the wall", []),
        ("THE", "the wall", []),
        ("The lease", "the; lease, the lease", ["lease", "the lease"]),
        ("How Does a lease", "how does; lease", ["lease"]),
        ("", "nothing", []),
        ("?!", "?! nothing", []),
        ("6000", "1,000.00, 6,000.00, 6.000", ["6,000.00", "6.000"]),
    ],
)
def test_words_are_marked_as_full_text_compares_them(question: str, text: str, expected: list[str]) -> None:
    assert marked(question, text) == expected


@given(TEXTS, TEXTS)
def test_only_query_words_are_marked(question: str, text: str) -> None:
    asked = {normalize_word(each) for word in split_parts(question).split() for each in (word, *word)}
    last = 0
    for start, end in QuestionWords(question).find(text):
        assert last <= start < end <= len(text)
        last = end
        said = split_parts(text[start:end]).split()
        assert said
        assert all(
            normalize_word(word) in asked or asked.issuperset(map(normalize_word, word)) for word in said
        )


def test_unfinished_word_marks_whole_words_that_begin_with_it() -> None:
    text = "kubernetes, a skub, Kube"
    assert [text[a:b] for a, b in QuestionWords("a kub", "kub").find(text)] == ["kubernetes", "Kube"]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        *(("विद्य", "विद्यार्थी"), ("বাংল", "বাংলাদেশের"), ("الألماني", "الألمانيَّين"), ("محم", "مُحَمَّد")),
        *(("کتابخانه\u200cه", "کتابخانه\u200cها"), ("muse", "Mu\u00adseum")),
    ],
)
def test_unfinished_word_marks_words_with_signs(question: str, word: str) -> None:
    text = f"({word}) 1"
    found = QuestionWords(question, find_unfinished(question)).find(text)
    assert [text[a:b] for a, b in found] == [word]


def test_number_of_matches_and_scanned_characters_is_bounded() -> None:
    assert len(marked("word", "word. " * 1000)) == MAX_MATCHES
    assert marked("word", " " * MAX_SCANNED + "word") == []
