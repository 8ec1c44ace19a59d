"""tessera completion and tessera man: in a real bash, a real zsh, and the real man."""
import os
import pathlib
import shlex
import shutil
import subprocess
import unittest

import cli_case

FOLDER = pathlib.Path(cli_case.PROGRAM).parent


class ShellCase(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.safetensors_file("model.safetensors")
        (self.folder / "a folder").mkdir()

    def shell(self, *words):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(self.folder),
                       "PATH": f"{FOLDER}:{os.environ['PATH']}"}
        process = subprocess.run(words, capture_output=True, text=True, cwd=self.folder,
                                 env=environment, timeout=60)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        return process.stdout.splitlines()


class BashTest(ShellCase):
    def complete(self, *words):
        """What bash offers for the last of the words, which bash splits at '=' before."""
        quoted = " ".join(map(shlex.quote, words))
        return self.shell("bash", "--norc", "-c", f"""
            source <(tessera completion bash)
            COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
            _tessera
            printf '%s\\n' "${{COMPREPLY[@]}}" """)

    def test_verbs(self):
        self.assertEqual(self.complete("tessera", "li"), ["lint"])
        self.assertIn("doctor", self.complete("tessera", ""))
        self.assertIn("--version", self.complete("tessera", "--"))
        self.assertNotIn("complete-keys", self.complete("tessera", ""))
        self.assertEqual(self.complete("tessera", "help", "ste"), ["steps"])

    def test_options_of_the_verb(self):
        self.assertEqual(self.complete("tessera", "ls", "--de"), ["--depth"])
        self.assertEqual(self.complete("tessera", "ls", "model.safetensors", "--j"), ["--json"])
        self.assertEqual(self.complete("tessera", "info", "--de"), [""])

    def test_files(self):
        self.assertEqual(self.complete("tessera", "ls", "m"), ["model.safetensors"])
        self.assertEqual(self.complete("tessera", "ls", "a"), ["a folder"])
        self.assertEqual(self.complete("tessera", "ls", "--match", "x", "m"), ["model.safetensors"])

    def test_values(self):
        self.assertEqual(self.complete("tessera", "completion", ""), ["bash", "zsh"])
        # Nothing is known of these, so nothing is offered.
        self.assertEqual(self.complete("tessera", "ls", "--match", "m"), [""])
        self.assertEqual(self.complete("tessera", "ls", "--match", "=", "m"), [""])

    def test_it_is_registered(self):
        self.assertEqual(
            self.shell("bash", "--norc", "-c", "source <(tessera completion bash)\n"
                                               "complete -p tessera"),
            ["complete -F _tessera tessera"])

    def test_no_word_that_was_typed_is_run(self):
        self.complete("tessera", "cat", "$(touch ran)", "`touch ran`")
        self.complete("tessera", "$(touch ran)", "")
        self.assertFalse((self.folder / "ran").exists())

    def test_keys(self):
        def keys(first, current):
            return self.shell("bash", "--norc", "-c", f"""
                source <(tessera completion bash)
                COMP_WORDS=(tessera) first={shlex.quote(first)} current={current} COMPREPLY=()
                _tessera_keys
                printf '%s\\n' "${{COMPREPLY[@]}}" """)
        self.assertEqual(keys("model.safetensors", "model.n"), ["model.norm.scale"])
        self.assertEqual(keys("model.safetensors", ""), ["model."])
        self.assertEqual(keys("~/model.safetensors", "model."),
                         ["model.embed.", "model.layers.", "model.norm."])
        shutil.copy(self.folder / "model.safetensors", self.folder / "a folder" / "m.safetensors")
        self.assertEqual(keys("a\\ folder/m.safetensors", "model.n"), ["model.norm.scale"])
        self.assertEqual(keys("nowhere", ""), [""])

    def test_keys_after_every_verb_that_takes_one(self):
        for verb in self.complete("tessera", ""):
            if verb.startswith("-") or verb == "help":
                continue
            if f"tessera {verb} CKPT KEY" in self.tessera(verb, "--help").out:
                self.assertEqual(self.complete("tessera", verb, "model.safetensors", "model.n"),
                                 ["model.norm.scale"])


class ZshTest(ShellCase):
    # A terminal with a zsh in it: text is typed, Tab is pressed, and what zsh would offer, or has
    # made of the line, is printed by a key of our own.  What is waited for is written in two parts,
    # so that it is not found in the echo of what was typed.
    SESSION = r"""
zmodload zsh/zpty
zpty tab zsh -f -i
zpty -w tab 'PROMPT= RPROMPT= ; stty -echo; cd %(folder)s; path=(%(program)s $path)'
zpty -w tab 'autoload -U compinit; compinit -u -d %(folder)s/.zcompdump'
zpty -w tab '%(load)s'
zpty -w tab 'show() { print -r -- "<""<${BUFFER}>"">"; BUFFER=; }; zle -N show; bindkey "^X" show'
zpty -w tab 'zstyle ":completion:*" list-separator "#"; LISTMAX=1000; unsetopt list_beep'
zpty -w tab 'print rea""dy'
zpty -r -m tab line '*ready*'
zpty -n -w tab %(typed)s$'\t\x18'
zpty -r -m tab line '*<<*>>*'
print -r -- "$line"
zpty -d tab
"""
    SOURCED = "source <(tessera completion zsh)"

    def typed(self, text, load=SOURCED):
        """What stands on the line after Tab, and all that was printed."""
        script = self.SESSION % {"folder": self.folder, "program": FOLDER, "load": load,
                                 "typed": shlex.quote(text)}
        out = "\n".join(self.shell("zsh", "-f", "-c", script))
        self.assertIn("<<", out)
        return out.split("<<")[-1].split(">>")[0], out

    def test_verbs_and_options(self):
        self.assertEqual(self.typed("tessera doc")[0], "tessera doctor ")
        self.assertEqual(self.typed("tessera ls --dep")[0], "tessera ls --depth=")
        self.assertIn("what a storage can do, measured", self.typed("tessera ")[1])

    def test_files_and_values(self):
        self.assertEqual(self.typed("tessera ls mod")[0], "tessera ls model.safetensors ")
        self.assertEqual(self.typed("tessera completion z")[0], "tessera completion zsh ")
        self.assertEqual(self.typed("tessera help ver")[0].split()[:2], ["tessera", "help"])

    def test_keys(self):
        load = (self.SOURCED + "; try() {}; compdef _try try; _try() { local tessera_program=tessera;"
                " shift words; (( CURRENT-- )); _arguments 1:CKPT:_files 2:KEY:_tessera_keys }")
        self.assertEqual(self.typed("try x model.safetensors model.n", load)[0],
                         "try x model.safetensors model.norm.scale ")
        self.assertEqual(self.typed("try x model.safetensors mod", load)[0],
                         "try x model.safetensors model.")

    def test_it_is_found_in_a_folder_of_functions(self):
        functions = self.folder / "functions"
        functions.mkdir()
        (functions / "_tessera").write_text(self.tessera("completion", "zsh").out)
        load = f"fpath=({functions} $fpath); compinit -u -d {self.folder}/.zcompdump2"
        self.assertEqual(self.typed("tessera doc", load)[0], "tessera doctor ")


class CompleteKeysTest(cli_case.CliCase):
    def test_keys_go_on_part_by_part(self):
        path = self.safetensors_file()
        self.assertEqual(self.tessera("complete-keys", path, "--start=model.").lines(),
                         ["model.embed.", "model.layers.", "model.norm."])
        self.assertEqual(self.tessera("complete-keys", path, "--start=model.n").lines(),
                         ["model.norm.scale"])
        self.assertEqual(self.tessera("complete-keys", path, "--start=").lines(), ["model."])
        self.assertIn("nowhere", self.error("complete-keys", "nowhere"))

    def test_other_shells_are_refused(self):
        self.assertEqual(self.error("completion", "fish"),
                         "no completion for 'fish'; expected bash or zsh")


class ManTest(cli_case.CliCase):
    def test_man_and_groff_have_no_warning(self):
        page = self.write("tessera.1", self.tessera("man").out)
        for command in (["groff", "-ww", "-man", "-z", "-Tutf8", page],
                        ["man", "--warnings", "-E", "UTF-8", "-l", page]):
            process = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                     env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
            self.assertEqual((process.returncode, process.stderr), (0, ""))
        for word in ("SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "tessera ls CKPT", "--depth N"):
            self.assertIn(word, process.stdout)


if __name__ == "__main__":
    unittest.main()
