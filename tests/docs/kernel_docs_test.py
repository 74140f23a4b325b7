#!/usr/bin/env python3
"""Checks that the notebook kernels find xgrad's documentation, by looking names up as they do.

usage: kernel_docs_test.py INSTALL_KERNEL_DOCS DOXYGEN SOURCE_DIR HEADER...
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

CASES = {
    "?xg::matmul": "A 1-D a is a row",
    "?xg::heads": "heat map",
    "?xg::Variable": "place in a computation graph",
    "?xg::Mask": "visible",
    "?x.backward": "Adds d(this)/d(leaf)",
}


def page_of(tags, question):
    if question == "?x.backward":
        name = "backward"
        nodes = [compound.iter("member") for compound in tags.iter("compound")
                 if compound.findtext("name") == "xg::Variable<double>"][0]
    else:
        name = question[1:]
        nodes = list(tags.iter("compound")) + list(tags.iter("member"))
    for node in nodes:
        if node.findtext("name") == name and node.get("kind") in ("class", "struct", "function"):
            return node.findtext("filename") or node.findtext("anchorfile")
    return None


def main():
    script, doxygen, *arguments = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as prefix:
        prefix = pathlib.Path(prefix)
        (prefix / "share/xeus-cling").mkdir(parents=True)
        subprocess.run([sys.executable, script, doxygen, prefix, *arguments], check=True)
        entry = json.loads((prefix / "etc/xeus-cling/tags.d/xgrad.json").read_text())
        tags = xml.parse(prefix / "share/xeus-cling/tagfiles" / entry["tagfile"])
        pages = prefix / "share/jupyter/labextensions" / pathlib.Path(entry["url"]).name
        for question, words in CASES.items():
            page = page_of(tags, question)
            if page is None or words not in (pages / page).read_text(encoding="utf-8"):
                print(f"{question}: nothing about '{words}' in {page}")
                failed += 1
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
