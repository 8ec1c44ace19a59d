"""Specs from rules and patterns, specs and shardings of trees, and their analysis."""

import collections
import re
import unittest

from mesh_case import F32, M24, OWN24, jax, on, zeros
from jax.sharding import NamedSharding, PartitionSpec as P

import tessera
from tessera.eformer.escale.partition import constraints as c


class RulesTest(unittest.TestCase):
    def match(self, rules, tree, *args, **options):
        return c.match_partition_rules(rules, tree, *args, **options)

    def test_the_first_rule_that_is_found_wins(self):
        self.assertEqual(self.match([("a", P("x")), ("a/b", P("y"))], {"a": {"b": zeros(2)}}),
                         {"a": {"b": P("x")}})
        self.assertEqual(self.match([("^l/1$", P("x")), (".*", P())], {"l": [zeros(2), zeros(2)]}),
                         {"l": [P(), P("x")]})
        self.assertEqual(self.match([("^$", P("x"))], zeros(2)), P("x"))

    def test_the_callers_own_specs_come_back(self):
        spec = P("x")
        self.assertIs(self.match([("w", spec)], {"w": zeros(2)})["w"], spec)
        own = tessera.P("x")
        self.assertIs(self.match([("w", own)], {"w": zeros(2)})["w"], own)

    def test_specs_are_cut_to_the_rank_unless_not_strict(self):
        rules = [("w", P("a", "b", "c"))]
        self.assertEqual(self.match(rules, {"w": zeros(4, 4)}), {"w": P("a", "b")})
        self.assertEqual(self.match(rules, {"w": zeros(4, 4)}, strict=False), {"w": rules[0][1]})

    def test_small_arrays_and_scalars_are_replicated(self):
        rules = [("w", P("a"))]
        tree = {"w": zeros(10), "w2": zeros(11), "w3": F32(0), "w4": 7}
        self.assertEqual(self.match(rules, tree, 11),
                         {"w": P(), "w2": P("a"), "w3": P(), "w4": P()})
        tree = {"w": jax.ShapeDtypeStruct((16383,), F32), "w2": jax.ShapeDtypeStruct((16384,), F32)}
        self.assertEqual(self.match(rules, tree, None), {"w": P(), "w2": P("a")})

    def test_all_leaves_without_a_rule_are_named(self):
        with self.assertRaisesRegex(ValueError, "b/x.*c"):
            self.match([("a", P())], {"c": zeros(1), "b": {"x": zeros(1)}, "a": zeros(1)})
        replicated = self.match([("a", P("q"))], {"c": zeros(1), "a": zeros(1)},
                                on_unmatched="replicate")
        self.assertEqual(replicated, {"c": P(), "a": P("q")})

    def test_the_order_of_keys_is_the_callers(self):
        tree = {"z": zeros(1), "a": zeros(1), "m": zeros(1)}
        self.assertEqual(list(self.match([(".*", P())], tree)), ["z", "a", "m"])

    def test_a_report_tells_which_rule_took_what(self):
        _, report = self.match([("w", P("a")), ("never", P()), (".*", P())],
                               {"w": zeros(1), "b": {"x": zeros(1)}}, return_report=True)
        self.assertEqual(report, {"rules": {"w": 0, "b/x": 2}, "unused_rules": [1],
                                  "unmatched": []})

    def test_compiled_patterns_keep_their_flags(self):
        for pattern in (re.compile("W", re.I), re.compile("(?i)W"), "(?i)W"):
            self.assertEqual(self.match([(pattern, P("a"))], {"w": zeros(2)}), {"w": P("a")})
        with self.assertRaisesRegex(TypeError, "not bytes"):
            self.match([(b"w", P())], {"w": zeros(2)})

    def test_bad_rules_are_refused(self):
        with self.assertRaisesRegex(ValueError, "rule 0"):
            self.match([("(", P())], {})
        with self.assertRaises(TypeError):
            self.match([("w", ("dp",))], {"w": zeros(2)})
        with self.assertRaises(TypeError):
            self.match(["w"], {"w": zeros(2)})
        with self.assertRaisesRegex(ValueError, "on_unmatched"):
            self.match([], {}, on_unmatched="ignore")

    def test_with_a_mesh_specs_must_fit(self):
        with self.assertRaisesRegex(tessera.IndivisibleError, "w"):
            self.match([("w", P("tp"))], {"w": zeros(6)}, mesh=M24)

    def test_named_tuples_and_dataclasses_have_field_names(self):
        pair = collections.namedtuple("Pair", ["mu", "nu"])
        tree = pair({"w": zeros(2)}, None)
        self.assertEqual(self.match([("^mu/w$", P("x"))], tree), pair({"w": P("x")}, None))


class TreesTest(unittest.TestCase):
    def setUp(self):
        self.tree = {"a": on(zeros(8), "dp"), "b": jax.device_put(zeros(8), jax.devices()[0]),
                     "c": 3, "n": None}

    def test_named_shardings_are_extracted(self):
        expected = {"a": NamedSharding(M24, P("dp")), "b": None, "c": None, "n": None}
        self.assertEqual(c.extract_sharding_structure(self.tree), expected)
        self.assertEqual(c.get_shardings_with_structure(self.tree), expected)
        self.assertEqual(c.get_shardings_with_structure({}), {})

    def test_bare_specs_are_bound_to_a_mesh(self):
        class Described:
            sharding = P("tp")

        tree = {**self.tree, "e": Described()}
        self.assertEqual(c.extract_shardings(tree, M24)["e"], NamedSharding(M24, P("tp")))
        with M24:
            self.assertEqual(c.extract_shardings(tree)["e"], NamedSharding(M24, P("tp")))
        with self.assertRaisesRegex(AssertionError, "^e: "):
            c.extract_shardings(tree)

    def test_a_mesh_is_needed_for_bare_specs_only(self):
        self.assertEqual(c.extract_shardings(self.tree)["a"], NamedSharding(M24, P("dp")))
        self.assertEqual(c.extract_shardings({}), {})
        described = jax.ShapeDtypeStruct((8,), F32, sharding=NamedSharding(M24, P("dp")))
        self.assertEqual(c.extract_shardings([described]), [described.sharding])

    def test_specs_of_arrays_and_numbers(self):
        specs = c.get_partition_spec({**self.tree, "x": True, "h": zeros(2)})
        self.assertEqual(specs, {"a": P("dp"), "b": P(), "c": P(), "n": None, "x": P(), "h": P()})
        with self.assertRaisesRegex(ValueError, "^q.r: .*not str"):
            c.get_partition_spec({"q": {"r": "s"}})
        with self.assertRaisesRegex(ValueError, "^b: "):
            c.get_partition_spec(self.tree, strict=True)

    def test_names_come_in_order_of_appearance(self):
        names = c.get_names_from_partition_spec
        self.assertEqual(names({"a": P("dp", None), "b": P(("fsdp", "tp"))}), ["dp", "fsdp", "tp"])
        self.assertEqual(names(P("z", ("a", "b"))), ["z", "a", "b"])
        self.assertEqual(names({"a": {"b": P("x")}, "n": None, "l": [P("y"), "dp"]}),
                         ["x", "y", "dp"])
        self.assertEqual(names(NamedSharding(M24, P("dp"))), ["dp"])
        self.assertEqual(names({}), [])
        with self.assertRaises(TypeError):
            names({"a": 3})
        itself = []
        itself.append(itself)
        with self.assertRaisesRegex(ValueError, "deeper than 1000"):
            names(itself)


class PatternTest(unittest.TestCase):
    def test_names_find_their_axes(self):
        spec = c.create_pattern_based_partition_spec("attention|mlp->data,hidden->model")
        found = [spec(name, None) for name in ("x/attention/q", "mlp/hidden", "hidden_state", "o")]
        self.assertEqual(found, [P("data"), P("data"), P("model"), P()])

    def test_words_and_blanks(self):
        make = c.create_pattern_based_partition_spec
        self.assertEqual(make("w$->dp.tp")("w", None), P("dp", "tp"))
        self.assertEqual(make("c->dp.None")("c"), P("dp", None))
        self.assertEqual(make("a->dp, b->tp")("b"), P("tp"))
        self.assertEqual(make("a->dp+tp")("a"), P(("dp", "tp")))

    def test_the_default_is_the_callers(self):
        default = tessera.P("x")
        spec = c.create_pattern_based_partition_spec("a->dp", default_spec=default)
        self.assertIs(spec("other", None), default)
        self.assertEqual(spec("a", None), tessera.P("dp"))

    def test_bad_text_is_refused(self):
        for text in ("a", "a->b->c", "(->dp"):
            with self.assertRaises(ValueError):
                c.create_pattern_based_partition_spec(text)
        with self.assertRaisesRegex(ValueError, "xx"):
            c.create_pattern_based_partition_spec("a->xx", M24)


class AnalysisTest(unittest.TestCase):
    def test_bytes_are_counted_for_each_device(self):
        tree = {"w": zeros(8, 16), "b": zeros(16), "n": 3}
        for specs in ({"w": P("dp", "tp"), "b": P(), "n": P()}, {"w": P("dp", "tp")}):
            found = c.analyze_sharding_strategy(tree, specs, M24)
            self.assertEqual((found["total_parameters"], found["sharded_parameters"]), (144, 128))
            self.assertEqual(found["memory_per_device"], dict.fromkeys(range(8), 128))
            self.assertEqual(found["balance_score"], 1.0)
            self.assertEqual(found["efficiency"], 0.5625)
            self.assertEqual(found["partition_stats"]["P('dp', 'tp')"],
                             {"arrays": 1, "parameters": 128, "bytes": 512})
            self.assertEqual(found["skipped_leaves"], 1)

    def test_specs_by_path(self):
        tree = {"l": {"w": jax.ShapeDtypeStruct((8, 16), F32)}}
        for key in ("l.w", "l/w"):
            found = c.analyze_sharding_strategy(tree, {key: P(("dp", "tp")), "z": P()}, OWN24)
            self.assertEqual(found["sharded_parameters"], 128)
            self.assertEqual(found["unused_specs"], ["z"])

    def test_what_is_not_split_is_not_sharded(self):
        with M24:
            found = c.analyze_sharding_strategy({"w": zeros(8, 16)}, {"w": P(None)})
            self.assertEqual(found["sharded_parameters"], 0)
            self.assertEqual(c.analyze_sharding_strategy({}, {})["balance_score"], 1.0)

    def test_specs_that_do_not_fit_are_refused(self):
        with self.assertRaisesRegex(tessera.IndivisibleError, "w"):
            c.analyze_sharding_strategy({"w": zeros(6)}, {"w": P("tp")}, M24)
        with self.assertRaisesRegex(ValueError, "neither a tree"):
            c.analyze_sharding_strategy({"w": zeros(6)}, [P()], M24)
        with self.assertRaises(AssertionError):
            c.analyze_sharding_strategy({}, {})


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # JAX wants set_mesh in place of `with mesh:`
