"""Safetensors by the path of one file: saving a set, and loading the set that a file belongs to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from ... import _core
from ..._load import load_tree
from ..._open import Checkpoint
from ..._save import Saver
from ..paths import is_remote_path
from . import _kinds
from ._metadata import Validation
from ._state import flat_functions

_SUFFIX = ".safetensors"
# Floats that `dtype` converts; narrower ones are chosen on purpose and stay.
_CAST_FLOATS = ("float16", "bfloat16", "float32", "float64")


def check_local(path: Any) -> None:
    """NotImplementedError for storage that safetensors are not kept in."""
    if is_remote_path(path):
        raise NotImplementedError(
            f"{path}: safetensors are saved to and loaded from local paths only"
        )


def save_file(
    tree: Any,
    path: Any,
    *,
    float_dtype: Any = None,
    metadata: Mapping[str, Any] | None = None,
    shard_bytes: int | None = None,
) -> str:
    """Saves the arrays of a tree as one file, or as shards with an index, and gives its path.

    Without the ending .safetensors, the file gets it.  Leaves that are no arrays are not kept, of
    which the engine warns.
    """
    check_local(path)
    base = _core.derive_base_prefix_from_path(str(path))
    folder, stem = os.path.split(os.path.abspath(base))
    saving = Saver().start(
        folder,
        tree,
        float_dtype=_kinds.float_dtype_name(float_dtype),
        format="safetensors",
        shard_bytes=shard_bytes,
        stem=stem,
        metadata=text_metadata(metadata),
        share=True,  # nobody changes the tree while we wait
    )
    saving.result()
    return _core.index_filename(base) if shard_bytes else base + _SUFFIX


def text_metadata(metadata: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Metadata as safetensors has it, where every value is text: others become JSON."""
    if not metadata:
        return None
    result = {}
    for key, value in metadata.items():
        try:
            result[str(key)] = value if isinstance(value, str) else json.dumps(value)
        except TypeError as error:
            raise TypeError(f"metadata: {key}: {error}") from error
    return result


def set_path(path: Any) -> str:
    """The file that stands for the set at a path.  FileNotFoundError when there is none."""
    check_local(path)
    text = str(path)
    base = _core.derive_base_prefix_from_path(text)
    for candidate in (_core.index_filename(base), text, base + _SUFFIX):
        if os.path.isfile(candidate):
            return candidate
    raise FileNotFoundError(f"{text}: there is no such checkpoint")


def load_file(
    path: Any,
    shard_fns: Mapping[Any, Any] | None = None,
    mismatch_allowed: bool = True,
    callback: Callable[[Any, str], Any] | None = None,
    dtype: Any = None,
    validation: Validation | None = None,
    prefix_filter: str | None = None,
) -> tuple[dict[str, Any], dict[str, str], int]:
    """Dicts nested by the keys, the metadata of the files, and how many keys had no function.

    Each array is given to the function of its key, then to the callback, then cast.  KeyError,
    naming all of them, for keys without a function unless that is allowed.
    """
    name = set_path(path)
    about = Checkpoint(name)
    keys = [key for key in about if _is_below(key, prefix_filter)]
    functions = flat_functions(shard_fns or {})
    missing = [key for key in keys if functions.get(key) is None] if functions else []
    if missing and not mismatch_allowed:
        raise KeyError(f"no shard function for {', '.join(missing[:20])}")
    if validation is not None:
        validation.use(about.metadata)
    name_of_dtype = _kinds.float_dtype_name(dtype)

    def finish(array: Any, key: str) -> Any:
        if validation is not None:
            validation(array, key)
        array = _kinds.as_device_array(array)
        if functions.get(key) is not None:
            array = functions[key](array)
        if callback is not None:
            array = callback(array, key)
        castable = str(getattr(array, "dtype", "")) in _CAST_FLOATS
        return _kinds.cast_float(array, name_of_dtype) if castable else array

    if not keys:
        return {}, about.metadata, 0
    wanted = None if prefix_filter is None else keys
    tree = load_tree(name, keys=wanted, callback=finish, nested_dicts=True)
    return tree, about.metadata, len(missing)


def _is_below(key: str, prefix: str | None) -> bool:
    return not prefix or key == prefix or key.startswith(f"{prefix}.")
