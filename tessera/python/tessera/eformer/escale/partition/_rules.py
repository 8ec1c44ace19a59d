"""Specs by rules: the first pattern that is found in a leaf's path."""

from __future__ import annotations

import typing as tp
from collections.abc import Callable, Iterable

from tessera import _core, _mesh
from tessera._load import pattern_text


def match_partition_rules(rules: Iterable[tuple[tp.Any, tp.Any]], tree: tp.Any,
                          min_size: int | None = 0, strict: bool = True, *,
                          on_unmatched: str = "error", mesh: tp.Any = None,
                          return_report: bool = False) -> tp.Any:
    """The tree with the spec of the first rule whose pattern is found in each leaf's path.

    Paths are joined with ``/``; patterns are Python regular expressions.  If ``strict``, leaves
    without a shape, scalars and arrays of fewer than ``min_size`` elements (None: of
    ``MIN_SHARDING_SIZE``) get an empty spec, and specs are cut to the rank.  Leaves that no rule
    takes are a ValueError that lists them all, or get an empty spec with
    ``on_unmatched="replicate"``.  With ``mesh``, specs must fit it.  ``return_report`` adds
    ``{"rules": number of the rule of each path, "unused_rules": [...], "unmatched": [...]}``.
    """
    if on_unmatched not in ("error", "replicate"):
        raise ValueError(f"on_unmatched is 'error' or 'replicate', not {on_unmatched!r}")
    given = [_rule(rule) for rule in rules]
    flat = _mesh.flatten(tree)
    names = [_mesh.slashed(parts) for parts in flat.components]
    core_rules = [(pattern_text(pattern), _mesh.core_spec(spec)) for pattern, spec in given]
    numbers, kept, unused, unmatched = _core.match_rules(
        core_rules, names, [shape_of(leaf) for leaf in flat.leaves], min_size, strict,
        on_unmatched == "replicate", None if mesh is None else _mesh.core_mesh(mesh))
    empty = _empty_spec(given)
    specs = [empty() if number is None else _cut(given[number][1], count)
             for number, count in zip(numbers, kept)]
    matched = flat.unflatten(specs)
    if not return_report:
        return matched
    report = {"rules": dict(zip(names, numbers)), "unused_rules": unused, "unmatched": unmatched}
    return matched, report


def _rule(rule: tp.Any) -> tuple[tp.Any, tp.Any]:
    if not isinstance(rule, (tuple, list)) or len(rule) != 2:
        raise TypeError(f"a rule is a pair of pattern and PartitionSpec, not {rule!r}")
    return rule[0], rule[1]


def shape_of(leaf: tp.Any) -> tuple[int, ...] | None:
    shape = getattr(leaf, "shape", None)
    return tuple(shape) if isinstance(shape, (tuple, list)) else None


def _empty_spec(rules: list[tuple[tp.Any, tp.Any]]) -> type:
    """The class of the rules' specs, for leaves that get none of them."""
    if rules and isinstance(rules[0][1], _core.PartitionSpec):
        return _core.PartitionSpec
    return _mesh.spec_class()


def _cut(spec: tp.Any, count: int) -> tp.Any:
    return spec if count == len(spec) else type(spec)(*tuple(spec)[:count])


def create_pattern_based_partition_spec(
    pattern: str, mesh: tp.Any = None, default_spec: tp.Any = None,
) -> Callable[..., tp.Any]:
    """A function from a name (and an array, which is not looked at) to a spec.

    The text holds rules ``patterns->axes`` with commas between them: patterns are regular
    expressions with ``|`` between them, axes one for each dimension with ``.`` between them, where
    ``a+b`` is two axes and ``None``, ``null``, ``*`` or nothing is none.  With a mesh, its axes are
    the only ones allowed.

    >>> spec_of = create_pattern_based_partition_spec("attention|mlp->data,hidden->model")
    >>> tuple(spec_of("layers/0/mlp", None)), tuple(spec_of("hidden_state", None))
    (('data',), ('model',))
    """
    default = _mesh.spec_class()() if default_spec is None else default_spec
    find = _core.PatternSpec(pattern, None if mesh is None else _mesh.core_mesh(mesh),
                             _mesh.core_spec(default))

    def get_spec(name: str, array: tp.Any = None) -> tp.Any:
        return _mesh.spec_as(default, find(name))

    return get_spec
