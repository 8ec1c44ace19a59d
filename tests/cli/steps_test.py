"""tessera steps: the checkpoints of a run."""
import json
import shutil
import unittest

import cli_case


class StepsTest(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.base = self.folder / "run"
        self.base.mkdir()

    def step(self, number, name=None, **metadata):
        """A checkpoint of a run, as eformer lays it out."""
        folder = self.base / (name or f"run-{number}")
        shutil.copytree(cli_case.GOLDENS / "eformer-single" / "ckpt", folder)
        document = {"step": number, "timestamp": f"2024-05-0{number % 9 + 1}T10:00:00",
                    "is_temporary": False, **metadata}
        (folder / "metadata.json").write_text(json.dumps(document))
        return folder

    def test_json_tells_of_each_and_of_the_latest(self):
        for number in (10, 2):
            self.step(number)
        self.step(11, is_temporary=True)
        result = self.json("steps", self.base)
        self.assertEqual(list(result)[:2], ["steps", "latest"])
        self.assertEqual([list(step)[:6] for step in result["steps"]],
                         [["step", "path", "committed", "temporary", "bytes", "timestamp"]] * 3)
        self.assertEqual([step["step"] for step in result["steps"]], [2, 10, 11])
        self.assertEqual([step["temporary"] for step in result["steps"]], [False, False, True])
        self.assertTrue(all(step["committed"] for step in result["steps"]))
        self.assertTrue(all(step["bytes"] > 0 for step in result["steps"]))
        self.assertEqual(result["steps"][0]["timestamp"], "2024-05-03T10:00:00")
        self.assertEqual(result["latest"], 11)
        self.assertEqual(result["latest_path"], str(self.base / "run-11"))
        # The path is one that other verbs take.
        self.assertGreater(len(self.json("ls", result["latest_path"])["arrays"]), 0)

    def test_text_marks_states(self):
        self.step(1)
        self.step(2, is_temporary=True)
        (self.base / "run-3" / ".tessera" / "saves").mkdir(parents=True)
        (self.base / "run-3" / ".tessera" / "saves" / "x.json").write_text("{}")
        lines = self.tessera("steps", self.base).lines()
        self.assertEqual(lines[0].split(), ["STEP", "STATE", "SIZE", "SAVED", "PATH"])
        self.assertEqual([line.split()[:2] for line in lines[1:]],
                         [["1", "committed"], ["2", "temporary,"], ["3", "unfinished"]])
        self.assertIn("temporary, latest", lines[2])
        self.assertIn(str(self.base / "run-1"), lines[1])

    def test_problems_are_told(self):
        self.step(1)
        (self.step(2) / "metadata.json").write_text("{not json")
        self.assertIn("problem", self.json("steps", self.base)["steps"][1])
        self.assertIn("problems:\n  run-2: ", self.tessera("steps", self.base).out)

    def test_a_run_without_checkpoints(self):
        self.assertEqual(self.json("steps", self.base), {"steps": [], "latest": None, "latest_path": None})
        self.assertEqual(self.tessera("steps", self.base).out, f"no checkpoints in {self.base}\n")

    def test_what_is_no_folder(self):
        self.assertEqual(self.error("steps", "nowhere"),
                         "nowhere: No such file or directory; expected the folder of a run")
        self.assertIn("found a file", self.error("steps", self.safetensors_file()))

    def test_the_folder_of_a_golden_manager(self):
        folder = cli_case.GOLDENS / "eformer-async-manager" / "ckpt"
        self.assertEqual(self.run_tessera("steps", folder).code, 0)


if __name__ == "__main__":
    unittest.main()
