#!/usr/bin/env python3
"""Prints the table of goal against measured from the results of measure.py.

usage: table.py [--markdown] RESULTS.json
"""

import argparse
import dataclasses
import json
import statistics

COMPOSED = {"1,2,3,4,2": 3, "2,16,16,64,4": 1.05, "4,128,128,256,8": 1.10,
            "8,128,128,512,8": 1.06, "2,512,512,512,8": 1.13, "1,2048,2048,512,8": 1.10}
FUSED = {"2,16,16,64,4": 0.95, "4,128,128,256,8": 1.0, "8,128,128,512,8": 1.02,
         "2,512,512,512,8": 1.02, "1,2048,2048,512,8": 0.92}

# Operation: operations that its rule takes, each of which may cost 100 ns.
NODES = {"add": 0, "mul": 2, "neg": 1, "exp": 1, "matmul": 2, "reshape": 1}

REDUCTIONS = {"sum", "mean", "max", "prod", "var", "sum rows", "sum columns", "max rows",
              "max columns", "cumsum", "logsumexp"}
ROW_WISE = {"softmax", "softmax columns", "log_softmax", "softmax backward", "layer_norm"}


@dataclasses.dataclass
class Row:
    group: str
    line: str
    goal: float  # at most
    measured: float = None  # the median
    low: float = None
    high: float = None
    unit: str = ""
    note: str = ""

    def met(self):
        return None if self.measured is None else self.measured <= self.goal


def from_counters(row, results, name, peer):
    """Fills in the ratio to one peer that a benchmark counted."""
    found = (results or {}).get(name, {})
    if f"{peer}_median" in found:
        row.low, row.measured, row.high = (found[f"{peer}_{x}"] for x in ("min", "median", "max"))
    return row


def attention_rows(results):
    threads = sorted({1, results["machine"]["cores"]})
    for form, goals in (("composed", COMPOSED), ("fused", FUSED)):
        for n in threads:
            for mask in ("none", "causal"):
                for size, goal in goals.items():
                    row = Row(f"{form} attention / gemm bound",
                              f"{size}, {n} thread{'s' * (n > 1)}, mask: {mask}", goal)
                    name = f"{form}/step/float/{mask}/threads:{n}/{size}"
                    yield from_counters(row, results["attention"], name, "bound")
    step = from_counters(Row("composed attention / libtorch", "1,2,3,4,2, 1 thread", 1 / 30),
                         results["attention"], "composed/step/float/none/threads:1/1,2,3,4,2",
                         "libtorch")
    yield step


def node_rows(results):
    nodes = results["nodes"] or {}
    for op, rule in NODES.items():
        for shape in ("scalar", "2x4"):
            if op == "matmul" and shape == "scalar":
                continue
            found = nodes.get(f"node/{op}/{shape}", {})
            row = Row("node: build + backward + free / libtorch's scalar add",
                      f"{op}, {'[2,4]' if shape == '2x4' else shape}", 1 / 50)
            if "libtorch_add_median" in found:
                nanoseconds = found["real_time"] / 1000
                libtorch = nanoseconds / found["libtorch_add_median"]
                row.goal += rule * 100 / libtorch
                from_counters(row, nodes, f"node/{op}/{shape}", "libtorch_add")
                row.note = f"{nanoseconds:.0f} ns; libtorch's add {libtorch:.0f} ns"
            yield row
    for n in (10000, 100000, 1000000):
        yield from_counters(Row("chain, per node / the same of 1000 nodes", f"{n} nodes", 1.3),
                            nodes, f"chain/{n}", "thousands")


def memory_rows(results):
    memory = results["peak_memory"]
    if "node" in memory:
        note = f"libtorch {memory['libtorch_node']:.0f}" if "libtorch_node" in memory else ""
        yield Row("memory", "a scalar node, beside its value", 160, memory["node"] - 4, unit="bytes",
                  note=note)
    for form, goal in (("composed", 295), ("fused", 40)):
        row = Row("memory", f"extra peak, {form}, 1,2048,2048,512,8", goal, unit="MiB")
        if form in memory:
            row.measured = memory[form] / 2**20
        if form == "composed" and "libtorch" in memory:
            row.note = f"libtorch {memory['libtorch'] / 2**20:.0f}"
        yield row
    yield Row("memory", "counts that the tests find wrong", 0, 0 if results["counts"] else 1,
              note="copies, allocations, instructions")


def elementwise_rows(results):
    families = [("elementwise", lambda op: op not in REDUCTIONS | ROW_WISE),
                ("reductions", REDUCTIONS.__contains__),
                ("softmax and layer_norm", ROW_WISE.__contains__)]
    for family, belongs in families:
        for n in (10000, 100000, 1000000, 10000000):
            row = Row(f"{family} / the faster of xtensor and libtorch", f"{n} elements, the worst",
                      1.0)
            ratios = {}
            for name, found in (results["elementwise"] or {}).items():
                op, dtype, size = name.rsplit("/", 2)
                peers = [found[f"{peer}_median"] for peer in ("xtensor", "libtorch")
                         if f"{peer}_median" in found]
                if int(size) == n and belongs(op) and peers:
                    ratios[f"{op} {dtype}"] = max(peers)
            if ratios:
                worst = max(ratios, key=ratios.get)
                row.measured, row.low, row.high = ratios[worst], min(ratios.values()), ratios[worst]
                met = sum(ratio <= 1 for ratio in ratios.values())
                row.note = (f"{worst}; median {statistics.median(ratios.values()):.2f}; "
                            f"{met} of {len(ratios)} at most 1")
            yield row


def building_rows(results):
    headers = results["headers"]
    low, median, high = headers["xarray_ratio"]
    yield Row("building", "a program with the lean header / with xtensor/xarray.hpp", 0.5, median,
              low, high, note=f"{headers['lean']:.2f} s, xarray {headers['xarray']:.2f} s, "
              f"with xlinalg {headers['xlinalg']:.2f} s")
    yield Row("building", "everything with all tests, from nothing", 240, results["full_build"],
              unit="s")
    notebook = results["notebook"] or {}
    row = Row("notebook", "include and first attention cell, in Cling", 1.0, unit="s")
    if notebook:
        name = max(notebook, key=lambda n: notebook[n]["first"])
        row.measured = notebook[name]["first"]
        row.note = f"{name}; raw xtensor and xtensor-blas {notebook[name]['raw']:.1f} s"
    yield row


def rows(results):
    return [*attention_rows(results), *node_rows(results), *memory_rows(results),
            *elementwise_rows(results), *building_rows(results)]


def number(value, unit):
    if value is None:
        return "–"
    return (f"{value:.0f} {unit}" if unit and value >= 10 else f"{value:.3g} {unit}").strip()


def cells(row):
    spread = "" if row.low is None else f"{row.low:.3g} … {row.high:.3g}"
    verdict = {True: "met", False: "MISSED", None: "not measured"}[row.met()]
    return [row.line, number(row.goal, row.unit), number(row.measured, row.unit), spread, verdict,
            row.note]


def description(results):
    m = results["machine"]
    text = (f"{m['cpu']}, {m['cores']} cores; {m['openblas']}; {m['compiler']}; "
            f"load {m['load']:.1f} at the start, {m['load_at_end']:.1f} at the end")
    if results["pytorch"]:
        text += f"; PyTorch {results['pytorch']['version']}"
    return f"{text}; {results['rounds']} rounds{', --quick' if results['quick'] else ''}"


def peer_lines(results):
    """libtorch's and PyTorch's steps against the gemm bound, for reference."""
    threads = sorted({1, results["machine"]["cores"]})
    for size in COMPOSED:
        found = []
        for n in threads:
            ours = (results["attention"] or {}).get(f"composed/step/float/none/threads:{n}/{size}")
            found.append(ours["bound_median"] / ours["libtorch_median"]
                         if ours and "libtorch_median" in ours else None)
        for form in ("composed", "fused"):
            peers = (results["pytorch"] or {}).get("results", {})
            found += [peers.get(f"{form}/threads:{n}/{size}", {}).get("bound_median")
                      for n in threads]
        yield [size] + [number(x, "") for x in found]


def print_markdown(results):
    print(f"{description(results)}.\n")
    group = None
    for row in rows(results):
        if row.group != group:
            group = row.group
            print(f"\n**{group}**\n\n| | goal | measured | least … largest | | |")
            print("|---|---|---|---|---|---|")
        print("| " + " | ".join(cells(row)) + " |")
    threads = sorted({1, results["machine"]["cores"]})
    columns = [f"{who}, {n} thread{'s' * (n > 1)}"
               for who in ("libtorch composed", "PyTorch composed", "PyTorch fused")
               for n in threads]
    print("\n**The peers' attention / gemm bound**\n")
    print("| B,Q,K,D,H | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for line in peer_lines(results):
        print("| " + " | ".join(line) + " |")


def print_text(results):
    group = None
    for row in rows(results):
        if row.group != group:
            group = row.group
            print(f"\n{group}")
        line, goal, measured, spread, verdict, note = cells(row)
        print(f"  {line:<58} {goal:>9} {measured:>10}  {spread:<16} {verdict:<12} {note}")
    verdicts = [row.met() for row in rows(results)]
    print(f"\n{description(results)}")
    print(f"goals: {verdicts.count(True)} met, {verdicts.count(False)} missed, "
          f"{verdicts.count(None)} not measured; {results['seconds']:.0f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("results", type=argparse.FileType())
    args = parser.parse_args()
    results = json.load(args.results)
    if args.markdown:
        print_markdown(results)
    else:
        print_text(results)


if __name__ == "__main__":
    main()
