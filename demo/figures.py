"""What the demo's workloads came to: rows of figures from `moulin show --json`."""

import re
from datetime import datetime

_ACCURACY = re.compile(r"accuracy[ =:]+([01]?\.\d+|\d+(?:\.\d+)?%)")
HEADINGS = ("NAME", "PROJECT", "CLASS", "GPU", "STATE", "ACCURACY", "WAITED", "HELD", "USED", "LOST", "ATTEMPTS")
LEFT = {"NAME", "PROJECT", "CLASS", "STATE"}


def _seconds(later, earlier):
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def waited(shown):
    """Seconds in which it had no place: before its first attempt, and between attempts."""
    total, since = 0.0, shown["submitted"]
    for attempt in shown["attempts"]:
        total += max(0.0, _seconds(attempt["created"], since))
        since = attempt["ended"] or shown["finished"] or attempt["created"]
    return total


def accuracy(log):
    """The last accuracy that its log tells, or nothing."""
    found = _ACCURACY.findall(log)
    if not found:
        return None
    return float(found[-1].rstrip("%")) / (100 if found[-1].endswith("%") else 1)


def share(shown):
    """GPU share of the whole workload, as its newest attempt held it."""
    replicas = shown["attempts"][-1]["replicas"]
    return sum(gpu["share_milli"] for replica in replicas for gpu in replica["gpus"]) / 1000


def row(shown, log):
    usage, learnt = shown["usage"], accuracy(log)
    return (shown["name"], shown["project"], shown["class"], f"{share(shown):g}", shown["state"],
            "" if learnt is None else f"{learnt:.3f}", f"{waited(shown):.1f} s",
            f"{usage['held_gpu_seconds']:.1f}", f"{usage['gpu_active_seconds']:.1f}",
            f"{usage['lost_gpu_seconds']:.1f}", str(shown["attempt_count"]))


def table(rows):
    """Text with aligned columns; a row of sums for the GPU-seconds below."""
    sums = [f"{sum(float(row[column]) for row in rows):.1f}" for column in (7, 8, 9)]
    lines = [HEADINGS, *rows, ("all", "", "", "", "", "", "", *sums, "")]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]

    def text(line):
        cells = [cell.ljust(width) if heading in LEFT else cell.rjust(width)
                 for cell, width, heading in zip(line, widths, HEADINGS)]
        return "  ".join(cells).rstrip()

    return "\n".join(text(line) for line in lines)
