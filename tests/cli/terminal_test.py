"""How the command behaves: terminals, pipes, full disks, locales, bad usage, start-up."""
import fcntl
import os
import pty
import re
import resource
import select
import shutil
import statistics
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import numpy as np

import cli_case

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
WIDTHS = (40, 80, 200)


class TerminalCase(cli_case.CliCase):
    def on_terminal(self, *words, columns=80, env=None, stderr_too=True):
        """Runs the command on a terminal of its own: its exit code and all that it wrote there."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        attributes = termios.tcgetattr(follower)
        attributes[1] &= ~termios.OPOST  # what is written is what is read
        termios.tcsetattr(follower, termios.TCSANOW, attributes)
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", "COLUMNS": None,
                       "NO_COLOR": None, **(env or {})}
        process = subprocess.Popen(
            [cli_case.PROGRAM, *map(str, words)], stdin=follower, stdout=follower,
            stderr=follower if stderr_too else subprocess.DEVNULL, cwd=self.folder,
            env={k: v for k, v in environment.items() if v is not None})
        os.close(follower)
        out = b""
        while select.select([leader], [], [], 60)[0]:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            out += piece
        os.close(leader)
        return process.wait(timeout=60), out.decode()

    def visible(self):
        """Verbs that help lists."""
        lines = self.tessera("--help").lines()
        return [line.split()[0] for line in lines if re.match(r"  [a-z]", line)]


class WidthTest(TerminalCase):
    def assert_fits(self, text, columns):
        for line in text.split("\n"):
            shown = ESCAPE.sub("", line.split("\r")[-1])
            # Words have no place to break them, nor have those in quotes: shells take them whole.
            if " " in re.sub(r"'[^']*'", "''", shown.strip()).strip("\\").strip():
                self.assertLessEqual(len(shown), columns, repr(line))

    def test_no_line_is_longer_than_the_terminal(self):
        path = self.safetensors_file()
        shutil.copytree(cli_case.GOLDENS / "eformer-single" / "ckpt",
                        self.folder / "run" / "run-1000")
        commands = [("steps", "run"), ("ls", path), ("ls", path, "--all"), ("ls", path, "--depth", "2"),
                    ("info", path), ("version",), ("help",),
                    ("steps", self.folder), ("doctor", ".", "--seconds", "1", "--size", "1MiB")]
        for columns in WIDTHS:
            for words in commands:
                with self.subTest(columns=columns, words=words):
                    code, out = self.on_terminal(*words, columns=columns)
                    self.assertEqual(code, 0, out)
                    self.assert_fits(out, columns)

    def test_help_fits_as_well(self):
        for columns in WIDTHS:
            for verb in self.visible():
                with self.subTest(columns=columns, verb=verb):
                    code, out = self.on_terminal(verb, "--help", columns=columns)
                    self.assertEqual(code, 0)
                    self.assert_fits(out, columns)

    def test_keys_are_cut_in_the_middle(self):
        path = self.safetensors_file(arrays={"model." + "x" * 100 + ".kernel": np.ones(3)})
        _, out = self.on_terminal("ls", path, columns=60)
        self.assertIn("…", out)
        self.assertIn(".kernel", out)
        self.assertNotIn("…", self.tessera("ls", path).out)


class ColourTest(TerminalCase):
    def test_colours_are_for_terminals_only(self):
        path = self.safetensors_file()
        self.assertIn("\x1b[", self.on_terminal("ls", path)[1])
        self.assertNotIn("\x1b", self.tessera("ls", path).out)

    def test_no_color_and_dumb_terminals_are_respected(self):
        path = self.safetensors_file()
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}):
            with self.subTest(env):
                self.assertNotIn("\x1b", self.on_terminal("ls", path, env=env)[1])
                self.assertNotIn("\x1b", self.on_terminal("ls", "nowhere", env=env)[1])

    def test_errors_are_coloured_on_terminals_only(self):
        self.assertIn("\x1b[31mtessera:", self.on_terminal("ls", "nowhere")[1])
        self.assertNotIn("\x1b", self.tessera("ls", "nowhere", code=2).err)

    def test_json_has_no_colours(self):
        self.assertNotIn("\x1b", self.on_terminal("ls", self.safetensors_file(), "--json")[1])


class PipeTest(TerminalCase):
    def big_file(self):
        return self.safetensors_file("big.safetensors", {f"layers.{i}.x" * 3: np.ones(1, np.int8)
                                                         for i in range(20000)})

    def test_a_closed_pipe_is_no_error(self):
        path = self.big_file()
        for options in ("--all", "--json"):
            process = subprocess.run(
                ["bash", "-c", '"$0" ls "$1" "$2" | head -1; echo "${PIPESTATUS[0]}"',
                 cli_case.PROGRAM, path, options], capture_output=True, text=True, timeout=120)
            self.assertEqual(process.stdout.splitlines()[-1], "0")
            self.assertEqual(process.stderr, "")

    def test_a_full_disk_is_an_error(self):
        for words in (["version"], ["ls", self.safetensors_file()], ["--help"], ["ls", "--help"],
                      ["ls", self.big_file(), "--json"]):
            with self.subTest(words), open("/dev/full", "w") as full:
                process = subprocess.run([cli_case.PROGRAM, *map(str, words)], stdout=full,
                                         stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(process.returncode, 2)
                self.assertEqual(process.stderr,
                                 "tessera: standard output: No space left on device\n")

    def test_a_closed_output_does_not_crash(self):
        process = subprocess.run(["bash", "-c", '"$0" version >&-', cli_case.PROGRAM],
                                 stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(process.returncode, 2)
        self.assertIn("standard output: Bad file descriptor", process.stderr)


class LocaleTest(TerminalCase):
    def test_other_locales_get_ascii(self):
        path = self.safetensors_file(arrays={"größe.kernel": np.ones(3), "名前": np.ones(2)},
                                     metadata={"note": "naïve"})
        for locale in ("C", "POSIX", "de_DE.ISO-8859-1", "en_US"):
            env = {"LC_ALL": None, "LC_CTYPE": None, "LANG": locale}
            for words in (["ls", path], ["info", path], ["--help"], ["ls", "--help"],
                          ["steps", self.folder]):
                with self.subTest(locale=locale, words=words):
                    out = self.tessera(*words, env=env, text=False).out
                    self.assertTrue(out.isascii(), out)
            out = self.tessera("ls", path, env=env).out
            self.assertIn(r"gr\u{f6}\u{df}e.kernel", out)
            self.assertIn(r"\u{540d}\u{524d}", out)

    def test_json_is_utf8_in_any_locale(self):
        path = self.safetensors_file(arrays={"größe": np.ones(3)})
        out = self.tessera("ls", path, "--json", env={"LC_ALL": "C"}, text=False).out
        self.assertIn("größe", out.decode())

    def test_a_name_cannot_steer_the_terminal(self):
        hostile = "a\x1b[2J\x1b]0;owned\x07\r\nb\x9b31m\u202e\x7f"
        path = self.safetensors_file(arrays={hostile: np.ones(3)},
                                     metadata={hostile: hostile})
        for words in (["ls", path], ["info", path], ["ls", path, "--depth", "1"],
                      ["ls", path, "--match", hostile]):
            with self.subTest(words):
                _, out = self.on_terminal(*words, env={"NO_COLOR": "1"}, columns=200)
                for bad in ("\x1b", "\x07", "\r", "\x9b", "\u202e", "\x7f"):
                    self.assertNotIn(bad, out)
        self.assertIn(r"a\x1b[2J\x1b]0;owned\x07\x0d\x0ab\x9b31m\u{202e}\x7f",
                      self.tessera("ls", path).out)


class ProgressTest(TerminalCase):
    WORDS = ("doctor", ".", "--seconds", "2", "--size", "1MiB")

    def test_one_line_is_drawn_again_on_a_terminal_and_taken_away(self):
        code, out = self.on_terminal(*self.WORDS)
        self.assertEqual(code, 0)
        self.assertIn("\r\x1b[Kmeasuring ", out)
        # What stands at the end is the result alone.
        self.assertTrue(out[out.rindex("measuring"):].split("\r\x1b[K")[1].startswith("storage"),
                        repr(out))

    def test_quiet_has_none(self):
        self.assertNotIn("measuring", self.on_terminal(*self.WORDS, "--quiet")[1])
        self.assertEqual(self.tessera(*self.WORDS, "-q").err, "")

    def test_a_pipe_gets_plain_lines(self):
        ran = self.tessera("doctor", ".", "--seconds", "12", "--size", "64MiB")
        for line in ran.err.splitlines():
            self.assertRegex(line, r"^measuring [a-z ]+$")


class UsageTest(TerminalCase):
    def test_help_in_all_its_forms(self):
        overview = self.tessera("--help").out
        for words in (["help"], ["-h"]):
            self.assertEqual(self.tessera(*words).out, overview)
        # Without a word it is the same, but not what was wanted.
        ran = self.tessera(code=2)
        self.assertEqual((ran.out, ran.err), ("", overview))
        for verb in self.visible():
            text = self.tessera(verb, "--help").out
            self.assertTrue(text.startswith(f"tessera {verb}: "), text)
            self.assertRegex(text, "\nexamples?:\n  ")
            self.assertEqual(self.tessera("help", verb).out, text)
            self.assertEqual(self.tessera(verb, "-h").out, text)

    def test_version(self):
        self.assertEqual(self.tessera("--version").out, self.tessera("version").out)

    def test_unknown_words_are_answered_with_what_was_meant(self):
        self.assertEqual(self.error("lss"), "no verb 'lss'; did you mean 'ls'?")
        self.assertEqual(self.error("qqqq"), "no verb 'qqqq'; see tessera --help")
        self.assertRegex(self.error("ls", "x", "--dpeth", "1"),
                         "--dpeth.*did you mean '--depth'")
        self.assertIn("--nonsense", self.error("ls", "x", "--nonsense"))
        self.assertIn("CKPT", self.error("ls"))
        self.assertIn("'b'", self.error("ls", "a", "b"))
        self.assertIn("help", self.error("help", "nothing"))

    def test_a_hostile_word_is_inert(self):
        for words in (["\x1b[2J"], ["ls", "\x1b[2J"], ["ls", "x", "--\x1b[2J"]):
            self.assertNotIn("\x1b", self.error(*words))

    def test_errors_are_one_line_each(self):
        for words in (["ls", "no\nwhere"], ["ls", "x", "--match", "(\n"], ["steps", "a\nb"],
                      ["doctor", "a\nb"]):
            self.error(*words)


class StartTest(TerminalCase):
    def test_it_starts_in_little_time(self):
        times = []
        for _ in range(20):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([cli_case.PROGRAM, "version"], stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        # Of the processor, as others may use the machine as well; a sanitizer starts slowly.
        self.assertLess(statistics.median(times), 0.020 if not self.sanitized() else 2)

    def sanitized(self):
        libraries = subprocess.run(["ldd", cli_case.PROGRAM], capture_output=True, text=True).stdout
        return "asan" in libraries or "tsan" in libraries

    def test_it_needs_few_libraries(self):
        libraries = subprocess.run(["ldd", cli_case.PROGRAM], capture_output=True, text=True,
                                   check=True).stdout.splitlines()
        names = {line.split()[0] for line in libraries}
        if not self.sanitized():
            self.assertLessEqual(len(names), 11, names)
        self.assertFalse([name for name in names if "mpi" in name], names)


class ExamplesTest(TerminalCase):
    """Every command that --help shows is run for real, in a folder with the names it uses."""

    def setUp(self):
        super().setUp()
        for seed, name in enumerate(("run-1000", "run-2000", "a", "b")):
            self.safetensors_file(f"{name}/model.safetensors", cli_case.model(seed))
        self.safetensors_file("hf/model.safetensors")
        self.safetensors_file("model.safetensors")
        shutil.copytree(cli_case.GOLDENS / "eformer-single" / "ckpt",
                        self.folder / "runs/7b/run-1000")
        self.write("rules.yaml", '- [".*kernel", ["tp", null]]\n- [".*", []]\n')
        self.write("rules.json", '[[".*kernel", ["tp", null]], [".*", []]]')

    def examples(self, verb):
        """The commands of a verb's help, in the order of the page."""
        lines = self.tessera(verb, "--help").lines()
        start = next(i for i, line in enumerate(lines) if re.match("examples?:", line))
        joined = "\n".join(lines[start + 1:]).replace(" \\\n", " ")
        return [line.strip() for line in joined.split("\n") if re.match(r"  \S", line)]

    def test_every_example_works(self):
        folder = os.path.dirname(cli_case.PROGRAM)
        env = {**os.environ, "LC_ALL": "C.UTF-8", "PATH": f"{folder}:{os.environ['PATH']}"}
        for verb in self.visible():
            commands = self.examples(verb)
            self.assertTrue(commands, verb)
            for command in commands:
                with self.subTest(command), tempfile.TemporaryDirectory() as folder:
                    shutil.copytree(self.folder, folder, dirs_exist_ok=True)
                    process = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=env,
                                             cwd=folder, capture_output=True, text=True,
                                             timeout=120)
                    # What is compared may be different, and rules may have problems.
                    fine = (0, 1) if verb in ("diff", "lint", "plan") else (0,)
                    self.assertIn(process.returncode, fine, process.stdout + process.stderr)


if __name__ == "__main__":
    unittest.main()
