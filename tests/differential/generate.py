"""Random programs, steered towards what has been met least."""

import math
import random
from collections import Counter

import torch
from operations import CLASSES, OPERATIONS, Call, any_number
from programs import Program, Statement, call_torch, evaluate_by_torch

MOST_ELEMENTS = 64
LARGEST_VALUE = 100
LARGEST_GRADIENT = 1e6


class Refused(Exception):
    """The draw does not make sense; draw again."""


class Builder:
    """Adds statements to a program. `wanted` is the class that the next call is to meet."""

    def __init__(self, rng):
        self.rng = rng
        self.program = Program()
        self.values = {}
        self.exact = set()  # computed without rounding, so that equal elements are equal for both
        self.wanted = None
        self.pending = None  # wanted, until an operand has it

    # Shapes

    def extents(self, count):
        out = [self.rng.randint(1, 3) for _ in range(count)]
        if self.wanted == "zero size":
            out[self.rng.randrange(count)] = 0
        return out

    def shape(self, least=0, most=4, size=MOST_ELEMENTS, zero=True, zero_axes=None):
        """zero_axes: how many of the first axes may have no element; -1 is all but the last."""
        zero = zero and self.wanted == "zero size"
        if zero or self.wanted in ("strides", "broadcast"):
            least = max(least, min(most, 2 if zero_axes else 1))
        while True:
            rank = self.rng.randint(least, most)
            shape = [self.rng.choice([1, 2, 2, 3, 3, 4]) for _ in range(rank)]
            if math.prod(shape) <= size and (self.wanted != "strides" or max(shape, default=0) > 1):
                break
        if zero:
            shape[self.rng.randrange(len(shape[:zero_axes]))] = 0
        return shape

    def narrower(self, shape):
        """One that broadcasts to this shape."""
        out = [1 if self.rng.random() < 0.4 else n for n in shape]
        return out[self.rng.choice([0, 0, self.rng.randint(0, len(out))]) :]

    def axis(self, x):
        return self.rng.randrange(-self.values[x].dim(), self.values[x].dim())

    def axes(self, x):
        rank = self.values[x].dim()
        picked = self.rng.sample(range(rank), self.rng.randint(0, rank))
        return [axis - self.rng.choice([0, rank]) for axis in picked]

    # Arguments

    def mask(self, shape):
        shape = self.narrower(list(shape)) if self.rng.random() < 0.7 else list(shape)
        visible = [self.rng.random() < 0.6 for _ in range(math.prod(shape))]
        return torch.tensor(visible, dtype=torch.bool).reshape(shape)

    def maybe_mask(self, shape):
        if self.wanted == "mask" or self.rng.random() < 0.5:
            return self.mask(shape)
        return None

    def indices(self, shape, low, high):
        if low > high:
            return None
        values = [self.rng.randint(low, high) for _ in range(math.prod(shape))]
        return torch.tensor(values, dtype=torch.long).reshape(shape)

    # Operands

    def leaf(self, shape, draw):
        name = f"x{len(self.program.leaves)}"
        self.program.leaves[name] = self.values[name] = draw(self.rng, shape)
        self.exact.add(name)
        if self.rng.random() < 0.15:
            self.program.constants.add(name)
        return name

    def plain(self, shape, draw, accept=lambda x: True):
        """An earlier variable of this shape, or a new leaf."""
        found = [x for x, v in self.values.items() if list(v.shape) == list(shape) and accept(v)]
        if found and self.rng.random() < 0.6:
            return self.rng.choice(found)
        return self.leaf(shape, draw)

    def operand(self, shape=None, draw=any_number, accept=lambda x: True, least=0, most=4):
        if shape is None:
            found = [
                list(v.shape)
                for v in self.values.values()
                if least <= v.dim() <= most and v.numel() and accept(v)
            ]
            reuse = found and not self.wanted == "zero size" and self.rng.random() < 0.6
            shape = self.rng.choice(found) if reuse else self.shape(least, most)
        make = {
            "strides": self.strided,
            "broadcast": self.repeated,
            "mask": self.masked,
        }.get(self.pending)
        made = make(list(shape), draw) if make and self.rng.random() < 0.7 else None
        if made is None:
            return self.plain(shape, draw, accept)
        self.pending = None
        return made

    def strided(self, shape, draw):
        """A view that lies in memory in another way than its shape."""
        long = [i for i, n in enumerate(shape) if n > 1]
        if not long:
            return None
        axis = self.rng.choice(long)
        if len(long) > 1 and self.rng.random() < 0.5:
            axes = list(range(len(shape)))
            i, j = self.rng.sample(long, 2)
            axes[i], axes[j] = axes[j], axes[i]
            base = self.plain([shape[i] for i in axes], draw)
            return self.emit("transpose", Call([base], {"axes": axes}))[0]
        if self.rng.random() < 0.4:
            return self.emit("flip", Call([self.plain(shape, draw)], {"axes": [axis]}))[0]
        step, start = self.rng.choice([-2, 2, 3]), self.rng.randint(0, 1)
        base = list(shape)
        base[axis] = abs(step) * (shape[axis] - 1) + 1 + start
        args = {"axis": axis, "start": start if step > 0 else base[axis] - 1, "stop": None}
        if step < 0 and start:
            args["stop"] = 0
        return self.emit("slice", Call([self.plain(base, draw)], {**args, "step": step}))[0]

    def repeated(self, shape, draw):
        """A broadcast view."""
        long = [i for i, n in enumerate(shape) if n > 1]
        if not long:
            return None
        base = list(shape)
        base[self.rng.choice(long)] = 1
        return self.emit("broadcast_to", Call([self.plain(base, draw)], {"dims": shape}))[0]

    def masked(self, shape, draw):
        """A result that depends on a mask."""
        inputs = [self.plain(shape, draw), self.plain(shape, draw)]
        return self.emit("where", Call(inputs, mask=self.mask(shape)))[0]

    # Statements

    def emit(self, op, call):
        operation = OPERATIONS[op]
        operands = [self.values[x] for x in call.inputs]
        if not operation.fits(*operands, **call.args):
            raise Refused
        rounded = not all(x in self.exact for x in call.inputs)
        if rounded and not operation.fits(*nudged(operands), **call.args):
            raise Refused
        try:
            results = call_torch(op, call, self.values)
        except (RuntimeError, IndexError) as error:
            raise RuntimeError(f"PyTorch refuses {op} {call}: {error}") from error
        for x in results:
            if x.numel() > 4 * MOST_ELEMENTS or not bool((x.abs() < LARGEST_VALUE).all()):
                raise Refused
        names = [f"v{len(self.values) + i}" for i in range(len(results))]
        self.values.update(zip(names, results))
        if operation.selects and not rounded:
            self.exact.update(names)
        self.program.statements.append(Statement(op, call, names))
        return names

    def add(self, op, wanted):
        """A call of op whose operands meet a class, if that comes about."""
        before = self.save()
        try:
            self.wanted = self.pending = wanted
            call = OPERATIONS[op].make(self)
            self.wanted = self.pending = None
            if call is None:
                raise Refused
            self.emit(op, call)
            if wanted == "shared":
                shared = self.rng.choice(call.inputs)
                self.emit(self.rng.choice(["neg", "sin", "tanh", "clone"]), Call([shared]))
        except Refused:
            self.restore(before)

    def save(self):
        p = self.program
        copy = Program(dict(p.leaves), set(p.constants), list(p.statements))
        return copy, dict(self.values), set(self.exact)

    def restore(self, saved):
        self.program, self.values, self.exact = saved
        self.wanted = self.pending = None

    def finish(self):
        """Outputs: what nothing else uses, and sometimes an intermediate result too."""
        uses = self.program.uses()
        for s in self.program.statements:
            for name in s.results:
                if name not in uses or self.rng.random() < 0.1:
                    seed = any_number(self.rng, self.values[name].shape)
                    self.program.outputs[name] = seed
        return self.program.pruned()


def nudged(tensors):
    """Equal elements moved apart: none of them may decide anything, once rounding is in play."""
    count = 0
    for x in tensors:
        moved = torch.arange(count + 1, count + 1 + x.numel(), dtype=x.dtype)
        count += x.numel()
        yield x + 1e-9 * moved.reshape(x.shape)


def met(program, answer):
    """The pairs (operation, class) in a program."""
    uses = program.uses()
    masked, pairs = set(), Counter()
    for s in program.statements:
        inputs = set(s.call.inputs)
        shapes = {tuple(answer.values[x].shape) for x in inputs}
        takes_mask = s.call.mask is not None or s.op in ("less", "less_equal", "equal", "not_equal")
        if takes_mask or inputs & masked:
            masked.update(s.results)
        classes = {
            "strides": inputs & answer.strides,
            "broadcast": inputs & answer.repeated
            or (OPERATIONS[s.op].broadcasts and len(shapes) > 1),
            "zero size": any(0 in shape for shape in shapes),
            "mask": takes_mask or inputs & masked,
            "shared": any(uses[x] > 1 for x in inputs),
        }
        pairs.update((s.op, name) for name, holds in classes.items() if holds)
    return pairs


def generate(rng, counts, steps=5):
    """A program with `steps` calls of what `counts` has least of, and what they need."""
    while True:
        builder = Builder(rng)
        pairs = [(op, c) for op in OPERATIONS for c in CLASSES if c not in OPERATIONS[op].exempt]
        rng.shuffle(pairs)
        pairs.sort(key=lambda pair: counts[pair])
        for op, wanted in rng.sample(pairs[: 4 * steps], steps):
            builder.add(op, wanted)
        if not builder.program.statements:
            continue
        program = builder.finish()
        grads = [g for g in evaluate_by_torch(program).grads.values() if g is not None]
        if all(bool((g.abs() < LARGEST_GRADIENT).all()) for g in grads):
            return program
