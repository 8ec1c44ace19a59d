"""Recorded cases of trees, and of names and sizes of files."""

import collections
import json
import pathlib
import re
import tempfile

import ml_dtypes
import numpy as np

from tessera.eformer.serialization import serialization, sharding_utils, utils
from vector_cases import KINDS, is_error, jax, json_of, outcome

_CLASSES = {}


def tree_of(value):
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "dict":
        return {key: tree_of(child) for key, child in inner.items()}
    if kind == "list":
        return [tree_of(child) for child in inner]
    if kind == "tuple":
        return tuple(tree_of(child) for child in inner)
    fields = tuple(inner)
    if fields not in _CLASSES:
        _CLASSES[fields] = collections.namedtuple("Recorded", fields)
    return _CLASSES[fields](*(tree_of(child) for child in inner.values()))


def run_leaf_key_paths(cases, document, report):
    for case in cases:
        tree = tree_of(case["tree"])
        for field, is_leaf in (("leaf_paths", None),
                               ("leaf_paths_none_is_leaf", lambda node: node is None)):
            paths, error = outcome(lambda: jax.tree_util.tree_leaves(
                serialization.leaf_key_paths(tree, prefix=case["prefix"], is_leaf=is_leaf)))
            expected = case[field]
            agrees = is_error(error, expected) if error is not None else paths == expected.get("ok")
            report.check(agrees, case, f"{field}: {paths} {error!r}")


def run_validate_sharding_tree(cases, document, report):
    for case in cases:
        a, b = tree_of(case["a"]), tree_of(case["b"])
        expected = case["same"]["ok"]
        exact = sharding_utils.validate_sharding_tree(a, b, null_is_leaf=False)
        lenient = sharding_utils.validate_sharding_tree(a, b)
        report.check(exact == expected, case, "the structures compare otherwise")
        if lenient == expected:
            continue
        # Only a None that stands against a leaf can make the lenient answer another one.
        if lenient and "null" in json.dumps(case):
            report.differs["null-is-leaf"] += 1
        else:
            report.check(False, case, "with None as a leaf, the structures should agree, too")


def index_difference(index, prefix):
    """The name of what we do otherwise for such an index; None: nothing."""
    if "prefixes" not in index:
        return None
    if index.get("version") != "2.0":
        return "prefix-table-decides"
    if not prefix and "arrays" not in index and len(index["prefixes"]) != 1:
        return "several-prefixes-refused" if index["prefixes"] else "no-arrays-at-all"
    return None


def our_decision(index, prefix):
    """Our result where we differ, worked out by hand: nested dicts, or None for an error."""
    table = index["prefixes"]
    if prefix:
        records = table.get(prefix)
    elif "arrays" in index:
        records = index["arrays"]
    elif len(table) == 1:
        ((prefix, records),) = table.items()
    else:
        return None if table else {}
    if records is None:
        return None
    nested = {}
    for record in records:
        *folders, name = record["path"].removeprefix(f"{prefix}/" if prefix else "").split("/")
        at = nested
        for folder in folders:
            at = at.setdefault(folder, {})
        at[name] = []
    return nested


def specs_of_shardings(tree):
    if isinstance(tree, dict):
        return {key: specs_of_shardings(child) for key, child in tree.items()}
    return json_of(tree.spec)


def run_sharding_tree_from_index(cases, document, report):
    for case in cases:
        for kind in KINDS:
            mesh = kind.mesh({"axes": ["dp"], "sizes": [2], "device_ids": [0, 1]})
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "tensorstore_index.json"
                path.write_text(json.dumps(case["index"]))
                tree, error = outcome(sharding_utils.create_sharding_tree_from_index, folder,
                                      mesh, case["prefix"])
            ours = None if error is not None else specs_of_shardings(tree)
            expected = case["replicated_on_mesh"]
            name = index_difference(case["index"], case["prefix"])
            if is_error(error, expected) if error is not None else ours == expected.get("ok"):
                report.passed += 1
            elif name is not None and ours == our_decision(case["index"], case["prefix"]):
                report.differs[name] += 1
            else:
                report.check(False, case, f"{ours} {error!r}")


def is_a_packing(shards, sizes, limit):
    """Every key once, and no shard over the limit but for a lone key with bytes."""
    for shard in shards:
        with_bytes = [sizes[key] for key in shard if sizes[key] > 0]
        if sum(with_bytes) > limit and len(with_bytes) > 1:
            return False
    return sorted(key for shard in shards for key in shard) == sorted(sizes)


def run_shard_layout(cases, document, report):
    for case in cases:
        state = {key: np.broadcast_to(np.uint8(0), size) for key, size in case["sizes"]}
        limit = case["max"]
        grouped, error = outcome(utils.group_keys_by_shard_size, state, limit)
        parity, parity_error = outcome(utils.optimize_shard_layout, state, limit,
                                       order="codepoint")
        ours, _ = outcome(utils.optimize_shard_layout, state, limit)
        if limit <= 0 and isinstance(error, ValueError) and isinstance(parity_error, ValueError):
            report.differs["shard-size-checked"] += 1
            continue
        report.check(grouped == case["group"]["ok"], case, f"group: {grouped} {error!r}")
        report.check(parity == case["optimize"]["ok"], case, f"optimize: {parity}")
        if ours is None or not is_a_packing(ours, dict(case["sizes"]), limit):
            report.check(False, case, f"optimize, in our order: {ours}")
        elif ours != case["optimize"]["ok"]:
            report.differs["natural-order"] += 1


def balanced_rows(rows, row_bytes, limit):
    """Our rule for chunks, worked out anew: the fewest balanced runs of rows that fit."""
    if rows * row_bytes <= limit:
        return [rows]
    count = 1
    while count < rows and -(-rows // count) * row_bytes > limit:
        count += 1
    return [rows // count + (1 if i < rows % count else 0) for i in range(count)]


def run_chunk_tensor_by_memory(cases, document, report):
    for case in cases:
        tensor = np.zeros(case["shape"], dtype_of(case["dtype"]))
        chunks, error = outcome(utils.chunk_tensor_by_memory, tensor, case["limit"])
        if case["limit"] <= 0:
            report.check(isinstance(error, ValueError), case, "the limit is not refused")
            continue
        shapes = [list(chunk.shape) for chunk in chunks]
        rows = tensor.shape[0] if tensor.ndim else 1
        wanted = balanced_rows(rows, tensor.nbytes // rows if rows else 0, case["limit"])
        if [shape[0] if shape else 1 for shape in shapes] != wanted:
            report.check(False, case, f"chunks: {shapes}")
        elif shapes == case["chunks"].get("ok"):
            report.passed += 1
        else:
            report.differs["chunks-bounded-and-balanced"] += 1


def run_paths(cases, document, report):
    for case in cases:
        if "path" in case:
            check_path(case, report)
        else:
            check_shard_filename(case, report)


def check_path(case, report):
    path = case["path"]
    stem = utils.derive_base_prefix_from_path(path)
    wide = re.search(r"-\d{5,}-of-\d{5,}(\.safetensors)?$", path)
    if stem == case["base_prefix"]["ok"]:
        report.passed += 1
    elif wide and path.startswith(stem + "-"):
        report.differs["wide-numbering-cut"] += 1
    else:
        report.check(False, case, f"base_prefix: {stem}")
    report.check(utils.is_gcs_path(path) == case["is_gcs"]["ok"], case, "is_gcs")
    report.check(utils.index_filename(path) == case["index_filename"]["ok"], case, "index_filename")
    report.check(utils.shard_filename(path, 3, 12345) == case["shard_filename"]["ok"], case,
                 "shard_filename")
    parsed, error = outcome(utils.parse_gcs_path, path)
    expected = case["parse_gcs"]
    if error is None:
        report.check(list(parsed) == expected.get("ok"), case, f"parse_gcs: {parsed}")
    elif "ok" in expected and expected["ok"][0] == "":
        report.differs["empty-bucket-refused"] += 1
    else:
        report.check(is_error(error, expected), case, f"parse_gcs: {error!r}")


def check_shard_filename(case, report):
    name, error = outcome(utils.shard_filename, "m", case["idx"], case["total"])
    if not 1 <= case["idx"] <= case["total"] and isinstance(error, ValueError):
        report.differs["shard-number-checked"] += 1
        return
    report.check(name == case["shard_filename"], case, f"shard_filename: {name}")


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def run_nbytes(cases, document, report):
    for case in cases:
        array = np.zeros(case["shape"], dtype_of(case["dtype"]))
        padded = utils.estimate_array_nbytes(array, storage="padded")
        packed = utils.estimate_array_nbytes(array)
        report.check(padded == case["nbytes"]["ok"], case, f"padded: {padded}")
        if packed != padded:
            bits = int(re.search(r"\d+", case["dtype"]).group())
            if packed == (padded * bits + 7) // 8:
                report.differs["sub-byte-packed"] += 1
            else:
                report.check(False, case, f"packed: {packed}")
