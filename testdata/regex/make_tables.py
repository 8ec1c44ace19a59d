"""Prints the data of tessera/regex/python_case.cc and python_char_names.cc.

Run with Python 3.11: `python3 make_tables.py case` or `python3 make_tables.py names`.  The
oracle is Python itself: `re` says which characters IGNORECASE takes for the same, `unicodedata`
what they are called.
"""

import re
import sys
import textwrap
import unicodedata

NAME_BLOCKS = [
    (0x0020, 0x007E), (0x00A0, 0x017F), (0x0370, 0x03FF), (0x2000, 0x206F), (0x2070, 0x20C0),
    (0x2100, 0x214F), (0x2190, 0x22FF), (0x25A0, 0x25FF),
]
ALIASES = (
    "NULL;NUL;ALERT;BACKSPACE;BS;CHARACTER TABULATION;HORIZONTAL TABULATION;TAB;HT;LINE FEED;"
    "NEW LINE;END OF LINE;LF;EOL;LINE TABULATION;VERTICAL TABULATION;VT;FORM FEED;FF;"
    "CARRIAGE RETURN;CR;ESCAPE;ESC;DELETE;DEL;NEXT LINE;NEL;NBSP;SHY;ZWSP;ZWNJ;ZWJ;LRM;RLM;"
    "ZERO WIDTH NO-BREAK SPACE;BYTE ORDER MARK;BOM;REPLACEMENT CHARACTER"
).split(";")


def cased_characters():
    changes = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    return [c for c in changes if c.lower() != c or c.upper() != c or c.title() != c]


def case_classes():
    cased = cased_characters()
    text = "".join(cased)
    found = {tuple(sorted(re.findall("(?i)" + re.escape(c), text))) for c in cased}
    classes = sorted(tuple(map(ord, members)) for members in found if len(members) > 1)
    members = [c for group in classes for c in group]
    assert len(members) == len(set(members)), "IGNORECASE is not an equivalence"
    return classes


def pair_runs(pairs):
    """Pairs (a, a + distance) at every `stride`-th a from first to last."""
    runs = []
    for a, b in pairs:
        last = runs[-1] if runs else None
        stride = a - last[1] if last else 0
        if last and b - a == last[2] and stride in (1, 2) and last[3] in (0, stride):
            last[1], last[3] = a, stride
        else:
            runs.append([a, a, b - a, 0])
    return [(first, last, distance, stride or 1) for first, last, distance, stride in runs]


def print_wrapped(items):
    for line in textwrap.wrap(", ".join(items) + ",", 96, break_on_hyphens=False):
        print("    " + line.replace("\xa0", " "))


def print_case():
    classes = case_classes()
    runs = pair_runs([c for c in classes if len(c) == 2])
    print_wrapped("{0x%X,\xa00x%X,\xa0%d,\xa0%d}" % run for run in runs)
    print()
    larger = [c + (0,) * (4 - len(c)) for c in classes if len(c) > 2]
    print_wrapped("{0x%X,\xa00x%X,\xa00x%X,\xa00x%X}" % group for group in larger)


def print_names():
    for first, last in NAME_BLOCKS:
        names = [unicodedata.name(chr(c), "") for c in range(first, last + 1)]
        text = ";".join(names) + ";"
        print("    {0x%04X," % first)
        for i in range(0, len(text), 92):
            print('     "%s"' % text[i:i + 92])
        print("    },")
    print()
    print_wrapped('{"%s",\xa00x%X}' % (a.replace(" ", "\xa0"), ord(unicodedata.lookup(a)))
                  for a in ALIASES)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    {"case": print_case, "names": print_names}[sys.argv[1]]()
