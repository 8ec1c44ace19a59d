"""tessera lint: all that is wrong with partition rules, at once."""
import cli_case


class LintTest(cli_case.CliCase):
    def lint(self, rules, *words):
        return ("lint", self.safetensors_file(), "--rules", self.write("rules.yaml", rules), *words)

    def test_good_rules_are_fine(self):
        rules = "- [embedding, [tp]]\n- [kernel, [null, tp]]\n- [scale, []]\n"
        lines = self.tessera(*self.lint(rules, "--mesh", "tp=4")).lines()
        self.assertEqual(lines[0].split(" ", 3)[:3], ["replicated:", "rule", "2"])
        self.assertEqual(lines[1], "no problems, 1 note: 3 rules, 86 arrays")
        problems = self.json(*self.lint(rules, "--mesh", "tp=4"))["problems"]
        self.assertEqual([(p["kind"], p["note"]) for p in problems], [("replicated", True)])
        self.assertEqual(len(problems[0]["keys"]), 13)

    def test_all_problems_at_once(self):
        rules = """\
- ["kernel(", []]
- [q_proj/kernel, [dp, tpp]]
- [.*/kernel, [null, tp]]
- [down/kernel, [tp, null]]
- [norm/scael, []]
- [embedding, [tp, tp]]
- [layers/.*/scale, [null, tp]]
"""
        problems = self.json(*self.lint(rules, "--mesh", "dp=2,tp=3"), code=1)["problems"]
        self.assertEqual(list(problems[0])[:4], ["kind", "rule", "key", "detail"])
        told = [(p["kind"], p["rule"], p["key"], len(p["keys"])) for p in problems]
        self.assertEqual(told, [
            ("bad_pattern", "kernel(", None, 0),
            ("unknown_axis", "q_proj/kernel", "model.layers.0.attn.q_proj.kernel", 12),
            ("duplicate_axis", "embedding", "model.embed.embedding", 1),
            ("indivisible", ".*/kernel", "model.layers.0.attn.k_proj.kernel", 60),
            ("indivisible", "embedding", "model.embed.embedding", 1),
            ("indivisible", "embedding", "model.embed.embedding", 1),
            ("spec_too_long", "layers/.*/scale", "model.layers.0.norm.scale", 12),
            ("unmatched_key", None, "model.norm.scale", 1),
            ("shadowed_rule", "down/kernel", "model.layers.0.mlp.down.kernel", 12),
            ("unused_rule", "norm/scael", None, 0),
            ("replicated", ".*/kernel", "model.layers.0.mlp.down.kernel", 60),
            ("replicated", "embedding", "model.embed.embedding", 1),
            ("replicated", "layers/.*/scale", "model.layers.0.norm.scale", 12),
        ])
        self.assertEqual(problems[1]["suggestion"], "did you mean 'tp'?")
        self.assertEqual(problems[9]["suggestion"], "did you mean 'norm/scale', which is found in "
                                                    "'model/layers/0/norm/scale'?")
        self.assertIn("rule 2 '.*/kernel'", problems[8]["detail"])
        lines = self.tessera(*self.lint(rules, "--mesh", "dp=2,tp=3"), code=1).lines()
        self.assertEqual(len(lines), len(problems) + 1)
        self.assertRegex(lines[1], "^unknown_axis: rule 1 'q_proj/kernel': P\\('dp', 'tpp'\\) names "
                                   "the axis 'tpp', but the mesh is dp=2,tp=3; .*; did you mean")

    def test_without_a_mesh_axes_are_not_looked_at(self):
        self.assertEqual(self.tessera(*self.lint("- [.*, [what]]\n")).lines(),
                         ["no problems: 1 rule, 86 arrays"])
        self.assertEqual(self.json(*self.lint("- [.*, [what]]\n")), {"problems": []})

    def test_keys_that_no_rule_takes(self):
        problems = self.json(*self.lint("- [kernel, [x]]\n"), code=1)["problems"]
        self.assertEqual([(p["kind"], p["key"], p["rule"]) for p in problems],
                         [("unmatched_key", "model.embed.embedding", None)])
        self.assertEqual(len(problems[0]["keys"]), 14)

    def test_golden_set_with_a_prefix(self):
        rules = self.write("r.json", '[["^embed", ["tp"]], [".*", []]]')
        golden = cli_case.GOLDENS / "eformer-prefixes" / "ckpt"
        self.tessera("lint", golden, "--rules", rules, "--prefix", "model")
        problems = self.json("lint", golden, "--rules", rules, code=1)["problems"]
        self.assertEqual([(p["kind"], p["suggestion"]) for p in problems if not p["note"]],
                         [("unused_rule",
                           "did you mean 'embed', which is found in 'model/embed/embedding'?")])

    def test_bad_words_are_told(self):
        path = self.safetensors_file()
        self.assertRegex(self.error("lint", path), "^--rules FILE is missing: ")
        self.assertEqual(self.error("lint", path, "--rules", "none"), "none: there is no such file")
        rules = self.write("r", "[]")
        self.assertEqual(self.error("lint", path, "--rules", rules, "--mesh", "x=0"),
                         "--mesh: mesh: axis 'x' has size 0; expected 1 or more")
        self.assertIn("nowhere", self.error("lint", "nowhere", "--rules", rules))
        self.assertRegex(self.error("lint", path, "--rule", rules), "--rule.*--rules")


if __name__ == "__main__":
    cli_case.main()
