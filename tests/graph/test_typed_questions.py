import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.errors import Conflict, NotFound
from kg_api.graph import text_analysis
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.documents import change_document
from kg_api.graph.fulltext import choose_language
from kg_api.graph.names import find_documents_by_name, identify_document
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.base import build_document_id
from kg_api.schemas.documents import DocumentChange, DocumentRecord
from kg_api.schemas.search import SourceHit, SourceSearch
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from tests.conftest import wipe
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.records import record

SETS = {
    "forms": {
        "year": "The bridge was opened in 2024.",
        "iso": "Form ISO 9001 applies.",
        "micro": "The layer is 5 \u03bcm thick.",
        "apples": "There are 5 apples.",
        "pump": "ポンプの故障について。",
        "wide": "記録は２０１９年のもの。",
        "half": "ｱﾝﾃﾅの説明。",
        "power": "The plant makes 10⁶ of them a year.",
        "plain": "In 106 cases out of 10 the plant was closed.",
        "area": "A field of 30 ㎡ behind the house.",
        "gas": "Emissions of CO₂ have fallen.",
        "roman": "Chapter Ⅳ ends here.",
        "trademark": "It runs on Java™ servers.",
    },
    "digits": {
        "arab": "افتتح الجسر عام ٢٠٢١",
        "thai": "สะพานเปิดปี๒๕๖๗แล้ว",
        "korean": "날짜는 2022년 5월이다.",
        "hebrew": "הגשר נפתח ב2016 בצפון",
        "decimal": "النسبة ٣٫٧ بالمئة",
    },
    "spaceless": {
        "thai": "ประเทศไทยมีเมืองหลวงคือกรุงเทพมหานคร",
        "lao": "ນະຄອນຫຼວງຂອງປະເທດລາວແມ່ນວຽງຈັນ",
        "burmese": "ရန်ကုန်မြို့သည်မြန်မာနိုင်ငံ၏အကြီးဆုံးမြို့ဖြစ်သည်",
        "khmer": "រាជធានីភ្នំពេញគឺជាទីក្រុងធំជាងគេ",
        "phone": "โทรศัพท์iPhoneรุ่น15ใช้แบตเตอรี่ใหม่",
    },
    "points": {
        "pointed": "זה תִּקּוּן של המכונה",
        "vowels": "هذا كِتَابٌ جديد",
        "plain": "القلم على الطاولة",
        "stretched": "وصل القطـــار متأخرا",
        "alef": "سافر أحمد إلى المدرسة",
        "persian": "می\u200cخواهم به خانه بروم",
    },
    "units": {
        "hook": "The hook takes a load of 5kg at most.",
        "chain": "The chain takes a load of 7 kg at most.",
        "motor": "The motor draws 230V and 16A.",
        "pump": "The pump needs 400 V and 32 A of current.",
        "sack": "A sack of 12㎏ is too heavy.",
        "resistor": "Put in a resistor of 47Ω here.",
        "car": "The car does 100km/h uphill.",
        "share": "A share of 20% is kept.",
        "oven": "Bake at 180°C for an hour.",
        "beam": "The beam is 2.5m long.",
    },
    "codes": {
        "valve": "Valve QX-17 is closed.",
        "other": "The other valve has number 17.",
        "sales": "We sell B2B only.",
        "music": "Each mp3 is tagged.",
        "standard": "The standard ISO 14001 is about waste.",
        "hex": "The colour is 7f3a9c in hex.",
        "three": "There are 3 or 11 of them, and 2 b.",
        "paper": "Print it on A4 paper.",
        "four": "Take 4 of a kind.",
    },
}
FIRST = [
    *(("forms", asked, "year") for asked in ("２０２４", "𝟐𝟎𝟐𝟒", "٢٠٢٤", "ｂｒｉｄｇｅ")),
    *(("forms", asked, "iso") for asked in ("９００１", "ISO9001", "ｉｓｏ　９００１", "iso9001")),
    *(("forms", asked, "micro") for asked in ("µm", "μm", "5µm", "5 µm", "５㎛", "5 ΜM")),
    *(("forms", asked, "pump") for asked in ("ﾎﾟﾝﾌﾟ", "ポンプ", "ホ\u309aンフ\u309a")),
    *(("forms", asked, "wide") for asked in ("2019", "２０１９", "2019年")),
    *(("forms", asked, "half") for asked in ("アンテナ", "ｱﾝﾃﾅ")),
    *(("forms", asked, "power") for asked in ("10⁶", "10^6")),
    ("forms", "106", "plain"),
    *(("forms", asked, "area") for asked in ("30㎡", "30 m²", "30m2", "30 m2")),
    *(("forms", asked, "gas") for asked in ("CO2", "co₂", "CO₂")),
    *(("forms", asked, "roman") for asked in ("IV", "Ⅳ", "ⅳ")),
    *(("forms", asked, "trademark") for asked in ("Java", "Java™", "java ™")),
    *(("digits", asked, "arab") for asked in ("2021", "٢٠٢١", "２０２１", "۲۰۲۱")),
    *(("digits", asked, "thai") for asked in ("2567", "๒๕๖๗")),
    *(("digits", asked, "korean") for asked in ("2022", "2022년", "2022 년", "٢٠٢٢", "5월")),
    *(("digits", asked, "hebrew") for asked in ("2016", "ב2016", "ב-2016")),
    *(("digits", asked, "decimal") for asked in ("3.7", "٣٫٧")),
    *(("spaceless", asked, "thai") for asked in ("กรุงเทพ", "เมืองหลวงของไทย", "หลวง")),
    *(("spaceless", asked, "lao") for asked in ("ວຽງຈັນ", "ປະເທດລາວ")),
    *(("spaceless", asked, "burmese") for asked in ("ရန်ကုန်", "မြန်မာ")),
    *(("spaceless", asked, "khmer") for asked in ("ភ្នំពេញ", "ទីក្រុង")),
    *(("spaceless", asked, "phone") for asked in ("iPhone", "แบตเตอรี่", "iPhoneรุ่น15", "โทรศัพท์ รุ่น")),
    *(("points", asked, "pointed") for asked in ("תקון", "תִּקּוּן", "תִקון")),
    *(("points", asked, "vowels") for asked in ("كتاب", "كِتَابٌ", "کتاب")),
    *(("points", asked, "stretched") for asked in ("القطار", "القطـــار", "القِطار")),
    *(("points", asked, "alef") for asked in ("احمد", "أحمد", "أَحْمَد", "المدرسه")),
    *(("points", asked, "persian") for asked in ("می\u200cخواهم", "ميخواهم", "میخواهم")),
    *(("units", asked, "hook") for asked in ("5 kg", "5kg", "5 KG", "５㎏", "5-kg", "load of 5 kg")),
    *(("units", asked, "motor") for asked in ("230 V", "230V", "230v", "16 A", "16A")),
    *(("units", asked, "sack") for asked in ("12kg", "12 kg", "12㎏", "12 ㎏")),
    *(("units", asked, "resistor") for asked in ("47 Ω", "47Ω", "47 \u2126", "47ω")),
    *(("units", asked, "car") for asked in ("100 km/h", "100km/h", "100 KM/H")),
    *(("units", asked, "share") for asked in ("20 %", "20%", "２０％")),
    *(("units", asked, "oven") for asked in ("180 °C", "180°C", "180℃", "180 ℃", "180 c")),
    *(("units", asked, "beam") for asked in ("2.5 m", "2.5m", "٢٫٥ m")),
    *(("codes", asked, "valve") for asked in ("QX-17", "qx17", "QX 17")),
    *(("codes", asked, "sales") for asked in ("B2B", "b2b")),
    *(("codes", asked, "standard") for asked in ("ISO14001", "ISO 14001")),
    ("codes", "7f3a9c", "hex"),
    *(("codes", asked, "paper") for asked in ("A4", "a4", "A 4")),
]
ONLY = [
    ("spaceless", "ភ្នំពេញ", ["khmer"]),
    ("units", "5kg", ["hook"]),
    ("units", "230V", ["motor"]),
    ("codes", "QX17", ["valve"]),
    ("codes", "B2B", ["sales"]),
    ("codes", "mp3", ["music"]),
    ("codes", "A4", ["paper"]),
    ("codes", "7f3a9d", []),
    ("codes", "ISO9002", []),
    ("codes", "3.12", []),
]
"""If a word has numbers and letters, it should not find a text that only contains one part of it."""
MARKED = [
    ("forms", "２０２４", "year", ["2024"]),
    ("forms", "2019", "wide", ["２０１９"]),
    ("forms", "アンテナ", "half", ["ｱﾝﾃﾅ"]),
    ("forms", "30m2", "area", ["30 ㎡"]),
    ("forms", "10^6", "power", ["10⁶"]),
    ("digits", "2021", "arab", ["٢٠٢١"]),
    ("digits", "2022", "korean", ["2022"]),
    ("spaceless", "กรุงเทพ", "thai", ["กรุงเทพ"]),
    ("spaceless", "ตัวเมืองหลวงของเรา", "thai", ["เมืองหลวง"]),
    ("spaceless", "ទីក្រុង", "khmer", ["ទីក្រុង"]),
    ("points", "תקון", "pointed", ["תִּקּוּן"]),
    ("points", "كتاب", "vowels", ["كِتَابٌ"]),
    ("units", "5 kg", "hook", ["5kg"]),
    ("units", "7kg", "chain", ["7 kg"]),
    ("units", "12 kg", "sack", ["12㎏"]),
    ("units", "400V", "pump", ["400 V"]),
]


class Library:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        ensure_space(graph, small_embedder().identity)
        self.service = SearchService(graph, SpaceRegistry(graph, lambda _: small_embedder()))

    def ask(self, ontology: str, question: str, mode: str = "text") -> list[SourceHit]:
        asked = {"query_text": question, "ontology": ontology, "mode": mode}
        return self.service.search(SourceSearch.model_validate(asked)).sources

    def names(self, ontology: str, question: str, mode: str = "text") -> list[str]:
        return [hit.document for hit in self.ask(ontology, question, mode)]


@pytest.fixture(scope="module")
def library(migrated_graph: Graph, driver: neo4j.Driver) -> Iterator[Library]:
    wipe(driver)
    for ontology, texts in SETS.items():
        for name, text in texts.items():
            store_document(migrated_graph, titled(name, [text], ontology))
    made = Library(migrated_graph)
    yield made
    made.service.close()


@pytest.fixture
def empty(graph: Graph) -> Iterator[Library]:
    made = Library(graph)
    yield made
    made.service.close()


def titled(name: str, texts: list[str], ontology: str, **metadata: object) -> DocumentRecord:
    made = record(name, texts, ontology)
    about = json.dumps(metadata)
    return replace(made, title="Sheet", metadata=about, content_hash=made.content_hash + about)


def test_question_finds_its_text_first(library: Library) -> None:
    found = {asked[:2]: library.names(*asked[:2])[:1] for asked in FIRST}
    assert found == {(ontology, question): [name] for ontology, question, name in FIRST}
    for ontology, question, name in (("forms", "２０２４", "year"), ("units", "7kg", "chain")):
        assert library.names(ontology, question, "hybrid")[:1] == [name]


def test_joined_word_finds_no_part_of_it(library: Library) -> None:
    for ontology, question, names in ONLY:
        assert library.names(ontology, question) == names, question


def test_found_words_are_marked(library: Library) -> None:
    for ontology, question, name, marked in MARKED:
        (hit,) = [hit for hit in library.ask(ontology, question) if hit.document == name]
        assert hit.full_text.strip() == SETS[ontology][name], "as it is in the file"
        assert [hit.full_text[each.start : each.end] for each in hit.matches] == marked, question


def test_alias_finds_the_first_passage(empty: Library) -> None:
    aliases = ["K8s", "kube", "container crane", "集装箱"]
    texts = ["Our cluster has three nodes.", "It grows.", "It shrinks."]
    store_document(empty.graph, titled("note.md", texts, "case", aliases=aliases))
    store_document(empty.graph, titled("other.md", ["A crane for ships.", "Something else."], "case"))
    store_document(empty.graph, titled("text.md", ["K3s, an alias in a text."], "case", alias="Ｋ９ｓ, K10s"))
    found_first = {
        "K8s": 0,
        "k8s": 0,
        "Ｋ８ｓ": 0,
        "how do I grow kube": 1,
        "container crane": 0,
        "集装箱": 0,
    }
    for question, paragraph in found_first.items():
        hits = empty.ask("case", question)
        assert "note.md" in [hit.document for hit in hits], question
        assert [hit.paragraph for hit in hits if hit.document == "note.md"][:1] == [paragraph], question
        if paragraph == 0:
            assert hits[0].document == "note.md", question
    assert empty.names("case", "K9s") == empty.names("case", "k10s") == ["text.md"]


def test_alias_follows_changes_of_metadata_and_language(empty: Library) -> None:
    graph, identity = empty.graph, build_document_id("case", "note.md")
    store_document(graph, titled("note.md", ["Three nodes.", "It grows."], "case", aliases=["K8s"]))
    change_document(graph, identity, DocumentChange(metadata={"aliases": ["swarm"]}))
    assert [empty.names("case", each) for each in ("K8s", "swarm")] == [[], ["note.md"]]
    choose_language(graph, "case", "de")
    assert empty.names("case", "swarm") == ["note.md"]
    for texts in (["Three nodes.", "It grows."], ["A preface.", "Three nodes."]):
        store_document(graph, titled("other.md", texts, "case", aliases=["nomad"]))
        assert [hit.full_text.strip() for hit in empty.ask("case", "nomad")] == texts[:1]
    store_document(graph, titled("other.md", texts, "case", aliases=["k3s"]))
    assert [empty.names("case", each) for each in ("nomad", "k3s")] == [[], ["other.md"]]


TREES = titled("note.md", ["Bäume schneiden.", "Häuser streichen."], "case", aliases=["K8s"])
CHANGES = {
    "title": replace(TREES, title="Zwiebeln"),
    "aliases": replace(TREES, metadata=json.dumps({"aliases": ["nomad"]})),
    "heading": replace(TREES, sources=tuple(replace(each, heading=("Zwiebeln",)) for each in TREES.sources)),
    "position": titled("note.md", ["Häuser streichen."], "case", aliases=["K8s"]),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_language_change_skips_a_source_that_changes_meanwhile(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch, changed: DocumentRecord
) -> None:
    build, stored = text_analysis.build_row_scope, list[list[dict[str, Any]]]()

    def read_scope() -> list[dict[str, Any]]:
        return rows(driver, "MATCH (s:Source {paragraph: 0}) RETURN s.source_id AS id, s.scope AS scope")

    def change_first(row: dict[str, Any], language: str | None) -> list[str]:
        store_document(graph, replace(changed, content_hash="changed"))
        stored.append(read_scope())
        return build(row, language)

    store_document(graph, TREES)
    monkeypatch.setattr(text_analysis, "build_row_scope", change_first)
    choose_language(graph, "case", "de")
    assert stored[0] == read_scope()


def test_alias_names_one_document(empty: Library) -> None:
    graph = empty.graph
    for name, aliases in {"a.md": ["K8s", "both"], "b.md": ["both", "a.md"]}.items():
        store_document(graph, titled(name, [f"text of {name}"], "case", aliases=aliases))
    store_document(graph, titled("c.md", ["text of c"], "more", aliases="K8s"))
    a = build_document_id("case", "a.md")
    assert identify_document(graph, "k8s", "case") == identify_document(graph, "case/K8s") == a
    assert identify_document(graph, "a.md") == a, "a name goes before an alias"
    for called, ontology in (("K8s", None), ("both", "case")):
        with pytest.raises(Conflict, match=r"several documents have the name"):
            identify_document(graph, called, ontology)
    with pytest.raises(NotFound):
        identify_document(graph, "K9s")
    assert find_documents_by_name(graph, ["K8S"], ["case"]) == {"case": [a]}
    assert [*find_documents_by_name(graph, ["K8S"], ["case", "more"])] == ["case", "more"]
    with pytest.raises(Conflict):
        find_documents_by_name(graph, ["both"], ["case"])
