#!/usr/bin/env python3
"""Runs every measurement of scripts/bench and writes what it found as JSON.

usage: measure.py [--quick] BUILD_DIR RESULTS.json
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XGRAD_CACHE", pathlib.Path.home() / ".cache/xgrad"))
NO_CCACHE = {**os.environ, "CCACHE_DISABLE": "1"}

# Every kind of benchmark once, and every line of the table that does not take minutes.
QUICK_FILTERS = {
    "attention": r"/step/float/.*/(1,2,3,4,2|2,16,16,64,4|4,128,128,256,8)/",
    "nodes": r"node|chain",
    "elementwise": r"^(add|exp|sum|softmax|layer_norm)/float/(10000|1000000)",
    "products": r"(16,16,16|64,64,64)/float",
}


def say(text):
    print(f"bench: {text}", flush=True)


def machine():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    openblas = ctypes.CDLL("libopenblas.so.0")
    openblas.openblas_get_config.restype = ctypes.c_char_p
    openblas.openblas_get_corename.restype = ctypes.c_char_p
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True)
    return {
        "cpu": cpu[1] if cpu else os.uname().machine,
        "cores": len(os.sched_getaffinity(0)),
        "openblas": " ".join(openblas.openblas_get_config().decode().split()[:2]) + ", kernels for "
                    + openblas.openblas_get_corename().decode(),
        "compiler": compiler.stdout.splitlines()[0],
        "load": os.getloadavg()[0],
    }


def run_benchmark(build, name, quick, rounds):
    """The results of one Google Benchmark program by name, or None if there is no such program."""
    program = build / "bench" / name
    if not program.exists():
        return None
    say(f"{name} ...")
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [program, f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
        environment = {**os.environ, "XGRAD_BENCH_ROUNDS": str(rounds)}
        if quick:
            command.append(f"--benchmark_filter={QUICK_FILTERS[name]}")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
            for line in run.stdout:
                if "/iterations:" in line:
                    case, _, rest = line.partition("/iterations:")
                    print(f"  {case:<60} {' '.join(rest.split()[1:3])}", flush=True)
        if run.returncode != 0:
            sys.exit(f"{name} failed")
        results = json.load(out)
    return {re.sub("/iterations:.*", "", b["name"]): b for b in results["benchmarks"]}


def run_peak_memory(build):
    say("peak memory ...")
    program = build / "bench/peak_memory"
    kinds = ["composed", "fused", "node", "libtorch", "libtorch_node"]
    runs = {kind: subprocess.run([program, kind], capture_output=True, text=True)
            for kind in kinds}
    return {kind: float(run.stdout) for kind, run in runs.items() if run.returncode == 0}


def run_pytorch(build, rounds):
    """With the first python3 that has PyTorch: its version and its results by name."""
    for python in dict.fromkeys(filter(None, [shutil.which("python3"), "/usr/bin/python3"])):
        if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            break
    else:
        return None
    say("PyTorch's attention ...")
    run = subprocess.run(
        [python, ROOT / "bench/pytorch_attention.py", build / "bench/libgemm_bound.so",
         str(rounds)], stdout=subprocess.PIPE, text=True, check=True)
    results = json.loads(run.stdout)
    results["results"] = {r["name"]: r for r in results["results"]}
    return results


def compile_seconds(headers):
    """Processor time of a compilation: it does not count what other processes do meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.cpp")
        source.write_text("".join(f"#include <{h}>\n" for h in headers) + "int main() {}\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["c++", "-std=c++17", f"-I{ROOT}/include", "-c", source, "-o", os.devnull],
                       check=True, env=NO_CCACHE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_headers(quick):
    say("header cost ...")
    programs = {
        "lean": ["xgrad/xgrad.hpp"],
        "xarray": ["xtensor/xarray.hpp"],
        "xlinalg": ["xtensor/xarray.hpp", "xtensor-blas/xlinalg.hpp"],
    }
    rounds = [{name: compile_seconds(headers) for name, headers in programs.items()}
              for _ in range(1 if quick else 7)]
    seconds = {name: [r[name] for r in rounds] for name in programs}
    result = {name: statistics.median(times) for name, times in seconds.items()}
    for peer in ("xarray", "xlinalg"):
        ratios = [r["lean"] / r[peer] for r in rounds]
        result[f"{peer}_ratio"] = [min(ratios), statistics.median(ratios), max(ratios)]
    return result


def run_full_build():
    """Seconds to configure and build everything, tests included, from nothing."""
    say("full build ...")
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        subprocess.run(["meson", "setup", folder, ROOT], check=True, env=NO_CCACHE,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", folder, "--quiet"], check=True, env=NO_CCACHE)
        return time.monotonic() - start


def run_counts(build):
    """Whether the tests that count copies and allocations pass."""
    say("counts ...")
    return all(
        subprocess.run(["meson", "test", "-C", build, "--no-rebuild", test],
                       stdout=subprocess.DEVNULL).returncode == 0
        for test in ("allocations", "count_allocations", "count_instructions"))


def run_notebook(build):
    """Seconds that include and the first attention cell take in Cling, by notebook."""
    if not (CACHE / "cling/bin/python").exists():
        return None
    say("first notebook cell ...")
    run = subprocess.run(
        ["python3", "tests/notebooks/run_notebook.py", "--engine", "cling", "--include", "include",
         "--library", build / "src", "--compare-includes",
         *sorted(str(path) for path in ROOT.glob("notebooks/*.ipynb"))],
        capture_output=True, text=True, cwd=ROOT)
    found = re.findall(r"^(.*), cling: first attention ([\d.]+) s .* ([\d.]+) s, ratio", run.stdout,
                       re.M)
    return {name: {"first": float(first), "raw": float(raw)} for name, first, raw in found} or None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    args = parser.parse_args()
    build, quick = args.build.resolve(), args.quick
    rounds = 3 if quick else 21
    start = time.monotonic()
    results = {
        "quick": quick,
        "rounds": rounds,
        "machine": machine(),
        "nodes": run_benchmark(build, "nodes", quick, rounds),
        "attention": run_benchmark(build, "attention", quick, rounds),
        "elementwise": run_benchmark(build, "elementwise", quick, rounds),
        "products": run_benchmark(build, "products", quick, rounds),
        "pytorch": run_pytorch(build, rounds),
        "peak_memory": run_peak_memory(build),
        "headers": run_headers(quick),
        "counts": run_counts(build),
        "notebook": None if quick else run_notebook(build),
        "full_build": None if quick else run_full_build(),
    }
    results["machine"]["load_at_end"] = os.getloadavg()[0]
    results["seconds"] = time.monotonic() - start
    args.results.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
