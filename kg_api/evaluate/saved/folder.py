"""The folder that results are saved in, and what whoever asks may see of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import DirEntry, scandir
from pathlib import Path
from threading import Lock
from typing import Final

from kg_api.errors import InvalidInput, NotFound
from kg_api.evaluate.saved.comparisons import Comparisons, require_few
from kg_api.evaluate.saved.reading import is_comparison, parse_result
from kg_api.evaluate.saved.summaries import as_text, ontology_of, summarise
from kg_api.evaluate.sets.records import text_of
from kg_api.graph.naming.reach import reaches, within
from kg_api.models.evaluation import (
    Comparison,
    EvalResult,
    EvalSummaries,
    EvalSummary,
    ResultDeleted,
    UnreadableResult,
)
from kg_api.wording.nearest import suggestion

ENDING: Final = ".json"
BESIDE: Final = (".answers.jsonl", ".png")
"""What a run saves with its result: the answers, a picture."""
MAX_BYTES: Final = 100_000_000
"""Of a file that is read: more than 200,000 questions have."""
MAX_NAME: Final = 300
"""Characters that are compared with names that are there."""
MAX_UNREADABLE: Final = 100
"""So many are named."""
RESERVED: Final = "compare"
"""`GET /evaluations/compare` is no result."""

Version = tuple[int, int]
"""When a file was changed last, and its size: the same is read once."""


@dataclass(frozen=True, slots=True)
class _File:
    """What is known of a file: its summary, why it has none, or nothing where it is no result."""

    version: Version
    about: EvalSummary | UnreadableResult | None


class SavedResults:
    """Results in a folder. Only files that lie in it are known, by name; nothing else can be asked for."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read before somebody asks.

        Args:
            folder: where results are saved; it need not be there.
        """
        self._folder = folder
        self._files: Mapping[str, _File] = {}
        self._comparisons = Comparisons()
        self._reading = Lock()

    def page(self, ontology: str | None, offset: int, limit: int) -> EvalSummaries:
        """List results, the newest first.

        Args:
            ontology: only what was asked of this one; None: of all that can be seen.
            offset: so many are passed over.
            limit: so many at most.

        Raises:
            Forbidden: the ontology cannot be seen.
            InvalidInput: the folder cannot be read.
        """
        asked = within(ontology)
        files = [each.about for each in self._look().values()]
        found = [each for each in files if isinstance(each, EvalSummary)]
        found = [each for each in found if asked is None or each.ontology in asked]
        found.sort(key=lambda each: (each.started_at, each.name), reverse=True)
        unreadable = sorted(
            (each for each in files if isinstance(each, UnreadableResult)), key=lambda each: each.name
        )
        return EvalSummaries(
            evaluations=found[offset : offset + limit],
            unreadable=unreadable[:MAX_UNREADABLE] if reaches(None) else [],
            total=len(found),
            offset=offset,
            limit=limit,
        )

    def find(self, name: str) -> EvalResult:
        """Read a result with the scores of each question.

        Raises:
            NotFound: there is none of that name that can be seen.
            InvalidInput: it cannot be read.
        """
        return self._read(name, self._file(name))

    def delete(self, name: str) -> ResultDeleted:
        """Delete a result, with its answers and its picture.

        Raises:
            NotFound: there is none of that name that can be seen.
            InvalidInput: its file cannot be deleted.
        """
        about = self._file(name).about
        try:
            for ending in (*BESIDE, ENDING):  # the result last: what is left of it can be deleted again
                (self._folder / f"{name}{ending}").unlink(missing_ok=True)
        except OSError as error:
            raise InvalidInput(f"{name} cannot be deleted: {error.strerror}") from None
        of = about.ontology if isinstance(about, EvalSummary) else None
        return ResultDeleted(name=name, ontology=of)

    def compare(self, names: Sequence[str], metrics: Sequence[str] | None, against: str) -> Comparison:
        """Compare results; the same comparison is made once.

        Args:
            names: two or more; the first is the one that others are compared with, unless `against` says
                otherwise.
            metrics: which; None: the main ones.
            against: `first`, `best` in the first metric, or a label.

        Raises:
            NotFound: there is no result of one of these names that can be seen.
            InvalidInput: one cannot be read, they cannot be compared, or are too many for the service.
            Unavailable: another comparison is being made.
        """
        chosen = None if metrics is None else list(dict.fromkeys(metrics))
        files = [(name, self._file(name)) for name in names]
        require_few(max(map(_asked, files), default=0), len(files), chosen)
        stored = [(name, each.version) for name, each in files]
        return self._comparisons.find(stored, chosen, against, lambda: [self._read(*each) for each in files])

    def _file(self, name: str) -> _File:
        seen = {each: known for each, known in self._look().items() if _is_seen(known)}
        if name not in seen:
            near = suggestion(name[:MAX_NAME], seen)
            raise NotFound(
                f"there is no result {name[:100]!r}{near}; `GET /evaluations` lists those there are"
            )
        return seen[name]

    def _read(self, name: str, known: _File) -> EvalResult:
        if isinstance(known.about, UnreadableResult):
            raise InvalidInput(f"{name} {known.about.reason}")
        try:
            found = parse_result(text_of(self._folder / f"{name}{ENDING}"))
        except InvalidInput:  # it was there a moment ago
            raise NotFound(f"the result {name[:100]!r} was removed or changed; ask again") from None
        if not reaches(ontology_of(found)):
            raise NotFound(f"there is no result {name[:100]!r}; `GET /evaluations` lists those there are")
        return found

    def _look(self) -> Mapping[str, _File]:
        """What there is now; a file is read again when it has changed."""
        with self._reading:
            known = self._files
            self._files = {name: _again(known.get(name), name, entry) for name, entry in self._entries()}
            return self._files

    def _entries(self) -> Iterator[tuple[str, DirEntry[str]]]:
        """Files that may be results; a link may lead out of the folder, and is none."""
        try:
            with scandir(self._folder) as entries:
                for each in entries:
                    if each.name.endswith(ENDING) and each.is_file(follow_symlinks=False):
                        yield each.name.removesuffix(ENDING), each
        except FileNotFoundError:
            return
        except OSError as error:
            raise InvalidInput(f"the folder of evaluations cannot be read: {error.strerror}") from None


def _is_seen(file: _File) -> bool:
    """Whether whoever asks may see a result; one that does not say what was asked takes seeing all."""
    of = file.about.ontology if isinstance(file.about, EvalSummary) else None
    return file.about is not None and reaches(of)


def _asked(file: tuple[str, _File]) -> int:
    """How many questions a result has; none where it is not one."""
    about = file[1].about
    return about.asked if isinstance(about, EvalSummary) else 0


def _again(known: _File | None, name: str, entry: DirEntry[str]) -> _File:
    about = entry.stat(follow_symlinks=False)
    version = (about.st_mtime_ns, about.st_size)
    if known is not None and known.version == version:
        return known
    return _File(version, _summary(name, Path(entry.path), about.st_size))


def _summary(name: str, path: Path, size: int) -> EvalSummary | UnreadableResult | None:
    if name == RESERVED:
        return UnreadableResult(name=name, reason="cannot be asked for by that name; rename the file")
    if size > MAX_BYTES:
        return UnreadableResult(name=as_text(name), reason=f"has more than {MAX_BYTES:,} bytes")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        return UnreadableResult(name=as_text(name), reason=f"cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        return UnreadableResult(name=as_text(name), reason="is not UTF-8")
    try:
        return summarise(name, parse_result(text))
    except InvalidInput as error:
        return None if is_comparison(text) else UnreadableResult(name=as_text(name), reason=str(error))
