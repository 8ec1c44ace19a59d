"""Fitting loaded arrays into a tree that the caller has."""

from __future__ import annotations

import logging
import math
from typing import Any

from ._deserialize import ShardingOfShape
from ._structure_file import TreeLeaves

logger = logging.getLogger(__name__)


def fill_template(
    template: Any, prefix: str, arrays: dict[str, Any], values: dict[str, Any], strict: bool
) -> Any:
    """The template with its arrays, and the plain values that were saved, by dotted key.

    Strict: KeyError for arrays that are missing and ValueError for other shapes, naming all of
    them.  Else what can be made to fit is, and the template's own leaf stands in for the rest.
    """
    leaves = TreeLeaves(template, "")
    if strict:
        _check(leaves, arrays, prefix)
    filled = []
    for key, leaf, array in zip(leaves.keys, leaves.leaves, leaves.is_array):
        if not array:
            filled.append(values.get(key, leaf))
        elif key in arrays:
            filled.append(_fit(arrays[key], leaf, key))
        else:
            logger.warning("%s: not in the checkpoint; the template's own stands in", key)
            filled.append(leaf)
    return leaves.unflatten(filled)


def _check(leaves: TreeLeaves, arrays: dict[str, Any], prefix: str) -> None:
    missing = [key for key in leaves.array_keys if key not in arrays]
    if missing:
        raise KeyError(
            f"prefix {prefix!r} has no array for {', '.join(missing[:20])}; "
            f"it has {', '.join(sorted(arrays)[:20]) or 'none'}"
        )
    wrong = []
    for key, leaf, array in zip(leaves.keys, leaves.leaves, leaves.is_array):
        if array and tuple(arrays[key].shape) != tuple(leaf.shape):
            found, wanted = tuple(arrays[key].shape), tuple(leaf.shape)
            wrong.append(f"{key} (stored as {found}, wanted {wanted})")
    if wrong:
        raise ValueError(f"arrays of other shapes than the template's: {', '.join(wrong[:20])}")


def _fit(loaded: Any, expected: Any, key: str) -> Any:
    """The array in the shape that is wanted, or the template's leaf."""
    found, wanted = tuple(loaded.shape), tuple(expected.shape)
    if found == wanted:
        return loaded
    if found[1:] == wanted and found[0] > 0:
        logger.warning("%s: stored as %s, wanted %s: its first entry is taken", key, found, wanted)
        return loaded[0]
    if math.prod(found) == math.prod(wanted):
        logger.warning("%s: stored as %s, wanted %s: reshaped", key, found, wanted)
        return loaded.reshape(wanted)
    logger.warning("%s: stored as %s, wanted %s: the template's own stands in", key, found, wanted)
    return expected


def template_shardings(template: Any) -> dict[str, ShardingOfShape]:
    """The shardings over meshes that the template's arrays carry.

    One device is where an array of a template happens to be, not where it is wanted.
    """
    leaves = TreeLeaves(template, "")
    return {
        key: ShardingOfShape(leaf.sharding, tuple(leaf.shape))
        for key, leaf, array in zip(leaves.keys, leaves.leaves, leaves.is_array)
        if array and hasattr(getattr(leaf, "sharding", None), "spec")
    }
