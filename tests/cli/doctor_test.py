"""tessera doctor: what a storage can do, and nothing left of the measuring."""
import os
import pathlib
import signal
import subprocess
import time
import unittest

import cli_case


class DoctorTest(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.storage = self.folder / "storage"
        self.storage.mkdir()

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(self.storage), [])

    def test_json_has_what_scripts_read(self):
        report = self.json("doctor", self.storage, "--seconds", "1", "--size", "16MiB")
        self.assertEqual(list(report)[:4], ["read", "write", "rename_atomic", "fsync_ms"])
        self.assertIs(report["rename_atomic"], True)
        self.assertGreater(report["fsync_ms"], 0)
        self.assertGreater(report["read"]["best_bytes_per_second"], 0)
        for speed in report["write"]["buffered"]:
            self.assertEqual(list(speed),
                             ["block_bytes", "threads", "bytes_per_second", "request_ms"])
            self.assertLessEqual(speed["block_bytes"] * speed["threads"], 16 << 20)
        self.assertEqual(report["size"], 16 << 20)
        self.assertTrue(report["file_system"]["type"])
        self.assert_nothing_left()

    def test_text_has_facts_speeds_and_advice(self):
        out = self.tessera("doctor", self.storage, "--seconds", "1", "--size", "1MiB").out
        for word in ("storage ", "free ", "rename ", "O_DIRECT ", "fsync ", "small files ",
                     "memory ", "GB/s", "1 THREAD", "write buffered", "cases left out"):
            self.assertIn(word, out)
        self.assertRegex(out, "advice:|nothing to advise")
        self.assert_nothing_left()

    def test_what_cannot_be_measured(self):
        self.assertEqual(self.error("doctor", "nowhere"), "nowhere: open: No such file or directory")
        self.assertIn("expected a folder of the storage to measure, found a file",
                      self.error("doctor", self.write("file", "text")))
        self.assertIn("s3", self.error("doctor", "s3://bucket"))
        self.assertIn("1048576", self.error("doctor", self.storage, "--size", "1KiB"))
        self.assertIn("are free", self.error("doctor", self.storage, "--size", "9000TiB"))
        self.assertEqual(self.error("doctor", self.storage, "--seconds", "0"),
                         "--seconds '0': expected a number from 1 up")
        self.assert_nothing_left()

    def test_interrupted_it_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [cli_case.PROGRAM, "doctor", str(self.storage), "--seconds", "50"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            deadline = time.monotonic() + 30
            while not os.listdir(self.storage) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.5)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (2, ""))
            self.assertEqual(err, f"tessera: interrupted; nothing is left in {self.storage}\n")
            self.assert_nothing_left()

    def test_what_a_killed_run_has_left_goes_with_the_next_one(self):
        process = subprocess.Popen(
            [cli_case.PROGRAM, "doctor", str(self.storage), "--seconds", "50"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not os.listdir(self.storage) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        process.kill()
        process.wait()
        (left,) = os.listdir(self.storage)
        self.assertTrue(left.startswith(".tessera-doctor-"))
        ran = self.tessera("doctor", self.storage, "--seconds", "1", "--size", "1MiB")
        self.assertIn(f"removed {self.storage / left}", ran.err)
        self.assert_nothing_left()

    def test_it_keeps_to_its_size(self):
        process = subprocess.Popen(
            [cli_case.PROGRAM, "doctor", str(self.storage), "--seconds", "4", "--size", "32MiB"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        most = 0
        while process.poll() is None:
            most = max(most, self.bytes_in(self.storage))
            time.sleep(0.01)
        self.assertEqual(process.returncode, 0)
        # Beside it there are the small files, a block each.
        self.assertLess(most, (32 + 64) << 20)
        self.assertGreater(most, 1 << 20)

    @staticmethod
    def bytes_in(folder):
        total = 0
        for place, _, names in os.walk(folder):
            for name in names:
                try:
                    total += (pathlib.Path(place) / name).lstat().st_size
                except FileNotFoundError:
                    pass
        return total


if __name__ == "__main__":
    unittest.main()
