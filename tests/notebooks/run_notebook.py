#!/usr/bin/env python3
"""Runs the code cells of C++ notebooks on real engines and checks what they print.

What a cell must print is the output stored in the notebook: text exactly, numbers to a relative
1e-6 whatever spaces align them, displays by their text/plain form and their mime types. A cell
fails, too, if it does not compile or an exception leaves it. Where the notebook stores an error
output, the cell must fail instead, with a message that holds the stored one. The answers to the
exercises, C++ blocks inside <details>, run in their places, too: they must come to their end and not
print "not yet". The engine `program` compiles all cells of a notebook as one plain C++ program, in
which a display is its text.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import re
import statistics
import sys

import engines

ENGINES = ["cling", "clang-repl-19", "clang-repl-22", "program", "jupyter"]
NUMBER = re.compile(r" *(-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?) *")
DETAILS = re.compile(r"<details>.*?</details>", re.DOTALL)
CPP_BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.DOTALL | re.MULTILINE)
RAW_INCLUDES = "#include <xtensor/xarray.hpp>\n#include <xtensor-blas/xlinalg.hpp>\n"
ROUNDS = 3


@dataclasses.dataclass
class Test:
    notebook: str
    engine: str
    cell: str
    seconds: float
    failure: str = ""


def load(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@dataclasses.dataclass
class Step:
    name: str
    source: str
    cell: dict = None  # None for an answer

    @property
    def outputs(self):
        return self.cell["outputs"] if self.cell else []


def steps_of(notebook):
    """The code cells, numbered from 1, and between them the answers in the text cells."""
    steps, number = [], 0
    for cell in notebook["cells"]:
        source = joined(cell["source"])
        if cell["cell_type"] == "code":
            number += 1
            steps.append(Step(f"{number}", source, cell))
        else:
            answers = [block for details in DETAILS.findall(source)
                       for block in CPP_BLOCK.findall(details)]
            steps += [Step(f"{number}, answer", answer) for answer in answers]
    return steps


def joined(text):
    """Notebooks store a text as one string or as a list of lines."""
    return text if isinstance(text, str) else "".join(text)


def as_saved(output):
    """The output as Jupyter saves it: each text is a list of lines."""
    def lines(text):
        return text.splitlines(keepends=True) if isinstance(text, str) else text

    if output["output_type"] == "stream":
        return {**output, "text": lines(output["text"])}
    return {**output, "data": {mime: lines(data) for mime, data in output["data"].items()}}


def transcript(outputs, pictures=True):
    """The outputs of a cell as one text: what went to stdout, and each display in its place."""
    text = ""
    for output in outputs:
        if output["output_type"] == "stream" and output["name"] == "stdout":
            text += joined(output["text"])
        elif output["output_type"] == "display_data":
            data = output["data"]
            text += f"[display {' '.join(sorted(data))}]\n" if pictures else ""
            text += f"{joined(data['text/plain'])}\n"
    return text


def same_number(got, want):
    if got.lstrip("-").isdigit() and want.lstrip("-").isdigit():
        return int(got) == int(want)
    return math.isclose(float(got), float(want), rel_tol=1e-6, abs_tol=1e-12)


def same_text(got, want):
    """Equal, but numbers (every second piece) may differ in their last digits and alignment."""
    got, want = NUMBER.split(got), NUMBER.split(want)
    return (len(got) == len(want) and got[::2] == want[::2]
            and all(map(same_number, got[1::2], want[1::2])))


def stored_errors(step):
    return [output for output in step.outputs if output["output_type"] == "error"]


def failure_of(result, step, pictures):
    got = transcript(result.outputs, pictures)
    errors = [error["evalue"] for error in stored_errors(step)]
    if result.ok and errors:
        return f"no error, expected:\n{errors[0]}"
    if not result.ok and not (errors and errors[0] in result.errors):
        expected = [f"expected: {text}" for text in errors]
        return "\n".join(["error:", (result.errors or got).rstrip(), *expected])
    if step.cell is None:
        return f"not right:\n{got}" if "not yet" in got.lower() else ""
    want = transcript(step.outputs, pictures)
    if not same_text(got, want):
        return f"the output differs\n--- got\n{got}\n--- expected\n{want}\n{result.errors}"
    return ""


def start(name, args, cells=()):
    if name == "cling":
        return engines.Cling(args.include, args.library, args.std)
    if name.startswith("clang-repl-"):
        version = name.removeprefix("clang-repl-")
        return engines.ClangRepl(version, args.include, args.library, args.std)
    if name == "program":
        return engines.Program(cells, args.include, args.library, args.std)
    return engines.JupyterKernel(name, args.include, args.library)


def available(args):
    """The engines to use: those asked for, which must be there, or all that are."""
    found = []
    for name in args.engine or ENGINES:
        try:
            if name == "jupyter":
                found += engines.installed_kernels()
            else:
                start(name, args).close()
                found.append(name)
        except engines.Unavailable as reason:
            if args.engine:
                sys.exit(f"{name}: {reason}")
            print(f"{name}: skipped, {reason}")
    return found


def run(path, engine_name, args):
    notebook = load(path)
    steps = steps_of(notebook)
    tests = []
    engine = start(engine_name, args, [step.source for step in steps])
    death = ""
    for step in steps:
        test = Test(pathlib.Path(path).name, engine_name, step.name, 0.0, death)
        tests.append(test)
        if death:
            continue
        try:
            result = engine.run(step.source)
        except engines.EngineDied as error:
            test.failure = f"{error}"
            death = f"not run: the engine died in cell {step.name}"
            continue
        test.seconds = result.seconds
        if args.update and step.cell and result.ok != bool(stored_errors(step)):
            step.cell["outputs"] = [*map(as_saved, result.outputs), *stored_errors(step)]
            step.cell["execution_count"] = int(step.name)
        test.failure = failure_of(result, step, engine.shows_pictures)
    engine.close()
    if args.update:
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)  # as Jupyter saves
        pathlib.Path(path).write_text(text + "\n", encoding="utf-8")
    return tests


def seconds_of(cells, engine_name, args):
    """The time that a fresh engine takes for these cells."""
    engine = start(engine_name, args, cells)
    try:
        results = [engine.run(cell) for cell in cells]
    finally:
        engine.close()
    for result in results:
        if not result.ok:
            sys.exit(f"{engine_name}: {result.errors}")
    return sum(result.seconds for result in results)


def compare_includes(path, engine_name, args):
    cells = code_cells(load(path))
    first = [i for i, cell in enumerate(cells)
             if "first-attention" in cell["metadata"].get("tags", [])]
    if not first:
        return
    lesson = [joined(cell["source"]) for cell in cells[:first[0] + 1]]
    # In turns, so that a busy machine slows both.
    rounds = [[seconds_of(cells, engine_name, args) for cells in (lesson, [RAW_INCLUDES])]
              for _ in range(ROUNDS)]
    attention, raw = map(statistics.median, zip(*rounds))
    print(f"{pathlib.Path(path).name}, {engine_name}: first attention {attention:.2f} s "
          f"({len(lesson)} cells), raw xtensor and xtensor-blas includes {raw:.2f} s, "
          f"ratio {attention / raw:.2f}")


def print_cells(tests):
    """One line: the seconds of each cell of a notebook on an engine."""
    seconds = " ".join(f"{test.seconds:.2f}{'!' if test.failure else ''}" for test in tests)
    print(f"{tests[0].notebook}, {tests[0].engine}: {seconds}", flush=True)


def print_table(runs):
    print(f"\n{'notebook':<36} {'engine':<14} {'cells':>5} {'failed':>6} {'first s':>8} {'total s':>8}")
    totals = {}
    for tests in runs:
        seconds = [test.seconds for test in tests]
        failed = sum(bool(test.failure) for test in tests)
        print(f"{tests[0].notebook:<36} {tests[0].engine:<14} {len(tests):>5} {failed:>6} "
              f"{seconds[0]:>8.2f} {sum(seconds):>8.2f}")
        totals[tests[0].engine] = totals.get(tests[0].engine, 0.0) + sum(seconds)
    for engine, seconds in totals.items():
        print(f"{'all':<36} {engine:<14} {'':>21} {seconds:>8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="+", metavar="NOTEBOOK")
    parser.add_argument("--engine", action="append", choices=ENGINES,
                        help="an engine to use, may be repeated (default: all that are installed)")
    parser.add_argument("--include", action="append", default=[], metavar="DIR",
                        help="a folder of headers, may be repeated")
    parser.add_argument("--library", action="append", default=[], metavar="DIR",
                        help="a folder of shared libraries, may be repeated")
    parser.add_argument("--std", default="c++17", help="the language standard (default: c++17)")
    parser.add_argument("--update", action="store_true",
                        help="store what Cling prints as the expected outputs")
    parser.add_argument("--compare-includes", action="store_true",
                        help="time the cells up to the one tagged first-attention, and a cell that "
                        "includes raw xtensor and xtensor-blas; each in fresh engines")
    args = parser.parse_args()
    if args.update:
        args.engine = ["cling"]

    names = available(args)
    if args.compare_includes:
        for path in args.notebooks:
            for name in names:
                compare_includes(path, name, args)
        return 0

    runs = []
    for path in args.notebooks:
        for name in names:
            runs.append(run(path, name, args))
            print_cells(runs[-1])
    tests = [test for tests in runs for test in tests]
    for test in tests:
        if test.failure:
            print(f"\n{test.notebook}, {test.engine}, cell {test.cell}: {test.failure.rstrip()}")
    print_table(runs)
    failed = sum(bool(test.failure) for test in tests)
    print(f"\n{len(tests) - failed} passed, {failed} failed")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
