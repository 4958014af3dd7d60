"""Which folders may be followed: those below KG_SYNC__ROOTS, and those that this home's own user granted."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kg_api.models.library.folders import folder_grant


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """The bounds of what a service registers and of what a worker reads."""

    roots: Sequence[Path]
    """Whoever reaches the service may have folders below these followed."""
    private: Sequence[Path]
    """KG_HOME and KG_CACHE: nothing in them is ever read, whoever asks."""
    key: Callable[[], str | None]
    """The key of this home, which makes grants; None when it has none."""

    def is_granted(self, path: str, ontology: str, grant: str | None) -> bool:
        """Whether somebody who can read this home's key asked for this folder to go to this ontology."""
        key = self.key()
        if key is None or grant is None:
            return False
        return hmac.compare_digest(folder_grant(key, path, ontology).encode(), grant.encode())

    def objection(self, path: str, *, granted: bool, root: Path | None = None) -> str | None:
        """Why a folder must not be read; None when it may.

        Args:
            path: as it was registered.
            granted: whether this home's own user asked for it.
            root: where it leads; unset: resolved here, as far as this machine has it, and not said: whoever
                asks may not know where links of this machine lead.
        """
        leads = f" (it leads to {root})" if root not in {None, Path(path)} else ""
        root = root or _resolve(Path(path))
        if _is_hidden(Path(path)) or _is_hidden(root):
            return f"{path}{leads} is hidden, and hidden folders are never followed: take one that is not"
        if any(self.is_private(folder) for folder in (root, *root.parents)):
            return f"{path} lies in KG_HOME or KG_CACHE, which are never followed: take another folder"
        if granted and root == Path(path):
            return None
        if any(root.is_relative_to(_resolve(allowed)) for allowed in self.roots):
            return None
        return self._outside(path + leads)

    def is_private(self, folder: Path) -> bool:
        """Whether a folder is KG_HOME or KG_CACHE, under whatever name it is reached."""
        return any(folder == private or _same(folder, private) for private in self.private)

    def _outside(self, path: str) -> str:
        roots = ", ".join(map(str, self.roots)) or "it is not set, so there are none"
        return (
            f"{path} lies outside of the folders that may be followed (KG_SYNC__ROOTS: {roots}). "
            "Set that for service and worker; or, for a folder of your own, run `kg folders add` on the "
            "machine of the service with its KG_HOME (one that is registered already: `kg folders remove` "
            "first, which keeps its documents)"
        )


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a circle of links, which no worker can read either
        return path


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _same(folder: Path, other: Path) -> bool:
    try:
        return folder.samefile(other)
    except OSError:
        return False
