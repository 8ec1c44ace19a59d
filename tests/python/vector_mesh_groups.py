"""Recorded cases of meshes, specs and rules."""

import numpy as np

import tessera
from tessera import _core
from tessera.eformer.escale.partition import constraints
from vector_cases import KINDS, JaxSpec, is_error, json_of, outcome, spec_of


def placement_problem(sharding, shape, ok):
    """What is wrong with our placement; empty when nothing is."""
    if list(sharding.shard_shape(shape)) != ok["shard_shape"]:
        return f"shard shape is {sharding.shard_shape(shape)}"
    if sharding.is_fully_replicated != ok["fully_replicated"]:
        return "is_fully_replicated differs"
    boxes = {str(device): [[part.start, part.stop] for part in index]
             for device, index in sharding.devices_indices_map(shape).items()}
    if boxes != ok["index_map"]:
        return f"the boxes are {boxes}"
    replicas = {str(device): number for device, number in sharding.replica_ids(shape).items()}
    # The original cannot tell replica ids of arrays without elements.
    if ok["replica_ids"] is not None and replicas != ok["replica_ids"]:
        return f"the replica ids are {replicas}"
    return ""


def run_named_sharding(cases, document, report):
    def place(kind, case):
        mesh = kind.mesh(case["mesh"])
        sharding, theirs = kind.placement(mesh, spec_of(kind, case["spec"]), case["shape"])
        sharding.shard_shape(case["shape"])
        return sharding, theirs

    for case in cases:
        for kind in KINDS:
            if not kind.has(case["mesh"]):
                continue
            made, error = outcome(place, kind, case)
            if error is not None or "error" in case:
                report.check(is_error(error, case), case, f"error: {error!r}")
                continue
            problem = placement_problem(made[0], case["shape"], case["ok"])
            if made[1] is not None and tuple(case["ok"]["shard_shape"]) != made[1].shard_shape(
                    tuple(case["shape"])):
                problem = "JAX itself has another shard shape"
            report.check(not problem, case, problem)


def run_corrected_named_sharding(cases, document, report):
    for case in cases:
        for kind in KINDS:
            if kind.has(case["mesh"]):
                with kind.mesh(case["mesh"]):
                    check_corrected(kind, case, report)
                    check_constraint(kind, case, report)


def check_corrected(kind, case, report):
    spec = spec_of(kind, case["spec"])
    made, error = outcome(constraints.get_corrected_named_sharding, tuple(case["shape"]), spec)
    expected = case["corrected"]
    if error is not None:
        return report.check(is_error(error, expected), case, f"error: {error!r}")
    agrees = json_of(made.spec) == expected.get("ok") and isinstance(made.spec, kind.spec_class)
    return report.check(agrees, case, f"corrected: {made.spec}")


def check_constraint(kind, case, report):
    spec = spec_of(kind, case["spec"])
    array = kind.array(case["shape"])
    made, error = outcome(constraints.with_sharding_constraint, array, spec)
    expected = case["constraint_result_spec"]
    if error is not None:
        return report.check(is_error(error, expected), case, f"error: {error!r}")
    if expected.get("error") == "AttributeError" and len(spec) == 0:
        # The original leaves the array on its one device, which has no spec; ours replicates it,
        # and leaves it by option.
        left = constraints.with_sharding_constraint(array, spec, empty_spec="leave")
        if len(made.sharding.spec) == 0 and left is array:
            report.differs["empty-spec-replicates"] += 1
            return None
    # JAX drops trailing Nones when it places an array.
    agrees = "ok" in expected and made.sharding.is_equivalent_to(
        type(made.sharding)(made.sharding.mesh, spec_of(kind, expected["ok"])), made.ndim)
    return report.check(agrees, case, f"constraint: {made.sharding}")


def run_names_from_partition_spec(cases, document, report):
    for case in cases:
        for kind in KINDS:
            specs = {name: spec_of(kind, spec) for name, spec in case["specs"].items()}
            names = constraints.get_names_from_partition_spec(specs)
            # The original's order is that of a hash set, recorded sorted.
            report.check(sorted(names) == case["names"]["ok"], case, f"names: {names}")


def run_mesh_queries(cases, document, report):
    for case in cases:
        for kind in KINDS:
            if kind.has(case["mesh"]):
                with kind.mesh(case["mesh"]) as mesh:
                    check_queries(case, mesh, report)


def check_queries(case, mesh, report):
    axes = case["axes"]
    names = [axes] if isinstance(axes, str) else axes
    for query in (constraints.get_axes_size_in_mesh, constraints.get_mesh_axis_size):
        size, error = outcome(query, axes)
        agrees = (is_error(error, case["size"]) if error is not None
                  else size == case["size"].get("ok"))
        report.check(agrees, case, f"{query.__name__}: {size} {error!r}")
    report.check(constraints.names_in_current_mesh(*names) == case["in_mesh"]["ok"], case,
                 "names_in_current_mesh differs")
    report.check(constraints.get_mesh_axis_names() == case["axis_names"]["ok"], case,
                 "get_mesh_axis_names differs")
    indices, error = outcome(lambda: [
        constraints.get_submesh_device_index(axes, device=device)
        for device in case["mesh"]["device_ids"]])
    expected = case["submesh_index_by_mesh_position"]
    if isinstance(error, tessera.DuplicateAxisError) and len(set(names)) < len(names):
        report.differs["repeated-axis"] += 1
        return
    agrees = is_error(error, expected) if error is not None else indices == expected.get("ok")
    report.check(agrees, case, f"get_submesh_device_index: {indices} {error!r}")


def has_bad_pattern(rules):
    return any(outcome(_core.PythonRegex, pattern)[1] is not None for pattern, _ in rules)


def run_match_partition_rules(cases, document, report):
    for case in cases:
        for kind in KINDS:
            check_rules(kind, case, report)


def check_rules(kind, case, report):
    rules = [(pattern, spec_of(kind, spec)) for pattern, spec in case["rules"]]
    tree = {name: np.broadcast_to(np.float32(0), shape)
            for name, shape in zip(case["names"], case["shapes"])}
    specs, error = outcome(constraints.match_partition_rules, rules, tree, case["min_size"],
                           case["strict"])
    if error is None:
        expected = [[name, spec] for name, spec in case.get("ok", [])]
        agrees = "ok" in case and sorted(
            [name, json_of(spec)] for name, spec in specs.items()) == sorted(expected)
        report.check(agrees and list(specs) == list(tree), case, f"specs: {specs}")
    elif "error" in case:
        report.check(is_error(error, case), case, f"error: {error!r}")
    elif isinstance(error, ValueError) and has_bad_pattern(case["rules"]):
        report.differs["bad-pattern-always-refused"] += 1
    else:
        report.check(False, case, f"error: {error!r}")


def run_python_re_search(cases, document, report):
    subjects = document["python_re_subjects"]
    for case in cases:
        def found(subject, pattern=case["pattern"]):
            report_of = constraints.match_partition_rules(
                [(pattern, JaxSpec("x"))], {subject: 0}, strict=False, on_unmatched="replicate",
                return_report=True)[1]
            return report_of["rules"][subject] == 0

        results, error = outcome(lambda: [found(subject) for subject in subjects])
        expected = case["results"]
        agrees = is_error(error, expected) if error is not None else results == expected.get("ok")
        report.check(agrees, case, f"{results} {error!r}")


UNSPLIT = ("None", "null", "*")


def run_pattern_spec(cases, document, report):
    def find(text, name):
        spec = constraints.create_pattern_based_partition_spec(text)(name, None)
        return json_of(spec)

    for case in cases:
        text, expected = case["pattern"], case["spec"]
        spec, error = outcome(find, text, case["name"])
        if error is not None:
            if "ok" in expected and "->" not in text and isinstance(error, ValueError):
                report.differs["pattern-without-arrow"] += 1
            else:
                report.check(is_error(error, expected), case, f"error: {error!r}")
            continue
        recorded = expected.get("ok")
        if spec == recorded:
            report.passed += 1
        elif spec == [None if entry in UNSPLIT else entry for entry in recorded]:
            report.differs["unsplit-words"] += 1
        elif " " in text and spec == find(text.replace(" ", ""), case["name"]):
            report.differs["blanks-trimmed"] += 1
        else:
            report.check(False, case, f"spec: {spec}")
