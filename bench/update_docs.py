#!/usr/bin/env python3
"""Writes the table and the picture of docs/performance.md anew, from scripts/bench's results.

usage: update_docs.py BUILD_DIR DOCS_DIR
"""

import pathlib
import re
import shutil
import sys

BEGIN, END = "<!-- results: written by scripts/bench --update-docs -->", "<!-- end of results -->"


def main():
    build, docs = map(pathlib.Path, sys.argv[1:])
    shutil.copyfile(build / "results.svg", docs / "images/performance.svg")
    page = docs / "performance.md"
    results = (build / "results.md").read_text().strip()
    between = re.compile(f"(?<={re.escape(BEGIN)}\n).*(?={re.escape(END)})", re.S)
    text, found = between.subn(lambda _: f"\n{results}\n\n", page.read_text())
    if found != 1:
        sys.exit(f"{page}: the marks of the results are missing")
    page.write_text(text)


if __name__ == "__main__":
    main()
