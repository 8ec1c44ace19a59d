"""The functions take what the documents of eformer's modules say, and more only by keyword."""

import importlib
import inspect
import re
import unittest

# By module below tessera.eformer, as the documents have them.
SIGNATURES = {
    "escale.partition.constraints": """
        analyze_sharding_strategy(pytree, partition_specs, mesh=None)
        create_pattern_based_partition_spec(pattern, mesh=None, default_spec=None)
        extract_sharding_structure(pytree)
        extract_shardings(tree, mesh=None)
        get_axes_size_in_mesh(axis_names, mesh=None)
        get_corrected_named_sharding(shape, partition_spec, raise_mesh_error=True)
        get_incontext_mesh(raise_error=True)
        get_mesh_axis_names(mesh=None)
        get_mesh_axis_size(axis_names)
        get_names_from_partition_spec(partition_specs)
        get_partition_spec(tree)
        get_shardings_with_structure(pytree)
        get_submesh_device_index(axis_names)
        make_shard_and_gather_fns(partition_specs, mesh=None)
        match_partition_rules(rules, tree, min_size=0, strict=True)
        names_in_current_mesh(*names)
        with_sharding_constraint(arr, sharding)
    """,
    "serialization.utils": """
        apply_gather_functions(state, gather_fns, mismatch_allowed, verbose)
        broadcast_tensor(tensor, memory_limit_bytes, target_sharding=None)
        chunk_tensor_by_memory(tensor, memory_limit)
        derive_base_prefix_from_path(path_str)
        estimate_array_nbytes(array)
        estimate_available_memory()
        flatten_for_broadcast(state)
        group_keys_by_shard_size(flat_state, max_shard_size_bytes)
        index_filename(base_prefix)
        is_gcs_path(path)
        optimize_shard_layout(state, max_shard_size_bytes)
        parse_gcs_path(gcs_path)
        read_process_array(key, shard_fns, mismatch_allowed, manager, callback=None, dtype=None)
        reshard(x, target_sharding)
        shard_filename(base_prefix, idx, total)
        to_host(x, float_dtype, mesh, cpu_offload)
    """,
    "serialization.sharding_utils": """
        apply_sharding_tree(arrays, sharding_tree, mesh=None)
        create_sharding_tree_from_index(checkpoint_dir, mesh=None, prefix=None,
                                        default_sharding=None)
        make_itsharded(xs, mesh)
        validate_sharding_tree(sharding_tree, expected_structure)
    """,
    "serialization.serialization": """
        is_array_like(x)
        leaf_key_paths(pytree, prefix='', *, is_leaf=None)
        tree_deserialize_leaves(checkpoint_dir, mesh, manager=None, *, prefix=None,
                                partition_rules=None, shardings=None, callback=None,
                                chunk_size=None)
        tree_serialize_leaves(checkpoint_dir, pytree, manager=None, *, prefix=None,
                              commit_callback=None, write_index=True)
    """,
}


def documented(text):
    """Name and parameters of each function."""
    for name, given in re.findall(r"(\w+)\(([^)]*)\)", text):
        names = {}
        exec(f"def {name}({given}): pass", names)
        yield name, parameters(names[name])


def parameters(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


class SeedSignaturesTest(unittest.TestCase):
    def test_parameters_are_those_of_the_documents(self):
        count = 0
        for module_name, text in SIGNATURES.items():
            module = importlib.import_module(f"tessera.eformer.{module_name}")
            for name, expected in documented(text):
                found = parameters(getattr(module, name))
                more = [parameter for parameter in found if parameter not in expected]
                with self.subTest(name):
                    self.assertEqual([p for p in found if p in expected], expected)
                    for parameter in more:
                        self.assertEqual(parameter[1], inspect.Parameter.KEYWORD_ONLY, parameter)
                        self.assertIsNot(parameter[2], inspect.Parameter.empty, parameter)
                count += 1
        self.assertEqual(count, 41)

    def test_every_function_says_what_it_does(self):
        for module_name, text in SIGNATURES.items():
            module = importlib.import_module(f"tessera.eformer.{module_name}")
            for name, _ in documented(text):
                self.assertTrue(inspect.getdoc(getattr(module, name)), name)


if __name__ == "__main__":
    unittest.main()
