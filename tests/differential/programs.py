"""A program: leaves, statements that compute variables from variables, and outputs with cotangents.

As JSON, for evaluate.cpp:

    {"leaves": {"a": {"shape": [2], "data": [1, 2], "requires_grad": true}},
     "statements": [{"op": "sum", "inputs": ["a"], "args": {"axes": [], "keep_dims": false},
                     "results": ["b"]}],
     "outputs": {"b": {"shape": [], "data": [1]}}}

A statement may also have "mask" and "indices", which are tensors. The answer is

    {"values": {"a": tensor, "b": tensor}, "grads": {"a": tensor}, "strides": [], "repeated": []}

The last two name the variables that are not contiguous, and those that lie in memory as a broadcast
does. A gradient is null if no output depends on its leaf. Or the answer is {"error": "..."}.
"""

import json
from dataclasses import dataclass, field

import torch
from operations import OPERATIONS, Call


@dataclass
class Statement:
    op: str
    call: Call
    results: list


@dataclass
class Program:
    leaves: dict = field(default_factory=dict)  # name: tensor
    constants: set = field(default_factory=set)  # leaves that require no gradient
    statements: list = field(default_factory=list)
    outputs: dict = field(default_factory=dict)  # name: cotangent

    def uses(self):
        """How many operands, and outputs, each variable is."""
        names = [x for s in self.statements for x in s.call.inputs] + list(self.outputs)
        return {name: names.count(name) for name in names}

    def variable(self):
        """The names that require grad."""
        names = set(self.leaves) - self.constants
        for s in self.statements:
            if names.intersection(s.call.inputs):
                names.update(s.results)
        return names

    def pruned(self):
        """Without what no output needs."""
        needed, statements = set(self.outputs), []
        for statement in reversed(self.statements):
            if needed.intersection(statement.results):
                needed.update(statement.call.inputs)
                statements.insert(0, statement)
        leaves = {name: x for name, x in self.leaves.items() if name in needed}
        return Program(leaves, self.constants & set(leaves), statements, self.outputs)

    def size(self):
        return len(self.statements), len(self.outputs), len(self.leaves) - len(self.constants)

    def to_json(self):
        def statement(s):
            out = {"op": s.op, "inputs": s.call.inputs, "args": s.call.args, "results": s.results}
            tensors = {"mask": s.call.mask, "indices": s.call.indices}
            return out | {key: tensor_json(x) for key, x in tensors.items() if x is not None}

        return json.dumps(
            {
                "leaves": {
                    name: tensor_json(x) | {"requires_grad": name not in self.constants}
                    for name, x in self.leaves.items()
                },
                "statements": [statement(s) for s in self.statements],
                "outputs": {name: tensor_json(seed) for name, seed in self.outputs.items()},
            }
        )


def tensor_json(x):
    return {"shape": list(x.shape), "data": x.flatten().tolist()}


def tensor_from_json(x):
    # A number that is not finite has no JSON: null.
    data = [float("nan") if v is None else v for v in x["data"]]
    return torch.tensor(data, dtype=torch.float64).reshape(x["shape"])


class Scaled(torch.autograd.Function):
    """The identity, with a gradient that is one per cent too large."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * 1.01


WRONGS = {"value": lambda x: x * 1.01, "gradient": Scaled.apply}


def call_torch(op, call, variables, wrong=None):
    """wrong: (op, "value" or "gradient"), which is then off by one per cent."""
    tensors = {"mask": call.mask, "indices": call.indices}
    extra = {key: x for key, x in tensors.items() if x is not None}
    results = OPERATIONS[op].apply(*(variables[x] for x in call.inputs), **call.args, **extra)
    results = list(results) if isinstance(results, tuple | list) else [results]
    if wrong and wrong[0] == op:
        results = [WRONGS[wrong[1]](x) for x in results]
    return results


@dataclass
class Answer:
    values: dict
    grads: dict
    strides: set = field(default_factory=set)
    repeated: set = field(default_factory=set)


def evaluate_by_torch(program, wrong=None):
    variables = {
        name: x.clone().requires_grad_(name not in program.constants)
        for name, x in program.leaves.items()
    }
    for s in program.statements:
        variables.update(zip(s.results, call_torch(s.op, s.call, variables, wrong)))
    grads = {name: None for name in program.leaves if name not in program.constants}
    outputs = {x: seed for x, seed in program.outputs.items() if variables[x].requires_grad}
    if outputs and grads:
        inputs = [variables[x] for x in grads]
        found = torch.autograd.grad(
            [variables[x] for x in outputs], inputs, list(outputs.values()), allow_unused=True
        )
        grads = dict(zip(grads, found))
    return Answer({name: x.detach() for name, x in variables.items()}, grads)


# Comparing


TOLERANCE = 1e-10


def difference(what, got, want):
    """None if they agree. A gradient that nothing flows to may be missing or zero."""
    if got is None and want is None:
        return None
    if got is None or want is None:
        present = want if got is None else got
        if not present.any():
            return None
        return f"{what}: got {'none' if got is None else 'one'}, expected the other"
    if got.shape != want.shape:
        return f"{what}: got shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    if not want.numel():
        return None
    allowed = TOLERANCE * max(1, want.abs().max().item())
    wrong = ~((got - want).abs() <= allowed)
    if not wrong.any():
        return None
    index = tuple(wrong.nonzero()[0].tolist())
    return f"{what} at {index}: got {got[index].item()!r}, expected {want[index].item()!r}"


def differences(got, want):
    for name, value in want.values.items():
        if found := difference(f"value of {name}", got.values.get(name), value):
            yield found
    for name, value in want.grads.items():
        if found := difference(f"gradient of {name}", got.grads.get(name), value):
            yield found


# Shrinking


def shrink(program, disagrees):
    """The smallest program that this finds on which the two still disagree."""
    values = evaluate_by_torch(program).values

    def smaller(p):
        for name in (x for s in p.statements for x in s.results):
            yield Program(p.leaves, p.constants, p.statements, {name: seed_of(values[name])})
        for i, s in enumerate(p.statements):
            cut = {name: values[name] for name in s.results}
            yield Program(
                p.leaves | cut, p.constants, p.statements[:i] + p.statements[i + 1 :], p.outputs
            )
        for name in p.leaves.keys() - p.constants:
            yield Program(p.leaves, p.constants | {name}, p.statements, p.outputs)

    candidates = smaller(program)
    while (candidate := next(candidates, None)) is not None:
        candidate = candidate.pruned()
        if candidate.size() < program.size() and candidate.outputs and disagrees(candidate):
            program = candidate
            candidates = smaller(program)
    return program


def seed_of(x):
    """Ones would hide the gradient of a softmax, whose sum is constant."""
    return (torch.arange(x.numel(), dtype=torch.float64) % 5 + 1).reshape(x.shape)


# C++


def braces(items):
    return "{" + ", ".join(map(str, items)) + "}"


def cpp_nested(x):
    if x.dim() == 0:
        return repr(x.item())
    return braces(cpp_nested(part) for part in x)


def cpp_variable(x, requires_grad=False):
    suffix = ", true" if requires_grad else ""
    if not x.numel():
        plain = f"xg::zeros<double>({braces(x.shape)})"
        return plain + ".set_requires_grad()" if requires_grad else plain
    return f"xg::Variable<double>({cpp_nested(x)}{suffix})"


def cpp_argument(x):
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, list):
        return braces(x)
    return "xg::end" if x is None else repr(x)


def cpp_tensor(kind, x):
    values = (str(v).lower() for v in x.flatten().tolist())
    return f"xg::{kind}(xg::Dims{braces(x.shape)}, {braces(values)})"


def cpp_call(s):
    """As C++ text."""
    call = s.call
    args = {key: cpp_argument(x) for key, x in call.args.items()}
    if s.op in ("reshape", "broadcast_to"):
        args["dims"] = "xg::Dims" + args["dims"]
    if "axes" in args:
        args["axes"] = "xg::Axes" + args["axes"]
    extra = {}
    if call.mask is not None:
        extra["mask"] = cpp_tensor("Mask", call.mask)
    if call.indices is not None:
        shape, values = braces(call.indices.shape), braces(call.indices.flatten().tolist())
        extra["indices"] = f"xg::Indices(xg::Dims{shape}, std::vector<int>{values})"
    form = OPERATIONS[s.op].cpp
    if form is None:
        return f"xg::{s.op}({', '.join([*call.inputs, *args.values(), *extra.values()])})"
    if "scalar" in args:
        sides = [args["scalar"], call.inputs[0]]
        left, right = sides if call.args["side"] == "left" else sides[::-1]
        extra |= {"left": left, "right": right}
    if "equation" in args:
        args["equation"] = call.args["equation"]
    return form.format(*call.inputs, inputs=", ".join(call.inputs), **args, **extra)


def cpp(program):
    lines = ["#include <iostream>", "#include <xgrad/xgrad.hpp>", "", "int main() {"]
    for name, x in program.leaves.items():
        lines.append(f"  auto {name} = {cpp_variable(x, name not in program.constants)};")
    for s in program.statements:
        if s.op == "split":
            lines.append(f"  auto parts_{s.results[0]} = {cpp_call(s)};")
            for i, name in enumerate(s.results):
                lines.append(f"  auto {name} = parts_{s.results[0]}.at({i});")
        else:
            names = s.results[0] if len(s.results) == 1 else f"[{', '.join(s.results)}]"
            lines.append(f"  auto {names} = {cpp_call(s)};")
    for name, seed in program.outputs.items():
        lines.append(f'  std::cout << "{name} = " << {name} << "\\n";')
        if name in program.variable():
            lines.append(f"  {name}.backward({cpp_variable(seed)}, xg::retain_graph);")
    for name in program.leaves:
        if name not in program.constants:
            lines.append(f'  std::cout << "gradient of {name} = " << {name}.grad() << "\\n";')
    return "\n".join([*lines, "}"])
