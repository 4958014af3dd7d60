from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate

from kg_api.container import Container
from kg_api.errors import NotFound
from kg_api.mcp.library import Library
from kg_api.schemas.answers import HybridHits, HybridSearch
from kg_api.schemas.base import build_document_id, build_source_ids, hash_content
from kg_api.schemas.concepts import Concept, ConceptContext, ConceptHit, ConceptHits, ConceptPassage, Evidence
from kg_api.schemas.documents import (
    DocumentContent,
    DocumentPage,
    DocumentSummary,
    OntologyList,
    OntologySummary,
)
from kg_api.schemas.image_search import (
    ImageHit,
    ImageHits,
    ImageSearch,
    ImageThrough,
    RelatedSearch,
    RelatedSource,
    RelatedSources,
    RelatedThrough,
)
from kg_api.schemas.images import PageImage
from kg_api.schemas.search import (
    CarriedConcept,
    Degradation,
    DescribedPlace,
    DocumentReading,
    ImageFacts,
    MatchedChunk,
    Place,
    Ranks,
    SourceContext,
    SourceHit,
    SourceHits,
    SourceSearch,
)
from kg_api.schemas.similarity import SimilarSearch, SimilarSource, SimilarSources

WHEN = datetime(2026, 11, 22, tzinfo=UTC)
LONG = 'A long paragraph about bees, "quoted" and with 蜂 in it. ' * 60 + "\n"
PARAGRAPHS = ["Bees dance.\n\n", "They show the way.\n", LONG, "Bees swarm in May.\n", "The end."]


def _fail() -> Container:
    raise AssertionError("a library in memory has no container")


class MemoryLibrary(Library):
    """Documents to store. Each of them is a list of paragraphs in its own ontology."""

    def __init__(self) -> None:
        super().__init__(_fail)
        self.places: dict[str, list[Place]] = {}
        self.degraded: list[Degradation] = []
        self.failing: Exception | None = None
        self.thumbnails: dict[str, bytes] = {}
        self.pages = 2
        self.description = "An insect."
        self.bytes_a_pixel = 1

    def add(self, ontology: str, document: str, paragraphs: Sequence[str]) -> list[Place]:
        identity = build_document_id(ontology, document)
        texts = list(paragraphs)
        ends = list(accumulate(map(len, texts)))
        ids = build_source_ids(identity, map(hash_content, texts))
        self.places[identity] = [
            Place(
                source_id=source_id,
                ontology=ontology,
                document=document,
                document_id=identity,
                paragraph=at,
                heading=["Part"],
                start=end - len(text),
                end=end,
                full_text=text,
            )
            for at, (source_id, text, end) in enumerate(zip(ids, texts, ends, strict=True))
        ]
        return self.places[identity]

    def text(self, place: Place) -> str:
        return "".join(each.full_text for each in self.places[place.document_id])

    def search(self, request: SourceSearch) -> SourceHits:
        self._fail()
        words = (request.query_text or "").split()
        every = [place for places in self.places.values() for place in places]
        found = [each for each in every if any(word in each.full_text for word in words)]
        return SourceHits(
            query_text=request.query_text,
            mode="text",
            space=None,
            sources=[self._hit(each) for each in found[: request.limit]],
            degraded=self.degraded,
            timings_ms={},
        )

    def hybrid(self, request: HybridSearch) -> HybridHits:
        found = self.search(SourceSearch(query_text=request.query_text, limit=request.source_limit))
        bee = CarriedConcept(concept_id="c1", label="bee")
        hits = [each.model_copy(update={"concepts": [bee], "through": [bee]}) for each in found.sources]
        known = {"ontology": "o", "description": self.description, "search_terms": ["honeybee"], "sources": 2}
        concept = ConceptHit.model_validate({**bee.model_dump(), **known, "similarity": None, "score": 1.0})
        return HybridHits(
            query_text=request.query_text,
            mode=request.mode,
            concepts=[concept][: request.concept_limit],
            sources=hits,
            degraded=self.degraded,
            timings_ms={},
        )

    def context(self, source_id: str, window: int) -> SourceContext:
        self._fail()
        for places in self.places.values():
            for at, place in enumerate(places):
                if place.source_id == source_id:
                    around = places[max(at - window, 0) : at + window + 1]
                    return SourceContext(source_id=source_id, window_size=window, sources=around)
        raise NotFound(f"source {source_id!r} not found. Its document may have changed since your search")

    def page(self, document_id: str, page: int, source_id: str, width: int) -> PageImage:
        self._fail()
        assert self.places[document_id]
        if page > self.pages:
            raise NotFound(f"there is no page {page}")
        return PageImage(b"\x89PNG" + bytes(self.bytes_a_pixel * width), page, self.pages, len(source_id[:3]))

    def concepts(self, query_text: str, ontologies: Sequence[str] | None, limit: int) -> ConceptHits:
        found = self.search(SourceSearch(query_text=query_text, limit=limit)).sources
        within = [each for each in found if ontologies is None or each.ontology in ontologies]
        hits = [self._concept_hit(each, query_text) for each in within]
        return ConceptHits(query_text=query_text, concepts=hits, degraded=self.degraded)

    def concept_context(self, concept_id: str, window: int, limit: int) -> ConceptContext:
        around = self.context(concept_id, window).sources
        place = next(each for each in around if each.source_id == concept_id)
        word = place.full_text.split()[0]
        known = {"instance_id": "i", "score": 1.0, "start": place.start, "end": place.start + len(word)}
        quote = Evidence.model_validate({**known, "quote": word, "source": place})
        passage = ConceptPassage(
            source_id=concept_id, carried_by=[concept_id], quotes=[quote], sources=around
        )
        return ConceptContext(
            concept=self._concept(place), window_size=window, passages=[passage][:limit], more_passages=0
        )

    def similar(self, source_id: str, request: SimilarSearch) -> SimilarSources:
        own = next(each for each in self.context(source_id, 0).sources if each.source_id == source_id)
        words = SourceSearch(query_text=own.full_text, limit=100)
        found = [each for each in self.search(words).sources if each.document_id != own.document_id]
        return SimilarSources(
            source=own,
            space="default",
            sources=[
                SimilarSource(
                    **each.model_dump(include=set(Place.model_fields)),
                    similarity=0.5,
                    score=0.5,
                    chunk=each.chunk,
                    own_chunk=each.chunk,
                    near_duplicate=False,
                )
                for each in found[: request.limit]
            ],
            degraded=self.degraded,
            timings_ms={},
        )

    def add_picture(self, document: str, words: str, thumbnail: bytes) -> Place:
        (place,) = self.add("photos", document, [words])
        known = {"storage_key": "0" * 64, "content_type": "image/png", "width": 4, "height": 3}
        image = ImageFacts.model_validate({**known, "bytes": 100})
        made = place.model_copy(update={"kind": "image", "image": image})
        self.places[place.document_id] = [made]
        self.thumbnails[made.source_id] = thumbnail
        return made

    def images(self, request: ImageSearch) -> ImageHits:
        self._fail()
        words = (request.query_text or "").split()
        every = [place for places in self.places.values() for place in places if place.kind == "image"]
        fit = [each for each in every if not words or any(word in each.full_text for word in words)]
        found = [each for each in fit if each.source_id != request.source_id][: request.limit]
        way = ImageThrough(lane="words" if words else "picture_space", rank=1, similarity=0.25)
        hits = [ImageHit(**each.model_dump(), score=1.0, through=[way]) for each in found]
        return ImageHits(by=[way.lane], spaces=[], images=hits, degraded=self.degraded, timings_ms={})

    def related(self, source_id: str, request: RelatedSearch) -> RelatedSources:
        (own,) = self.context(source_id, 0).sources
        found = self.images(ImageSearch(query_text="a e i o u", limit=request.limit)).images
        way = RelatedThrough(lane="document", rank=1, distance=2)
        place = set(DescribedPlace.model_fields)
        sources = [
            RelatedSource(**each.model_dump(include=place), score=1.0, through=[way]) for each in found
        ]
        kinds = request.kinds or ["image"]
        return RelatedSources(source=own, kinds=kinds, sources=sources, degraded=self.degraded, timings_ms={})

    def thumbnail(self, source_id: str) -> bytes:
        if source_id not in self.thumbnails:
            raise NotFound(f"{source_id!r} is not a picture")
        return self.thumbnails[source_id]

    def document(self, document_id: str) -> DocumentContent:
        first = self.places[document_id][0]
        return DocumentContent(**self._summary(first).model_dump(), text=self.text(first))

    def reading(
        self, called: str, ontology: str | None, start: int | None, token_budget: int
    ) -> DocumentReading:
        del token_budget
        self._fail()
        for places in self.places.values():
            if places[0].document == called and ontology in {None, places[0].ontology}:
                about, first = self._summary(places[0]), start or 0
                return DocumentReading(document=about, start=first, sources=places[first:], tokens=0)
        raise NotFound(f"document {called!r} not found")

    def ontologies(self) -> OntologyList:
        self._fail()
        names = sorted({places[0].ontology for places in self.places.values()})
        counts = {"documents": 1, "sources": 2, "embedded": 2, "stale": 0, "searchable": 2}
        return OntologyList(
            ontologies=[
                OntologySummary.model_validate({"ontology": name, "space": "s", **counts}) for name in names
            ]
        )

    def documents(
        self, ontology: str | None, offset: int, limit: int, where: Sequence[str] = ()
    ) -> DocumentPage:
        assert not where
        self._fail()
        firsts = [places[0] for places in self.places.values() if ontology in {None, places[0].ontology}]
        firsts.sort(key=lambda each: (each.ontology, each.document))
        found = [self._summary(each) for each in firsts[offset : offset + limit]]
        return DocumentPage(documents=found, total=len(firsts), offset=offset, limit=limit)

    def _fail(self) -> None:
        if self.failing is not None:
            raise self.failing

    def _summary(self, first: Place) -> DocumentSummary:
        return DocumentSummary(
            document_id=first.document_id,
            ontology=first.ontology,
            document=first.document,
            title=first.document,
            uri=None,
            format="text",
            characters=len(self.text(first)),
            sources=len(self.places[first.document_id]),
            updated_at=WHEN,
            metadata={},
        )

    def _concept(self, place: Place) -> Concept:
        known = {"concept_id": place.source_id, "ontology": place.ontology, "sources": 1}
        words = {"label": place.full_text.split()[0], "description": "", "search_terms": []}
        return Concept.model_validate({**known, **words})

    def _concept_hit(self, place: Place, asked: str) -> ConceptHit:
        concept = self._concept(place)
        fits = "name" if concept.label == asked else None if asked == "far" else "words"
        return ConceptHit(**concept.model_dump(), similarity=None, score=1.0, fits=fits)

    def _hit(self, place: Place) -> SourceHit:
        """It matched in the paragraph's first half, and its larger part is the whole document."""
        return hit_of_first_half(place, self.text(place))


def hit_of_first_half(place: Place, document: str) -> SourceHit:
    """Return a place that matches in its first half. Its larger part is the whole document."""
    half = place.start + max(len(place.full_text) // 2, 1)
    chunk = MatchedChunk(text="", start=place.start, end=half, source_ids=[place.source_id])
    parent = MatchedChunk(text="", start=0, end=len(document), source_ids=[])
    own = place.model_dump()
    return SourceHit(**own, similarity=None, score=1.0, ranks=Ranks(), chunk=chunk, parent=parent)
