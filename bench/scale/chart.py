"""The model's table as an SVG chart: seconds over hosts, both logarithmic."""

import html
import math

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 48, 52
LABEL_HEIGHT = 16

# For a light and for a dark page.
COLOURS = {"per-host": ("#b3261e", "#ff8a80"), "rounds": ("#8a5a00", "#f5b942"), "exchange": ("#00639b", "#6cc3ff"),
           "broadcast": ("#2e7d32", "#7fd487"), "floor": ("#6b6b6b", "#a0a0a0")}
TITLES = {"per-host": "read per host", "rounds": "share_reads today", "exchange": "exchange",
          "broadcast": "broadcast", "floor": "no way is faster"}


def style():
    light = "".join(f".{name}{{--c:{pair[0]}}}" for name, pair in COLOURS.items())
    dark = "".join(f".{name}{{--c:{pair[1]}}}" for name, pair in COLOURS.items())
    return (f"text{{font:13px system-ui,sans-serif;fill:#222}}.title{{font-weight:600;font-size:15px}}"
            f".grid{{stroke:#ddd}}.line{{fill:none;stroke:var(--c);stroke-width:2.2}}.dot{{fill:var(--c)}}"
            f".floor.line{{stroke-dasharray:5 4}}text.label{{fill:var(--c);font-weight:600}}{light}"
            f"@media(prefers-color-scheme:dark){{text{{fill:#e6e6e6}}.grid{{stroke:#444}}{dark}}}")


class Axes:
    def __init__(self, hosts, seconds):
        self.first, self.last = math.log2(min(hosts)), math.log2(max(hosts))
        self.least = math.floor(math.log10(min(seconds)))
        self.most = math.ceil(math.log10(max(seconds)))

    def x(self, hosts):
        span = max(self.last - self.first, 1)
        return LEFT + (math.log2(hosts) - self.first) / span * (WIDTH - LEFT - RIGHT)

    def y(self, seconds):
        span = max(self.most - self.least, 1)
        return HEIGHT - BOTTOM - (math.log10(seconds) - self.least) / span * (HEIGHT - TOP - BOTTOM)


def grid(axes, hosts):
    parts = []
    for power in range(axes.least, axes.most + 1):
        y = axes.y(10**power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10**power:,g} s</text>')
    for i, count in enumerate(hosts):
        if i % 2 == 0 or len(hosts) < 8:
            place = f'x="{axes.x(count):.1f}" y="{HEIGHT - BOTTOM + 20}"'
            parts.append(f'<text {place} text-anchor="middle">{count:,}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">hosts</text>')
    return parts


def spread(labels):
    """Moves labels apart that would lie on each other: (y, name), from the top."""
    placed = []
    for y, name in sorted(labels):
        placed.append((max(y, placed[-1][0] + LABEL_HEIGHT) if placed else y, name))
    return placed


def svg(rows, title="Seconds to restore"):
    hosts = [row["hosts"] for row in rows]
    series = {"floor": [row["floor"] for row in rows]}
    for row in rows:
        for result in row["results"]:
            series.setdefault(result["strategy"], []).append(result["seconds"])
    axes = Axes(hosts, [value for values in series.values() for value in values])
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
             f"<title>{html.escape(title)}</title><style>{style()}</style>",
             f'<text class="title" x="{LEFT}" y="26">{html.escape(title)}</text>', *grid(axes, hosts)]
    for name, values in series.items():
        points = [(axes.x(count), axes.y(value)) for count, value in zip(hosts, values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="line {name}" points="{path}"/>')
        if name != "floor":
            parts += [f'<circle class="dot {name}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
    ends = [(axes.y(values[-1]), name) for name, values in series.items()]
    for y, name in spread(ends):
        parts.append(f'<text class="label {name}" x="{WIDTH - RIGHT + 10}" y="{y + 4:.1f}">{TITLES[name]}</text>')
    return "\n".join(parts) + "\n</svg>\n"
