"""Loading a tree with its structure, or into a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._open import Checkpoint
from . import _kinds
from ._deserialize import deserialize
from ._metadata import read_metadata
from ._side_files import Files
from ._structure_file import TreeLeaves, read_structure, rebuild, structure_name
from ._template import fill_template, template_shardings


class PytreeLoader:
    """One load of a prefix; what it finds beside the arrays is kept here."""

    def __init__(self, root: Any, prefix: str):
        self.root = root
        self.prefix = prefix
        self.arrays: dict[str, Any] = {}  # by dotted key, without the prefix
        self.files: Files | None = None
        self.structure: dict[str, Any] | None = None
        self.extras: dict[str, Any] = {}
        self.keeps_structure = False

    def load(
        self,
        mesh: Any,
        manager: Any,
        *,
        shardings: Mapping[str, Any] | None,
        rules: Any,
        template: Any,
        strict: bool,
        callback: Any,
        **finishing: Any,
    ) -> tuple[Any, dict]:
        """The tree of a prefix and its extras; see AsyncCheckpointManager.load_pytree.

        `finishing` is what `deserialize` is told besides: dtype and chunk_size.
        """
        placed = _without_prefix(shardings, self.prefix)
        if template is not None and rules is None:
            placed = {**template_shardings(template), **placed}
        if rules is None and mesh is not None:
            rules = [(".*", _kinds.replicated_spec(mesh))]
        tree = deserialize(
            self.root,
            mesh,
            manager,
            root=self.root,
            prefix=self.prefix,
            rules=rules,
            shardings=placed,
            callback=self._keep(callback),
            nested_dicts=False,
            on_files=self._look,
            **finishing,
        )
        if template is not None:
            values = _values(tree) if self.keeps_structure else {}
            return fill_template(template, self.prefix, self.arrays, values, strict), self.extras
        return (tree if self.keeps_structure else self._rebuilt()), self.extras

    def _look(self, files: Files, keeps_structure: bool) -> None:
        self.files, self.keeps_structure = files, keeps_structure
        self.structure = read_structure(files, self.prefix)
        if self.structure is not None:
            self.extras = dict(self.structure.get("extras") or {})
        else:
            self.extras = dict(read_metadata(files, self.prefix).get("custom_metadata") or {})

    def _keep(self, callback: Any) -> Any:
        def keep(array: Any, key: str) -> Any:
            if key in self.arrays:
                raise ValueError(f"{self.root}: two arrays have the key {key!r}")
            self.arrays[key] = array if callback is None else callback(array, key)
            return self.arrays[key]

        return keep

    def _rebuilt(self) -> Any:
        """The tree by the structure file.  ValueError, naming them, for arrays that are missing."""
        path = self.root / structure_name(self.prefix)
        if self.structure is None:
            raise FileNotFoundError(f"{path}: nothing tells the structure; give a template")
        keys = [
            "" if key == self.prefix else key.removeprefix(f"{self.prefix}.")
            for key in self.structure["array_keys"]
        ]
        missing = [key for key in keys if key not in self.arrays]
        if missing:
            raise ValueError(f"{path}: the index has no array {', '.join(missing[:20])}")
        return rebuild(self.files, self.prefix, [self.arrays[key] for key in keys])


def load_pytree(root: Any, mesh: Any, manager: Any, *, prefix: str, **options: Any) -> Any:
    """What PytreeLoader loads.  FileNotFoundError for a prefix that is not there."""
    try:
        return PytreeLoader(root, prefix).load(mesh, manager, **options)
    except ValueError as error:
        known = _prefixes(root)
        if known is None or prefix in known:
            raise
        raise FileNotFoundError(
            f"{root}: there is no prefix {prefix!r}; known are {known}"
        ) from error


def _prefixes(root: Any) -> list[str] | None:
    """The prefixes of a checkpoint; None where they cannot be told."""
    try:
        return sorted(Checkpoint(str(root)).prefixes)
    except (OSError, ValueError, NotImplementedError):
        return None


def _without_prefix(shardings: Mapping[str, Any] | None, prefix: str) -> dict[str, Any]:
    """Shardings by keys without the prefix; eformer has them with it."""
    return {str(key).removeprefix(f"{prefix}."): value for key, value in (shardings or {}).items()}


def _values(tree: Any) -> dict[str, Any]:
    """The leaves that are no arrays, by dotted key."""
    saved = TreeLeaves(tree, "")
    return {
        key: leaf
        for key, leaf, array in zip(saved.keys, saved.leaves, saved.is_array)
        if not array
    }
