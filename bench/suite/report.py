"""What was measured, as rows, as a table, and which bars it misses."""

import json


def row_of(case, ours, peer, limit, floor):
    """One row of results.json: a case beside one peer, or beside none."""
    told = {
        "case": case.name, "title": case.title, "family": case.family, "bytes": ours.bytes,
        "ours_s": round(ours.median(), 6), "peer": peer.name if peer else None,
        "peer_s": round(peer.median(), 6) if peer else None,
        "ratio": round(peer.median() / ours.median(), 3) if peer else None,
        "limit": case.limit[0] if limit else None,
        "limit_s": round(limit.median(), 6) if limit else None,
        "of_limit": round(limit.median() / ours.median(), 3) if limit else None,
        "ours_peak_mib": round(max(ours.peak_mib), 1),
        "peer_peak_mib": round(max(peer.peak_mib), 1) if peer else None,
        "ours_spread": ours.spread(), "peer_spread": peer.spread() if peer else None,
        "limit_spread": limit.spread() if limit else None, "rounds": len(ours.seconds),
        "bar_ratio": case.bar_peer if peer else None, "bar_of_limit": case.bar_limit,
        "floor": case.floor[0] if floor else None,
        "floor_s": round(floor.median(), 6) if floor else None,
        "of_floor": round(floor.median() / ours.median(), 3) if floor else None,
    }
    if case.growth:
        told["growth"], told["x"] = case.growth
    return told


def rows_of(case, sides):
    ours = sides[0]
    peers = [side for side in sides[1:] if side.program != "limit"]
    limits = {side.name: side for side in sides if side.program == "limit"}
    return [row_of(case, ours, peer, limits.get("limit"), limits.get("floor"))
            for peer in peers or [None]]


def missed(rows):
    """One line for each bar that a row misses."""
    lines = []
    for row in rows:
        if row["ratio"] is not None and row["ratio"] < (row["bar_ratio"] or 0):
            lines.append(f"{row['case']}: {row['ratio']:.2f} times {row['peer']}, "
                         f"asked for {row['bar_ratio']}")
        if row["of_limit"] is not None and row["of_limit"] < (row["bar_of_limit"] or 0):
            lines.append(f"{row['case']}: {row['of_limit']:.2f} of {row['limit']}, "
                         f"asked for {row['bar_of_limit']}")
    return list(dict.fromkeys(lines))


COLUMNS = ("case", "tessera", "peer", "its time", "times", "limit", "its time", "of it",
           "of it and files", "MiB", "peer's MiB")


def seconds_text(value):
    if value is None:
        return ""
    return f"{value:.3f} s" if value >= 0.1 else f"{value * 1000:.2f} ms"


def number_text(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def cells(row):
    return (row["title"], seconds_text(row["ours_s"]), row["peer"] or "",
            seconds_text(row["peer_s"]), number_text(row["ratio"]), row["limit"] or "",
            seconds_text(row["limit_s"]), number_text(row["of_limit"]),
            number_text(row["of_floor"]), number_text(row["ours_peak_mib"], 0), number_text(row["peer_peak_mib"], 0))


def table(rows):
    """Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def text_line(row):
    """One row for a terminal."""
    peer = f"{row['peer']} {seconds_text(row['peer_s'])}, {row['ratio']:.2f}x" if row["peer"] else "-"
    limit = f"{row['limit']} {seconds_text(row['limit_s'])}, {row['of_limit']:.2f}" if row["limit"] else "-"
    floor = f" ({row['of_floor']:.2f} with files)" if row["floor"] else ""
    return f"{row['title']:<62} {seconds_text(row['ours_s']):>10}  {peer:<34} {limit}{floor}"


def results_json(rows):
    """One row a line, so that two runs can be compared by eye."""
    return "[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n"
