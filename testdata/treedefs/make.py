#!/usr/bin/env python3
"""Writes cases.json: tree definitions as JAX pickles them, and what they mean; and
optimizer_structure.json: a structure file as eformer lays it out, of an optimizer's state.
eformer_structure.json is one that eformer 0.1.0 wrote itself; it is not made here.

Run it in this folder with jax 0.10.2 installed.  The seed is fixed: the same JAX and Python write
the same file.

  trees    base64 of pickle.dumps(jax.tree_util.tree_structure(tree)), and the tree as JSON:
           "*" a leaf, null None, else an object of one member named by the kind.  "dict", "ordered"
           and "default" hold a list of [key, child] (a key is text, a number, a truth value or
           {"tuple": [...]}; "default" has the factory first), "list" and "tuple" a list of
           children, "named" and "record" a type and a list of children.  Key order: JAX's.
  refused  definitions that name what plain data does not have, with the words of the refusal
  scalars  plain values: base64 of pickle.dumps(value), kind and value; floats in hexadecimal
  opaque   values that are none
"""

import base64
import collections
import dataclasses
import functools
import json
import pathlib
import pickle
import random
import sys
import types

import jax

SEED = 20240611
TREES = 120
MODULE = types.ModuleType("sample_states")
sys.modules[MODULE.__name__] = MODULE


class AdamState(collections.namedtuple("AdamState", ["count", "mu", "nu"])):
    __slots__ = ()


EmptyState = collections.namedtuple("EmptyState", [])


@dataclasses.dataclass
class Pair:
    left: object
    right: object


@dataclasses.dataclass
class Tagged:
    value: object
    tag: str


class Box:
    def __init__(self, value):
        self.value = value


class Outer:
    Inner = collections.namedtuple("Inner", ["x"])


Outer.Inner.__qualname__ = "Outer.Inner"
for kind in (AdamState, EmptyState, Pair, Tagged, Box, Outer, Outer.Inner):
    kind.__module__ = MODULE.__name__
    setattr(MODULE, kind.__name__, kind)
jax.tree_util.register_dataclass(Pair, ["left", "right"], [])
jax.tree_util.register_dataclass(Tagged, ["value"], ["tag"])
jax.tree_util.register_pytree_node(Box, lambda b: ((b.value,), None), lambda _, c: Box(*c))


def dumps(value, protocol=None):
    return base64.b64encode(pickle.dumps(value, protocol)).decode()


def structure(tree):
    return jax.tree_util.tree_structure(tree)


def key_json(key):
    return {"tuple": [key_json(k) for k in key]} if isinstance(key, tuple) else key


def type_name(value):
    return type(value).__module__ + ":" + type(value).__qualname__


def describe(tree):
    kind = type(tree)
    if tree is None:
        return None
    if kind is dict:
        return {"dict": [[key_json(k), describe(tree[k])] for k in sorted(tree)]}
    if kind is collections.OrderedDict:
        return {"ordered": [[key_json(k), describe(v)] for k, v in tree.items()]}
    if kind is collections.defaultdict:
        factory = tree.default_factory.__name__ if tree.default_factory else ""
        return {"default": [factory, [[key_json(k), describe(tree[k])] for k in sorted(tree)]]}
    if kind in (list, tuple):
        return {kind.__name__: [describe(child) for child in tree]}
    if isinstance(tree, tuple):
        return {"named": [type_name(tree), [describe(child) for child in tree]]}
    if kind is Pair:
        return {"record": [type_name(tree), [describe(tree.left), describe(tree.right)]]}
    return "*"


def random_key(rng, kind):
    if kind == "text":
        return rng.choice(["w", "b", "kernel", "scale", "a.b", "x/y", "", "é", "\U0001F600", "0"])
    if kind == "int":
        return rng.choice([0, 1, -1, 7, 255, 256, 65535, 65536, -300, 2**31, -(2**31) - 1, 2**62])
    if kind == "bool":
        return rng.random() < 0.5
    return (rng.choice("abc"), rng.randrange(3))


def random_items(rng, depth):
    kind = rng.choice(["text", "text", "text", "int", "bool", "tuple"])
    keys = list({random_key(rng, kind): None for _ in range(rng.randrange(5))})
    return [(key, random_tree(rng, depth - 1)) for key in keys]


def random_tree(rng, depth):
    kind = rng.choice(["leaf", "dict", "list", "tuple", "ordered", "default", "named", "none",
                       "dict", "leaf", "empty", "record", "inner"]) if depth else "leaf"
    below = functools.partial(random_tree, rng, depth - 1)
    if kind == "dict":
        return dict(random_items(rng, depth))
    if kind == "ordered":
        return collections.OrderedDict(random_items(rng, depth))
    if kind == "default":
        factory = rng.choice([list, dict, int, None])
        return collections.defaultdict(factory, random_items(rng, depth))
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(below() for _ in range(rng.randrange(4)))
    if kind == "named":
        return AdamState(below(), below(), below())
    if kind == "record":
        return Pair(below(), below())
    if kind == "inner":
        return Outer.Inner(below())
    return {"none": None, "empty": EmptyState(), "leaf": 1}[kind]


def chain(length):
    tree = 1
    for _ in range(length):
        tree = [tree]
    return tree


def fixed_trees():
    yield 1
    yield None
    yield {}
    yield []
    yield ()
    yield {"params": {"dense": {"kernel": 1, "bias": 2}}, "step": 3}
    yield {f"layer_{i}": {"kernel": 1, "bias": 1} for i in range(300)}
    yield [1] * 2500  # more than one batch of the pickler
    yield (AdamState(1, {"w": 1}, {"w": 1}), EmptyState())
    yield {"x" * 300: 1}
    yield chain(200)


def scalar_json(value):
    kind = type(value).__name__
    if isinstance(value, float):
        return [kind, value.hex()]
    if isinstance(value, complex):
        return [kind, [value.real.hex(), value.imag.hex()]]
    return [kind, value]


def entry_text(entry):
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def structure_file(tree, prefix, extras):
    paths, treedef = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda x: x is None)
    keys = [".".join([prefix] + [entry_text(entry) for entry in path]) for path, _ in paths]
    mask = [leaf is ARRAY for _, leaf in paths]
    array_keys = [key for key, array in zip(keys, mask) if array]
    return json.dumps({
        "format": "pytree-structure", "version": "0.1.0", "backend": "tensorstore",
        "prefix": prefix, "treedef_b64": dumps(treedef), "leaf_keys_full": keys, "arr_mask": mask,
        "array_keys": array_keys, "array_relpaths": [key.replace(".", "/") for key in array_keys],
        "nonarray_payload": {str(i): dumps(leaf) for i, (_, leaf) in enumerate(paths)
                             if not mask[i]},
        "safetensors_file": None, "extras": extras}, indent=2)


ARRAY = object()  # stands for one


def optimizer_tree():
    moments = {"dense": {"kernel": ARRAY, "a.b": ARRAY}, "layers": [ARRAY, None]}
    return (AdamState(ARRAY, moments, moments), EmptyState(), Pair(EmptyState(), ARRAY),
            {"rate": 0.125, "name": "adam", "fn": len, "steps": 2**40, "on": True})


def main():
    rng = random.Random(SEED)
    trees = list(fixed_trees()) + [random_tree(rng, 4) for _ in range(TREES)]
    refused = [(Tagged(1, "a"), "sample_states:Tagged has static fields"),
               (Box(1), "custom type sample_states:Box"),
               ({1.5: 1}, "a float as the key"),
               (collections.defaultdict(collections.OrderedDict),
                "factory collections:OrderedDict"),
               (jax.tree_util.Partial(len, 1), "custom type jax.tree_util:Partial")]
    scalars = [None, True, False, 0, 7, -1, 255, 256, 65535, 65536, -2**31, 2**31, 2**31 - 1,
               2**63 - 1, -2**63, -129, 1.5, -0.0, float("inf"), float("nan"), 5e-324, 1j,
               complex(-0.0, 2.5), "", "adam", "é", "\U0001F600", "x" * 255, "y" * 256]
    opaque = [2**63, -2**63 - 1, "\ud83d", b"ab", [1], {"a": 1}, (1, 2), {1}, len, int, 2**5000]
    document = {
        "jax": jax.__version__,
        "trees": [[dumps(structure(tree), protocol), describe(tree)]
                  for protocol in (None, 5) for tree in trees[:None if protocol is None else 20]],
        "refused": [[dumps(structure(tree)), words] for tree, words in refused],
        "scalars": [[dumps(value)] + scalar_json(value) for value in scalars],
        "opaque": [dumps(value) for value in opaque],
    }
    text = json.dumps(document, separators=(",", ":"))
    (pathlib.Path(__file__).parent / "cases.json").write_text(text + "\n")
    extras = {"step": 1000, "loss": float("nan"), "bounds": [float("-inf"), float("inf")],
              "note": "\u00e9 \U0001F600 \"NaN\" \n", "empty": {}, "none": [],
              "nested": {"a": [1, 2.5]}}
    (pathlib.Path(__file__).parent / "optimizer_structure.json").write_text(
        structure_file(optimizer_tree(), "tx", extras))


if __name__ == "__main__":
    main()
