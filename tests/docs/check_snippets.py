#!/usr/bin/env python3
"""Checks that the code and the output shown in the documentation are the real ones.

usage: check_snippets.py SOURCE_DIR BUILD_DIR FILE.md...

A block after `<!-- from: PATH -->` must stand in that file, word for word; a block after
`<!-- output of: PROGRAM FILE... -->` must be a part of what that program of the build directory prints,
given these files of the source directory.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"<!-- (from|output of): (\S.*?) -->\n```\w*\n(.*?)```", re.DOTALL)


def expected(kind, name, source, build):
    if kind == "from":
        return (source / name).read_text()
    program, *files = name.split()
    with tempfile.TemporaryDirectory() as folder:  # for what it writes
        run = subprocess.run([build / program, *(source / file for file in files)], cwd=folder,
                             capture_output=True, text=True)
    return run.stdout


def main():
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    passed, failed = 0, 0
    for page in sys.argv[3:]:
        for kind, name, block in BLOCK.findall(pathlib.Path(page).read_text()):
            if block.strip() in expected(kind, name, source, build):
                passed += 1
            else:
                failed += 1
                print(f"{page}: this block is not in {kind} {name}:\n{block}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
