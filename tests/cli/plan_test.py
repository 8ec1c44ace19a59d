"""tessera plan: what a load would do, in text, as JSON, drawn and as a page."""
import json

import cli_case

RULES = """\
- ["embedding$", [[fsdp, tp], null]]
- [.*/(q|k|v)_proj/kernel$, [fsdp, tp]]
- [o_proj/kernel$, [tp, fsdp]]
- ["kernel$", [null, tp]]
- [scale, []]
"""
PREFIXES = cli_case.GOLDENS / "eformer-prefixes" / "ckpt"


class PlanTest(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.rules = self.write("rules.yaml", RULES)

    def plan(self, *words, checkpoint=None, mesh="fsdp=2,tp=4"):
        return ("plan", checkpoint or self.safetensors_file(), "--mesh", mesh, "--rules",
                self.rules, *words)

    def test_text_folds_layers_and_adds_up(self):
        lines = self.tessera(*self.plan()).lines()
        self.assertEqual(lines[0].split(), ["KEY", "DTYPE", "SHAPE", "RULE", "SPEC", "SHARD", "PER",
                                            "DEVICE", "READS", "AMPL"])
        self.assertEqual(lines[1].split(), ["model.embed.embedding", "bfloat16", "[64,16]", "0",
                                            "P(('fsdp',", "'tp'),", "None)", "[8,16]", "256", "B",
                                            "1", "1.00"])
        self.assertEqual(lines[2].split(), ["model.layers.{0..11}.attn.k_proj.kernel", "×12",
                                            "bfloat16", "[16,16]", "1", "P('fsdp',", "'tp')",
                                            "[8,4]", "768", "B", "12", "1.00"])
        self.assertIn("8 devices (fsdp=2,tp=4) on 1 host: 16.1 KiB each, balance 1.00", lines)
        self.assertIn("reads 74.8 KiB in 86 requests for 86 arrays of 74.8 KiB, amplification 1.00",
                      lines)
        self.assertEqual(lines[-2].split(), ["PROCESS", "RESULT", "READ", "REQUESTS", "DECODED",
                                             "PEAK", "MEMORY"])

    def test_all_lists_every_array_and_device(self):
        lines = self.tessera(*self.plan("--all")).lines()
        self.assertEqual(sum(line.startswith("model.layers.") for line in lines), 84)
        self.assertEqual(lines[-9].split(), ["DEVICE", "PROCESS", "BYTES"])

    def test_json_has_the_fields_of_the_contract_in_order(self):
        plan = self.json(*self.plan("--hosts", 2, "--budget", "1MiB"))
        self.assertEqual(list(plan)[:6], ["mesh", "arrays", "devices", "balance", "read",
                                          "warnings"])
        self.assertEqual(plan["mesh"], {"fsdp": 2, "tp": 4})
        self.assertEqual(plan["hosts"], 2)
        array = plan["arrays"][0]
        self.assertEqual(list(array)[:6], ["key", "rule", "spec", "corrected", "shard_shape",
                                           "bytes_per_device"])
        by_key = {a["key"]: a for a in plan["arrays"]}
        embedding = by_key["model.embed.embedding"]
        self.assertEqual((embedding["rule"], embedding["rule_index"], embedding["spec"]),
                         ("embedding$", 0, [["fsdp", "tp"], None]))
        self.assertEqual((embedding["shard_shape"], embedding["bytes_per_device"]), ([8, 16], 256))
        self.assertEqual([d["id"] for d in plan["devices"]], list(range(8)))
        self.assertEqual([d["process"] for d in plan["devices"]], [0] * 4 + [1] * 4)
        self.assertEqual(plan["devices"][0]["bytes"],
                         sum(a["bytes_per_device"] for a in plan["arrays"]))
        self.assertEqual(plan["balance"], 1.0)
        self.assertEqual(plan["read"]["requests"], sum(a["requests"] for a in plan["arrays"]))
        self.assertEqual([p["process"] for p in plan["processes"]], [0, 1])
        self.assertEqual(plan["rules"][2]["arrays"], 12)
        self.assertEqual((plan["budget"], plan["over_budget"]), (1 << 20, []))

    def test_golden_sets_are_planned(self):
        rules = self.write("all.json", '[[".*", ["x"]]]')
        seen = 0
        for name, folder, expected in cli_case.golden_sets():
            with self.subTest(name):
                ran = self.run_tessera("plan", folder / "ckpt", "--mesh", "x=2", "--rules", rules,
                                       "--json")
                if ran.code == 2:
                    continue
                keys = {a["key"] for a in ran.json()["arrays"]}
                self.assertEqual(keys, set(expected["arrays"]))
                seen += 1
        self.assertGreaterEqual(seen, 8)

    def test_over_budget_is_exit_code_1(self):
        ran = self.tessera(*self.plan("--budget", "10KiB"), code=1)
        self.assertIn("budget 10.0 KiB: 6.06 KiB too much", ran.out)
        self.assertIn("\nover_budget: 8 of 8 devices get more than the budget of 10.0 KiB", ran.out)
        plan = self.json(*self.plan("--budget", "10KiB"), code=1)
        self.assertEqual(plan["over_budget"], list(range(8)))
        self.assertEqual(plan["warnings"][0]["kind"], "over_budget")

    def test_what_does_not_fit_is_corrected_and_told_or_refused(self):
        plan = self.json(*self.plan(mesh="fsdp=2,tp=3"))
        kernel = next(a for a in plan["arrays"] if a["key"].endswith("layers.0.mlp.up.kernel"))
        self.assertEqual((kernel["spec"], kernel["corrected"]), ([], True))
        self.assertEqual(kernel["corrections"], ["dimension 1: 'tp' -> None (does not divide)"])
        corrected = [w for w in plan["warnings"] if w["kind"] == "corrected"]
        self.assertEqual(sum(w["arrays"] for w in corrected), 73)
        text = self.tessera(*self.plan(mesh="fsdp=2,tp=3")).out
        self.assertIn("P('fsdp', None) *", text)
        self.assertIn("but dimension 1 of size 16 is no multiple of tp=3", text)
        self.assertRegex(self.error(*self.plan("--strict", mesh="fsdp=2,tp=3")),
                         "^73 arrays cannot be placed: model.embed.embedding: .*; and 53 others$")

    def test_keys_without_a_rule_are_replicated_or_refused(self):
        words = self.plan(checkpoint=PREFIXES)
        plan = self.json(*words)
        bias = next(a for a in plan["arrays"] if a["key"].endswith("up.bias"))
        self.assertEqual((bias["rule"], bias["rule_index"], bias["spec"]), (None, None, []))
        warning = next(w for w in plan["warnings"] if w["kind"] == "unmatched")
        self.assertEqual((warning["key"], warning["arrays"]), ("model.layers.0.mlp.up.bias", 3))
        self.assertIn("no partition rule matches", self.error(*words, "--strict"))

    def test_prefix_match_and_dtype(self):
        plan = self.json(*self.plan("--prefix", "model", "--match", "embed", "--dtype", "fp32",
                                    checkpoint=PREFIXES))
        self.assertEqual([(a["key"], a["dtype"], a["bytes_per_device"]) for a in plan["arrays"]],
                         [("embed.embedding", "float32", 1024)])
        self.assertEqual(plan["warnings"], [])

    def test_shards_that_cut_chunks_are_told(self):
        plan = self.json(*self.plan("--hosts", 4, checkpoint=PREFIXES))
        warning = next(w for w in plan["warnings"] if w["kind"] == "amplification")
        self.assertEqual(warning["key"], "model.layers.0.mlp.down.kernel")
        self.assertIn("decoded 2.00 times, as shards of [64,4] cut through chunks of [8,16]",
                      warning["detail"])
        self.assertIn("tessera rechunk SRC DST --mesh fsdp=2,tp=4", warning["detail"])
        self.assertGreater(plan["read"]["amplification"], 1)

    def test_memory_is_told_per_process(self):
        plan = self.json(*self.plan("--hosts", 2, "--memory", "1000"))
        for process in plan["processes"]:
            self.assertEqual(process["peak_bytes"], process["result_bytes"] + 1000)
        plan = self.json(*self.plan(), env={"TESSERA_MEMORY": "5000"})
        process = plan["processes"][0]
        self.assertEqual(process["peak_bytes"], process["result_bytes"] + 5000)

    def test_draw_shows_shards_over_chunks(self):
        out = self.tessera(*self.plan("--draw", "model.layers.0.mlp.down.kernel",
                                      checkpoint=PREFIXES)).out
        self.assertIn("┏━━━━━━┳", out)
        self.assertIn("┃ 0 +1 ┇ 1 +1 ┇ 2 +1 ┇ 3 +1 ┃", out)
        self.assertIn("devices 0, 4: [0:64,0:4] from 8 of 8 chunks [0:8,0:1], amplification 4.00\n",
                      out)
        ascii_only = self.tessera(*self.plan("--draw", "model.norm.scale"),
                                  env={"LC_ALL": "C"}).out
        self.assertTrue(ascii_only.isascii())
        self.assertIn("| 0 +7 |", ascii_only)
        self.assertRegex(self.error(*self.plan("--draw", "model.norm.scael")),
                         "no array 'model.norm.scael' .*did you mean 'model.norm.scale'")
        self.assertEqual(self.error(*self.plan("--draw", "model.norm.scale", "--match", "embed")),
                         "--draw 'model.norm.scale': --match leaves this array out")

    def test_lines_fit_a_narrow_terminal(self):
        out = self.tessera(*self.plan("--draw", "model.embed.embedding"), env={"COLUMNS": "40"}).out
        picture = [line for line in out.splitlines() if line[:1] in " 0123456789"]
        self.assertLessEqual(max(map(len, picture)), 40)

    def test_html_is_one_file(self):
        ran = self.tessera(*self.plan("--html", "atlas.html"))
        page = (self.folder / "atlas.html").read_text()
        self.assertIn("model.embed.embedding", page)
        self.assertRegex(ran.err, "^tessera: wrote atlas.html, ")
        self.assertIn("PER DEVICE", ran.out)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         ["atlas.html", "model.safetensors", "rules.yaml"])
        self.assertRegex(self.error(*self.plan("--html", "no/where.html")),
                         "^no/where.html: cannot be written: No such file or directory$")
        self.assertEqual(self.error(*self.plan("--html", self.folder)),
                         f"{self.folder}: expected a file to write, found a folder")

    def test_bad_words_are_told(self):
        path = self.safetensors_file()
        with_rules = ("plan", path, "--rules", self.rules)
        self.assertEqual(self.error(*with_rules),
                         "--mesh M is missing, such as --mesh dp=2,tp=4")
        self.assertRegex(self.error("plan", path, "--mesh", "x=2"), "^--rules FILE is missing: ")
        self.assertEqual(self.error(*with_rules, "--mesh", "fsdp"),
                         "--mesh: mesh 'fsdp': 'fsdp' is not of the form name=size")
        self.assertRegex(self.error(*with_rules, "--mesh", "fsdp=two"), "^--mesh: mesh 'fsdp=two'")
        self.assertEqual(self.error(*with_rules, "--mesh", "tp=2,tp=4"),
                         "--mesh: mesh: the axis name 'tp' stands twice")
        self.assertRegex(self.error(*with_rules, "--mesh", "fspd=2,tp=4"),
                         "rule 0 'embedding\\$': .*no axis 'fsdp'.*did you mean 'fspd'\\?")
        self.assertEqual(self.error(*self.plan("--hosts", 3)),
                         "the 8 devices of Mesh('fsdp': 2, 'tp': 4) cannot be dealt evenly to 3 "
                         "hosts; the number of hosts must divide that of devices")
        self.assertRegex(self.error(*self.plan("--budget", "lots")), "--budget.*lots")
        self.assertRegex(self.error(*self.plan("--dtype", "float33")), "^--dtype: .*float33")
        self.assertRegex(self.error(*self.plan("--match", "zzz")), "^--match 'zzz' is found in none")
        self.assertRegex(self.error(*self.plan("--match", "(")), "\\(")
        self.assertIn("nowhere", self.error(*self.plan(checkpoint="nowhere")))

    def test_bad_rules_files_are_told(self):
        path = self.safetensors_file()

        def error(name):
            return self.error("plan", path, "--mesh", "tp=2", "--rules", name)

        self.assertEqual(error("none.yaml"), "none.yaml: there is no such file")
        self.assertEqual(error("."), ".: expected a file, found a folder")
        self.write("a.yaml", "- [x, [tp]]\n- [y, tp]\n")
        self.assertEqual(error("a.yaml"), "a.yaml: line 2: rule 1[1]: expected a list of spec "
                                          "entries, found string")
        self.write("a.json", '[["x", ["tp"]],\n ["y" []]]')
        self.assertEqual(error("a.json"), "a.json: bad JSON at line 2, column 7")
        self.write("b", "[[x, [tp]")
        self.assertRegex(error("b"), "^b: bad YAML at line 2, column 1: ")
        self.write("c", '[["(", []]]')
        self.assertRegex(error("c"), "\\(.*unterminated subpattern")
        self.write("d", '[[".*", [None]]]')
        self.assertRegex(error("d"), "write null for a dimension that is not split$")

    def test_json_goes_through_a_pipe(self):
        text = self.tessera(*self.plan("--json")).out
        self.assertEqual(json.loads(text)["mesh"], {"fsdp": 2, "tp": 4})
        self.assertTrue(text.endswith("}\n"))


if __name__ == "__main__":
    cli_case.main()
