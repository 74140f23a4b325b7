#!/usr/bin/env python3
"""Compares counts of allocations, bytes and instructions with the limits in limits.json.

usage: check.py allocations PROGRAM
       check.py instructions PROGRAM OPTIMIZED

Exits with 77 where it cannot count: Meson then calls the test skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def allocations(program):
    run = subprocess.run([program], capture_output=True, text=True)
    if run.returncode == SKIPPED:
        skip(run.stdout.strip())
    run.check_returncode()
    return {name: int(count) for name, count in map(str.split, run.stdout.splitlines())}


def instructions(program, optimized):
    if optimized != "true":
        skip("the limits are those of an optimised build")
    if not shutil.which("valgrind"):
        skip("there is no valgrind")
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        skip("the limits are those of a processor with AVX2")
    # Valgrind knows no AVX-512; OpenBLAS chooses its kernels by the processor's model.
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"}
    counts = {}
    for workload in ("chain", "attention"):
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             "--toggle-collect=counted_run", program, workload],
            capture_output=True, text=True, env=environment)
        found = re.search(r"Collected : (\d+)", run.stderr)
        if run.returncode != 0 or not found or found[1] == "0":
            sys.exit(f"callgrind counted nothing:\n{run.stderr}")
        counts[f"{workload}_instructions"] = int(found[1])
    return counts


def main():
    limits = json.loads(pathlib.Path(__file__).with_name("limits.json").read_text())
    kind, *arguments = sys.argv[1:]
    counts = {"allocations": allocations, "instructions": instructions}[kind](*arguments)
    failed = 0
    for name, count in counts.items():
        over = count > limits[name]
        failed += over
        print(f"{name}: {count}, at most {limits[name]}{' EXCEEDED' if over else ''}")
    print(f"{len(counts) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
