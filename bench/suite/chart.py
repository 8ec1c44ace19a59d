"""The chart of the README: how many times as fast as each peer, and how near to the limit.

One SVG without scripts; its colours follow the reader's light or dark setting.
"""

import html
import math

WIDTH, LEFT, RIGHT = 930, 300, 200
BAR, GAP, HEAD = 13, 9, 58
COLOURS = {"tensorstore": "a", "zarrs": "b", "jax": "c", "safetensors": "d", "python": "e"}
NAMES = {"tensorstore": "TensorStore", "zarrs": "zarrs + zarr-python", "jax": "JAX + TensorStore",
         "safetensors": "safetensors", "python": "Python"}
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .small { font-size: 11px; fill: #57606a } .head { font-weight: 600; font-size: 14px }
  .grid { stroke: #d0d7de } .one { stroke: #57606a; stroke-width: 1.5 }
  .a { fill: #0969da } .b { fill: #8250df } .c { fill: #bc4c00 } .d { fill: #1a7f37 } .e { fill: #bf3989 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #3d444d } .one { stroke: #9198a1 }
    .a { fill: #4493f8 } .b { fill: #ab7df8 } .c { fill: #db6d28 } .d { fill: #3fb950 } .e { fill: #db61a2 }
  }
"""


def position(ratio, most):
    """Of a ratio on the logarithmic axis that begins at one half."""
    span = math.log(most / 0.5)
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(max(ratio, 0.5) / 0.5) / span


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>'


def ratio_text(ratio):
    """Near one the second digit tells who is ahead."""
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}"


def groups_of(rows):
    """Rows of one case together, in order; growth and cases without a peer are not drawn."""
    groups = {}
    for row in rows:
        if row["peer"] and row["family"] not in ("growth", "cold"):
            groups.setdefault(row["case"], []).append(row)
    return list(groups.values())


def axis(most, top, bottom):
    parts = []
    for value in (0.5, 1, 2, 5, 10, 20, 50, 100, 200):
        if value > most:
            break
        x = position(value, most)
        kind = "one" if value == 1 else "grid"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" class="{kind}"/>')
        parts.append(text(x, top - 6, f"{value:g}×", "small", "middle"))
    return parts


def bars(group, y, most):
    """The bars of one case, one for each peer; at the right how much of the limit is reached."""
    title, middle = group[0]["title"], y + BAR * len(group) / 2 + 3
    parts = [text(LEFT - 10, middle, title if len(title) < 47 else title.split(":")[0], "", "end")]
    if group[0]["limit"]:
        limit = f"{group[0]['of_limit']:.2f} of {group[0]['limit']}"
        parts.append(text(WIDTH - RIGHT + 20, middle, limit, "small"))
    one = position(1, most)
    for i, row in enumerate(group):
        x = position(row["ratio"], most)
        left, width = min(one, x), max(abs(x - one), 1)
        parts.append(f'<rect x="{left:.1f}" y="{y + i * BAR}" width="{width:.1f}" '
                     f'height="{BAR - 2}" class="{COLOURS[row["peer"]]}"/>')
        parts.append(text(max(x, one) + 5, y + i * BAR + BAR - 3, ratio_text(row["ratio"]), "small"))
    return parts


def legend(rows):
    parts, x = [], LEFT
    for peer in dict.fromkeys(row["peer"] for row in rows):
        parts.append(f'<rect x="{x}" y="28" width="10" height="10" class="{COLOURS[peer]}"/>')
        parts.append(text(x + 14, 37, NAMES[peer], "small"))
        x += 24 + 7 * len(NAMES[peer])
    return parts


def draw(rows):
    groups = groups_of(rows)
    drawn = [row for group in groups for row in group]
    most = 1.25 * max([2.0, *(row["ratio"] for row in drawn)])
    height = HEAD + sum(len(group) * BAR + GAP for group in groups) + 24
    parts = [text(10, 20, "tessera: times as fast as its peers (logarithmic)", "head"),
             text(WIDTH - RIGHT + 20, HEAD - 6, "of what the machine can do", "small")]
    parts += legend(drawn) + axis(most, HEAD, height - 20)
    y = HEAD + 6
    for group in groups:
        parts += bars(group, y, most)
        y += len(group) * BAR + GAP
    parts.append(text(10, height - 5, "Medians of interleaved rounds on one machine; bench/results.json "
                      "has the figures, the spread and the limits.", "small"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img" aria-label="Speed of tessera beside its peers">'
            f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n")
