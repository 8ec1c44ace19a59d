"""Writes cases.json, substitutions.json and unicode.json: what Python 3.11's `re` says, to hold our engine against.

cases.json has a list of subjects and random patterns from a grammar, valid and broken.  A valid
one has `found`, a hexadecimal number whose bit i (from the lowest) tells whether re.search finds
it in subject i; a broken one has the message and, where Python gives it, the position.
substitutions.json has patterns, replacements and what re.sub makes of subjects, or the error that
the replacement is.
unicode.json has, as ranges of code points, what the classes take, and the classes of characters
that IGNORECASE takes for the same.  The seed is fixed: the same Python writes the same files.
"""

import json
import pathlib
import random
import re
import warnings

import make_tables

FOLDER = pathlib.Path(__file__).parent
SEED = 20240607
CASES = 4000
SUBJECTS = 64
LONGEST_PATTERN = 48
SUBSTITUTIONS = 1500
SUBSTITUTED = 16  # of the subjects

LITERALS = list("aaabbbc01_/.- ") + ["é", "K", "ſ", "\n", "\\n", "\\.", "\\/", "\\x61", "\\u0062",
                                    "\\U0001F600", "\\141", "\\0", "\\t", "]", "}", "#", "\\ ",
                                    "\\N{BULLET}", "\\-", "\\é"]
CLASSES = ["\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "."]
ANCHORS = ["^", "$", "\\A", "\\Z", "\\b", "\\B"]
SET_ITEMS = list("abcABk01_/-^&|~[:.") + ["a-c", "0-1", "A-Z", "\\d", "\\w", "\\s", "\\W", "\\S",
                                          "\\D", "\\b", "\\n", "\\]", "\\-", "\\x41-\\x43", "é",
                                          "--", "&&", "\\\\", "[:alpha:]", "\\101"]
COUNTERS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{0}", "{,}", "{0,3}", "{3}"]
ODD_TEXT = ["{", "{}", "{a}", "{1", "{,", "{2,1}", "(?", "(?P", "(?P<", "(?P<n>", "(?P=n)", "(?(",
            "(?(9)a)", "**", "a**", "++", "{2}{3}", "(", ")", "[", "[]", "[^]", "[^", "[a-", "[b-a]",
            "[\\d-z]", "\\", "\\8", "\\1", "\\99", "\\400", "\\777", "\\x4", "\\u12", "\\U00110000",
            "\\p", "\\Q", "\\E", "\\K", "\\R", "\\X", "\\G", "\\h", "\\C", "\\g<1>", "\\z", "\\N{}",
            "\\N", "\\N{NO SUCH NAME}", "(?i)", "(?x)", "(?L)", "(?au)", "(?-i)", "(?i-i:a)",
            "(?-a:a)", "(?z)", "(?i", "(?i-", "(?i-:a)", "(?R)", "(?1)", "(?|a)", "(?&n)", "(*FAIL)",
            "(?<a", "(?<n>a)", "(?'n'a)", "(?P>n)", "(?P<1a>b)", "(?P<a b>c)", "(?#", "(?#c)", "|",
            "||", "(?=", "(?<=a*)", "(?<=a|bc)", "(?<!ab|cd)", "(?<=(a)\\1)", "(a\\1)", "a{4294967295}",
            "(?P<n>a)(?P<n>b)", "$*", "^+", "\\b?", "(?:)", "()", "(|a)", "(a|)", "(?t)", "(?t:a)",
            "a{65535}", "(?(n)a)", "(?(0)a)", "(?(1)a|b|c)", "[a\\", "(?ui)", "(?s-m:.)"]
SUBJECT_PIECES = list("aaabbbccABCK01_/.-^ ]}{#&|~[:lph") + ["\n", "\n", "\r", "\t", "é", "É", "\0",
                                                             "ſ", "\u212a", "٣", "•", "😀", "\x1c",
                                                             "\x85", "ab", "aa", "layers/1/"]


class PatternMaker:
    """Random patterns; a group that may be referred to is one that is already closed."""

    def __init__(self, rng):
        self.rng = rng
        self.groups = 0
        self.closed = []
        self.names = []
        self.in_look_behind = False

    def pattern(self):
        flags = self.rng.choice([""] * 8 + ["(?i)", "(?s)", "(?m)", "(?x)", "(?a)", "(?ai)", "(?im)"])
        text = flags + self.alternatives(self.rng.randint(1, 3))
        return self.broken(text) if self.rng.random() < 0.2 else text

    def broken(self, text):
        at = self.rng.randint(0, len(text))
        if self.rng.random() < 0.3:
            return text[:at] + text[at + 1:]
        return text[:at] + self.rng.choice(ODD_TEXT) + text[at:]

    def alternatives(self, depth):
        count = self.rng.choice([1, 1, 1, 2, 3])
        return "|".join(self.sequence(depth) for _ in range(count))

    def sequence(self, depth):
        return "".join(self.item(depth) for _ in range(self.rng.choice([0, 1, 1, 2, 2, 3])))

    def item(self, depth):
        if self.rng.random() < 0.1:
            return self.rng.choice(ANCHORS)
        text = self.atom(depth)
        if self.rng.random() < 0.35:
            text += self.rng.choice(COUNTERS) + self.rng.choice(["", "", "", "", "?", "+"])
        return text

    def atom(self, depth):
        kind = self.rng.random()
        if kind < 0.45 or (depth == 0 and kind >= 0.7):
            return self.rng.choice(LITERALS)
        if kind < 0.58:
            return self.rng.choice(CLASSES)
        if kind < 0.7:
            return self.set()
        if kind < 0.78 and self.closed:
            return self.reference(depth)
        return self.group(depth - 1)

    def set(self):
        items = [self.rng.choice(SET_ITEMS) for _ in range(self.rng.randint(1, 4))]
        return "[" + self.rng.choice(["", "", "^"]) + self.rng.choice(["", "", "", "]"]) + "".join(items) + "]"

    def reference(self, depth):
        group = self.rng.choice(self.closed)
        kind = self.rng.random()
        if kind < 0.6 or depth == 0:
            return "\\%d" % group
        if kind < 0.7 and self.names:
            return "(?P=%s)" % self.rng.choice(self.names)
        no = "|" + self.sequence(depth - 1) if self.rng.random() < 0.7 else ""
        return "(?(%d)%s%s)" % (group, self.sequence(depth - 1), no)

    def group(self, depth):
        kind = self.rng.random()
        if kind < 0.4:
            return self.capture(depth)
        if kind < 0.6:
            return "(?:" + self.alternatives(depth) + ")"
        if kind < 0.7:
            return "(?%s:" % self.rng.choice(["i", "s", "m", "x", "a", "u", "i-s", "-i", "si"]) + \
                self.alternatives(depth) + ")"
        if kind < 0.76:
            return "(?>" + self.alternatives(depth) + ")"
        if kind < 0.88:
            return self.rng.choice(["(?=", "(?!"]) + self.alternatives(depth) + ")"
        return self.rng.choice(["(?<=", "(?<!"]) + self.fixed() + ")"

    def capture(self, depth):
        self.groups += 1
        number = self.groups
        name = "n%d" % number if self.rng.random() < 0.2 else None
        text = self.alternatives(depth)
        self.closed.append(number)
        if name:
            self.names.append(name)
        return ("(?P<%s>" % name if name else "(") + text + ")"

    def fixed(self):
        width = self.rng.randint(0, 2)
        simple = [self.rng.choice(["a", "b", "c", ".", "\\w", "[ab]", "\\d", "(?:a|b)", "[^a]", "(?=a)b"])
                  for _ in range(width)]
        return "".join(simple) or self.rng.choice(["^", "\\b", "a|b", "ab|ba", "a{2}", "(?:ab|cd)"])


def random_subject(rng):
    return "".join(rng.choice(SUBJECT_PIECES) for _ in range(rng.choice([0, 1, 2, 3, 4, 5, 8, 12])))


def error_of(error):
    """Message and position; Python places some of them inside an escape, and those are left out."""
    message, position = error.msg, error.pos
    for start in ("bad character range", "bad character in group name", "undefined character name"):
        if message.startswith(start) and "\\" in message:
            message, position = start, None
    return {"error": message, "position": position}


def expectation(pattern, subjects):
    """What Python says; None if it fails in a way that is a bug of its own."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        return error_of(error)
    except (OverflowError, ValueError) as error:
        return {"error": str(error), "position": None}
    try:
        return {"found": [compiled.search(subject) is not None for subject in subjects]}
    except SystemError:
        return None


def make_case(rng, subjects):
    """A pattern that fits, and says something: most of those found always or never are dropped."""
    while True:
        pattern = PatternMaker(rng).pattern()
        if len(pattern) > LONGEST_PATTERN or pattern.endswith("\\"):
            continue
        expected = expectation(pattern, subjects)
        if expected is None:
            continue
        if "found" in expected:
            if len(set(expected["found"])) == 1 and rng.random() < 0.8:
                continue
            expected["found"] = "%x" % sum(bit << i for i, bit in enumerate(expected["found"]))
        return {"pattern": pattern, **expected}


REPLACEMENT_PIECES = ["x", "-", ".", "é", "\\n", "\\\\", "\\.", "\\0", "\\07", "\\101", "\\g<0>", "\\1",
                      "\\1", "\\2", "\\g<1>", "\\g<2>", "\\g<n1>", "\\g<01>", "\\t", "\\-"]
ODD_REPLACEMENTS = ["\\", "\\g", "\\g<", "\\g<>", "\\g<1", "\\g<-1>", "\\g<no>", "\\g<a b>", "\\q", "\\9", "\\99",
                    "\\400", "\\g<99>", "\\8", "\\x41", "\\g<1>\\g", "\\g<é>", "\\377"]
RENAMES = [(r"layers\.(\d+)\.", r"h.\1."), (r"\.kernel$", ".weight"), (r"^", "model."), (r"$", ".x"),
           (r"(?P<a>\w+)\.(?P<b>\w+)", r"\g<b>.\g<a>"), (r"x*", "-"), (r"\b", "|"), (r"(a)|b", r"[\1]"),
           (r"(?<=\.)\d+", r"<\g<0>>"), (r"", "-"), (r"a|", "-"), (r"(?:)|a", "-"), (r"\d*", "#"),
           (r"(\d+)$", r"\1\1"), (r"q_proj|k_proj", "proj"), (r"(.)(.)", r"\2\1"), (r"\.", "/")]
RENAMED = ["layers.0.attn.q_proj.kernel", "layers.11.mlp.kernel", "axbc", "", "ab", "a.b.c", "xx", "bab",
           "h.10", "kernel", "é.kernel", "a..b"]


def random_replacement(rng):
    if rng.random() < 0.15:
        return rng.choice(ODD_REPLACEMENTS)
    return "".join(rng.choice(REPLACEMENT_PIECES) for _ in range(rng.choice([0, 1, 1, 2, 3])))


def substitution(pattern, replacement, subjects):
    """What re.sub says; None where the pattern is broken, or Python is."""
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, ValueError):
        return None
    case = {"pattern": pattern, "replacement": replacement}
    try:
        return {**case, "results": [compiled.sub(replacement, subject) for subject in subjects]}
    except re.error as error:
        return {**case, "error": error.msg, "position": error.pos}
    except IndexError as error:
        return {**case, "error": str(error), "position": None}
    except SystemError:
        return None


def substitutions(rng, subjects):
    """Renames as people write them, then random ones that change something."""
    cases = [{**substitution(pattern, replacement, RENAMED), "renames": True}
             for pattern, replacement in RENAMES]
    while len(cases) < SUBSTITUTIONS:
        pattern = PatternMaker(rng).pattern()
        if len(pattern) > LONGEST_PATTERN or pattern.endswith("\\"):
            continue
        case = substitution(pattern, random_replacement(rng), subjects)
        if case is None or ("results" in case and case["results"] == subjects):
            continue
        cases.append(case)
    return cases


def ranges_of(accepts):
    ranges = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000 or not accepts(chr(c)):
            continue
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    return ranges


def unicode_facts():
    facts = {name: ranges_of(re.compile(pattern).match)
             for name, pattern in (("word", r"\w"), ("digit", r"\d"), ("space", r"\s"))}
    facts["identifier_start"] = ranges_of(str.isidentifier)
    facts["identifier_part"] = ranges_of(lambda c: ("a" + c).isidentifier())
    facts["ignorecase_classes"] = make_tables.case_classes()
    return facts


def main():
    warnings.simplefilter("ignore")
    rng = random.Random(SEED)
    subjects = []
    while len(subjects) < SUBJECTS:
        subject = random_subject(rng)
        if subject not in subjects:
            subjects.append(subject)
    cases = [make_case(rng, subjects) for _ in range(CASES)]
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    text = '{"subjects": %s,\n"cases": [\n%s\n]}\n' % (json.dumps(subjects), lines)
    (FOLDER / "cases.json").write_text(text, encoding="utf-8")
    cases = substitutions(rng, subjects[:SUBSTITUTED])
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    text = '{"subjects": %s,\n"renamed": %s,\n"cases": [\n%s\n]}\n' % (
        json.dumps(subjects[:SUBSTITUTED]), json.dumps(RENAMED), lines)
    (FOLDER / "substitutions.json").write_text(text, encoding="utf-8")
    facts = unicode_facts()
    lines = ",\n".join("%s: %s" % (json.dumps(name), json.dumps(value, separators=(",", ":")))
                       for name, value in facts.items())
    (FOLDER / "unicode.json").write_text("{\n%s\n}\n" % lines, encoding="utf-8")


if __name__ == "__main__":
    main()
