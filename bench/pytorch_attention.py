#!/usr/bin/env python3
"""PyTorch's attention step against the gemm bound, in one process, in turn; prints JSON.

usage: pytorch_attention.py LIBRARY ROUNDS

LIBRARY is the build's bench/libgemm_bound.so. Composed is matmul, softmax, matmul; fused is
scaled_dot_product_attention, from PyTorch 2.0 on. One thread is measured in the process's processor
time, several in wall time, as timing.hpp does.
"""

import ctypes
import json
import os
import statistics
import sys
import time

import torch
from torch.nn import functional

SIZES = [(1, 2, 3, 4, 2), (2, 16, 16, 64, 4), (4, 128, 128, 256, 8), (8, 128, 128, 512, 8),
         (2, 512, 512, 512, 8), (1, 2048, 2048, 512, 8)]


class Step:
    """Forward + backward with all seven gradients, in float."""

    def __init__(self, size, fused):
        b, q, k, d, self.heads = size
        shapes = [(b, q, d), (b, k, d), (b, k, d)] + [(d, d)] * 4
        self.leaves = [(torch.rand(shape) - 0.5).requires_grad_() for shape in shapes]
        self.seed = torch.rand(b, q, d) * 2 - 1
        self.fused = fused

    def __call__(self):
        query, key, value, w_q, w_k, w_v, w_o = self.leaves
        for leaf in self.leaves:
            leaf.grad = None

        def project(x, w):
            return (x @ w).view(*x.shape[:2], self.heads, -1).transpose(1, 2)

        q, k, v = project(query, w_q), project(key, w_k), project(value, w_v)
        if self.fused:
            context = functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = (q / q.shape[-1]**0.5) @ k.transpose(-2, -1)
            context = scores.softmax(-1) @ v
        merged = context.transpose(1, 2).reshape(query.shape)
        (merged @ w_o).backward(self.seed)


def ratios(first, second, clock, rounds):
    def seconds(run, calls):
        start = clock()
        for _ in range(calls):
            run()
        return (clock() - start) / calls

    first()
    second()
    calls = [max(1, min(100000, int(0.01 / seconds(run, 1)))) for run in (first, second)]
    return [seconds(first, calls[0]) / seconds(second, calls[1]) for _ in range(rounds)]


def main(library, rounds):
    # Deep binding: its BLAS is the one it was linked to, not one that PyTorch brings.
    bound = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_DEEPBIND)
    bound.gemm_bound_make.restype = ctypes.c_void_p
    results = []
    for threads in sorted({1, len(os.sched_getaffinity(0))}):
        torch.set_num_threads(threads)
        clock = time.process_time if threads == 1 else time.perf_counter
        for size in SIZES:
            handle = ctypes.c_void_p(bound.gemm_bound_make(threads, *size))
            for form in ("composed", "fused"):
                if form == "fused" and not hasattr(functional, "scaled_dot_product_attention"):
                    continue
                step = Step(size, form == "fused")
                measured = ratios(step, lambda: bound.gemm_bound_run(handle), clock, rounds)
                results.append({
                    "name": f"{form}/threads:{threads}/" + ",".join(map(str, size)),
                    "bound_min": min(measured),
                    "bound_median": statistics.median(measured),
                    "bound_max": max(measured),
                })
                print(results[-1]["name"], f"{results[-1]['bound_median']:.2f}", file=sys.stderr)
            bound.gemm_bound_free(handle)
    json.dump({"version": torch.__version__, "results": results}, sys.stdout, indent=1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
