#!/usr/bin/env python3
"""Prints what passed and failed in each step of scripts/test.

usage: summarize.py RESULTS

RESULTS has one line a step: name, exit status, seconds. Beside it lie NAME.log, the step's output,
and, where the step ran `meson test`, */meson-logs/NAME.json.
"""

import json
import re
import sys
from pathlib import Path

DOCTEST = re.compile(r"^\[doctest\] test cases: +\d+ \| +(\d+) passed \| +(\d+) failed", re.M)
PLAIN = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed$", re.M)


def reported(text):
    """The last counts that a program printed of itself, or None."""
    for pattern in (DOCTEST, PLAIN):
        if counts := pattern.findall(text):
            return tuple(map(int, counts[-1]))
    return None


def count(text, succeeded):
    """(passed, failed) of one program. One that failed has at least one failure, whatever it printed."""
    passed, failed = reported(text) or (int(succeeded), 0)
    if not succeeded and not failed:
        failed = 1
    return passed, failed


def count_meson(log):
    passed = failed = 0
    for line in log.read_text().splitlines():
        test = json.loads(line)
        if test["result"] == "SKIP":
            continue
        one = count(test.get("stdout") or "", test["result"] in ("OK", "EXPECTEDFAIL"))
        passed, failed = passed + one[0], failed + one[1]
    return passed, failed


def count_step(folder, name, succeeded):
    logs = list(folder.glob(f"*/meson-logs/{name}*.json"))
    if not logs:
        return count((folder / f"{name}.log").read_text(errors="replace"), succeeded)
    passed, failed = map(sum, zip(*map(count_meson, logs)))
    if (not succeeded or not passed) and not failed:
        failed = 1
    return passed, failed


def main(results):
    rows = []
    for line in results.read_text().splitlines():
        name, status, seconds = line.split("\t")
        rows.append((name, *count_step(results.parent, name, status == "0"), int(seconds)))

    print(f"{'step':<20} {'passed':>7} {'failed':>7} {'seconds':>8}")
    for row in rows:
        print("{:<20} {:>7} {:>7} {:>8}".format(*row))
    passed = sum(row[1] for row in rows)
    failed = sum(row[2] for row in rows)
    print(f"tests: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
