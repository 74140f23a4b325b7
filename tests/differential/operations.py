"""xgrad's operations: what PyTorch computes for each, and how to make a random call of it.

An operation's `make` asks the builder (generate.py) for operands and returns a Call, or None if
what it drew does not make sense. `fits` says whether operands lie in the operation's domain, away
from its poles and kinks. `exempt` names classes of input that make no sense, with the reason.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

CLASSES = ["strides", "broadcast", "zero size", "mask", "shared"]


@dataclass
class Call:
    inputs: list  # names of variables
    args: dict = field(default_factory=dict)  # in the order of the C++ parameters
    mask: torch.Tensor = None
    indices: torch.Tensor = None


@dataclass
class Operation:
    apply: Callable  # (*tensors, **args, mask, indices) -> tensor or tuple of tensors
    make: Callable
    fits: Callable = lambda *tensors, **args: True
    broadcasts: bool = False  # operands of different shapes meet
    selects: bool = False  # each element of the result equals one of the operands'
    cpp: str = None  # how a call reads in C++, if not "xg::op(inputs..., args...)"
    exempt: dict = field(default_factory=dict)


# Numbers. All are short in binary, so that JSON, PyTorch and xgrad start from the same ones.


def steps(rng, shape, low, high, parts=1024):
    count = math.prod(shape)
    data = [rng.randint(round(low * parts), round(high * parts)) / parts for _ in range(count)]
    return torch.tensor(data, dtype=torch.float64).reshape(shape)


def any_number(rng, shape):
    return steps(rng, shape, -2, 2)


def positive(rng, shape):
    return steps(rng, shape, 0.5, 2.5)


def few(rng, shape):
    """Halves: many of them are equal, or zero."""
    return steps(rng, shape, -1, 1, 2)


def nonzero(rng, shape):
    signs = torch.tensor([rng.choice([-1.0, 1.0]) for _ in range(math.prod(shape))])
    return signs.double().reshape(shape) * positive(rng, shape)


# Domains


def above(low):
    return lambda x, **_: bool((x > low).all())


def below(high):
    return lambda x, **_: bool((x < high).all())


def apart(x, y):
    """No two numbers so near that rounding decides which is larger. Equal ones are welcome."""
    distance = (x - y).abs()
    return bool(((distance == 0) | (distance > 1e-4)).all())


def apart_from(*points):
    return lambda x, **_: all(apart(x, p) for p in points)


def all_apart(x, **_):
    ordered = x.flatten().sort().values
    return apart(ordered[1:], ordered[:-1])


# How to make a call


def unary(draw=any_number, fits=lambda x: True):
    return lambda b: Call([b.operand(draw=draw, accept=fits)])


def binary(left=any_number, right=any_number, accept=lambda x: True):
    """Operands that broadcast against each other."""

    def make(b):
        shape = b.shape()
        first, second = b.rng.choice([(shape, shape), (shape, b.narrower(shape))])
        if b.wanted == "broadcast":
            second = b.narrower(shape)
        x = b.operand(first, draw=left)
        y = b.operand(second, draw=right, accept=accept)
        return Call([x, y])

    return make


def scalar(draw_left=any_number, left=True):
    def make(b):
        side = b.rng.choice(["left", "right"]) if left else "right"
        x = b.operand(draw=draw_left if side == "left" else any_number)
        number = b.rng.choice([-2, -1.25, 0.75, 1.5, 3])
        return Call([x], {"scalar": number, "side": side})

    return make


def pow_scalar(b):
    side = b.rng.choice(["left", "right"])
    if side == "left":
        return Call([b.operand()], {"scalar": b.rng.choice([0.5, 1, 2.5]), "side": side})
    number = b.rng.choice([-1.5, -1, 0, 0.5, 1, 2, 3])
    draw = positive if number % 1 else nonzero
    accept = above(0.2) if number % 1 else lambda x: bool((x.abs() > 0.2).all())
    return Call([b.operand(draw=draw, accept=accept)], {"scalar": number, "side": side})


def clip(b):
    return Call([b.operand(draw=b.rng.choice([few, any_number]))], {"low": -0.5, "high": 1})


def where(b):
    call = binary()(b)
    shapes = [b.values[x].shape for x in call.inputs]
    call.mask = b.mask(torch.broadcast_shapes(*shapes))
    return call


def comparison(b):
    shape = b.shape()
    compared = [b.operand(s, draw=few) for s in (shape, b.narrower(shape))]
    taken = [b.operand(shape), b.operand(b.narrower(shape))]
    return Call(compared + taken)


def matmul(b):
    m, k, n = b.extents(3)
    batch = b.shape(most=2, size=4, zero=False)
    narrower = b.narrower(batch) if b.rng.random() < 0.5 or b.wanted == "broadcast" else batch
    left, right = b.rng.choice(
        [([k], [k]), ([k], [k, n]), ([m, k], [k]), ([m, k], [k, n]), (batch + [m, k], [k, n]),
         (batch + [m, k], narrower + [k, n]), (narrower + [m, k], batch + [k, n])]
    )
    return Call([b.operand(left), b.operand(right)])


def einsum(b):
    letters = "ijkl"[: b.rng.randint(1, 4)]
    extent = dict(zip(letters, b.extents(len(letters))))
    dots = b.shape(most=2, size=4, zero=False) if b.rng.random() < 0.3 else None
    words, inputs = [], []
    for _ in range(b.rng.randint(1, 3)):
        word = "".join(b.rng.choice(letters) for _ in range(b.rng.randint(0, 3)))
        has_dots = dots is not None and b.rng.random() < 0.7
        shape = (b.narrower(dots) if has_dots else []) + [extent[c] for c in word]
        words.append(("..." if has_dots else "") + word)
        inputs.append(b.operand(shape))
    used = sorted(set("".join(words)) - {"."})
    has_dots = any("." in word for word in words)
    equation = ",".join(words)
    if b.rng.random() < 0.8:
        kept = b.rng.sample(used, b.rng.randint(0, len(used)))
        equation += "->" + ("..." if has_dots else "") + "".join(kept)
    return Call(inputs, {"equation": equation})


def reshape(b):
    x = b.operand()
    size = b.values[x].numel()
    dims, rest = [], size
    for _ in range(b.rng.randint(0, 3)):
        divisors = [d for d in range(1, rest + 1) if rest % d == 0] or [0, 1, 2]
        dims.append(b.rng.choice(divisors))
        rest = rest // dims[-1] if dims[-1] else 0
    if rest != 1 or not dims:
        dims.append(rest)
    if size and b.rng.random() < 0.5:
        dims[b.rng.randrange(len(dims))] = -1
    return Call([x], {"dims": dims})


def transpose(b):
    x = b.operand()
    axes = list(range(b.values[x].dim()))
    b.rng.shuffle(axes)
    return Call([x], {"axes": b.rng.choice([axes, []])})


def swapaxes(b):
    x = b.operand(least=1)
    return Call([x], {"i": b.axis(x), "j": b.axis(x)})


def squeeze(b):
    shape = b.shape(most=3)
    axis = b.rng.randint(0, len(shape))
    x = b.operand(shape[:axis] + [1] + shape[axis:])
    return Call([x], {"axes": b.rng.choice([[axis], []])})


def unsqueeze(b):
    x = b.operand(most=3)
    return Call([x], {"axis": b.rng.randint(-b.values[x].dim() - 1, b.values[x].dim())})


def broadcast_to(b):
    shape = b.shape()
    return Call([b.operand(b.narrower(shape))], {"dims": shape})


def flip(b):
    x = b.operand()
    axes = b.axes(x)
    return Call([x], {"axes": axes})


def concat(b):
    shape = b.shape(least=1)
    axis = b.rng.randrange(len(shape))
    parts = []
    for _ in range(b.rng.randint(1, 3)):
        parts.append(b.operand(shape))
        shape = list(shape)
        shape[axis] = b.rng.randint(1, 3)
    return Call(parts, {"axis": axis})


def stack(b):
    shape = b.shape(most=3)
    parts = [b.operand(shape) for _ in range(b.rng.randint(1, 3))]
    return Call(parts, {"axis": b.rng.randint(-len(shape) - 1, len(shape))})


def split(b):
    x = b.operand(least=1)
    axis = b.axis(x)
    extent = b.values[x].shape[axis]
    parts = b.rng.choice([n for n in range(1, 5) if extent % n == 0])
    cuts = sorted(b.rng.randint(0, extent) for _ in range(b.rng.randint(1, 2)))
    return Call([x], {"sections": b.rng.choice([parts, cuts]), "axis": axis})


def slice_(b):
    x = b.operand(least=1)
    axis = b.axis(x)
    extent = b.values[x].shape[axis]
    step = b.rng.choice([-2, -1, 1, 2, 3])
    start, stop = b.rng.randint(-extent - 1, extent + 1), b.rng.randint(-extent - 1, extent + 1)
    if b.rng.random() < 0.7:  # mostly not empty
        start, stop = (b.rng.randint(0, 1) if step > 0 else -1), None
    return Call([x], {"axis": axis, "start": start, "stop": stop, "step": step})


def take(b):
    shape = b.shape(least=1, zero_axes=1)
    x = b.operand(shape)
    axis = b.rng.choice([i for i, n in enumerate(shape) if n] or [0])
    indices = b.indices(b.shape(most=2, size=6, zero=False), -shape[axis], shape[axis] - 1)
    if indices is None:
        return None
    return Call([x], {"axis": axis}, indices=indices)


def embedding(b):
    rows, width = b.rng.randint(1, 4), 0 if b.wanted == "zero size" else b.rng.randint(1, 3)
    x = b.operand([rows, width])
    return Call([x], indices=b.indices(b.shape(most=2, size=6, zero=False), -rows, rows - 1))


def reduction(draw=any_number, of_nothing=False, **more):
    """of_nothing: an axis without elements may be reduced."""

    def make(b):
        zero = b.wanted == "zero size"
        x = b.operand(draw=draw, least=2 if zero else 0)
        axes = b.axes(x)
        if zero and not of_nothing:
            axes = [i for i, n in enumerate(b.values[x].shape) if n][:1]
            if not axes:
                return None
        args = {"axes": axes, "keep_dims": b.rng.random() < 0.5}
        return Call([x], {**args, **{key: b.rng.choice(values) for key, values in more.items()}})

    return make


def along_axis(b):
    x = b.operand(least=1)
    return Call([x], {"axis": b.axis(x)})


def masked_softmax(b):
    call = along_axis(b)
    call.mask = b.mask(b.values[call.inputs[0]].shape)
    return call


def layer_norm(b):
    shape = b.shape(least=1, zero_axes=-1)
    shape[-1] = max(shape[-1], 2)
    inputs = [b.operand(shape), b.operand(shape[-1:]), b.operand(shape[-1:])]
    return Call(inputs, {"eps": b.rng.choice([1e-5, 0.125])})


def cross_entropy(b):
    shape = b.shape(least=1)
    x = b.operand(shape)
    return Call([x], indices=b.indices(shape[:-1], 0, shape[-1] - 1))


def mse_loss(b):
    shape = b.shape()
    return Call([b.operand(shape), b.operand(shape)])


def attention_kernel(b):
    batch, heads, queries, keys, width = b.extents(5)
    depth = b.rng.randint(1, 3)
    q = b.operand([batch, heads, queries, depth])
    k = b.operand([batch, heads, keys, depth])
    v = b.operand([batch, heads, keys, width])
    return Call([q, k, v], mask=b.maybe_mask([batch, heads, queries, keys]))


def scaled_dot_product_attention(b):
    call = attention_kernel(b)
    q, k = (b.values[name].shape for name in call.inputs[:2])
    call.mask = b.mask([*q[:3], k[2]])
    call.args = {"causal": b.rng.random() < 0.5, "scale": b.rng.choice([0.25, 0.5, 1.0])}
    return call


def multi_head_attention(b):
    batch, queries, keys = b.extents(3)
    heads, depth = b.rng.choice([(1, 2), (2, 1), (2, 2), (3, 1)])
    width = heads * depth
    query = b.operand([batch, queries, width])
    key, value = (b.operand([batch, keys, width]) for _ in range(2))
    weights = [b.operand([width, width]) for _ in range(4)]
    mask = b.maybe_mask([batch, heads, queries, keys])
    return Call([query, key, value, *weights], {"num_heads": heads}, mask=mask)


# What PyTorch computes


def list_axes(x, axes):
    return list(axes) or list(range(x.dim()))


def beside(f):
    return lambda x, scalar, side: f(scalar, x) if side == "left" else f(x, scalar)


def torch_pow_scalar(x, scalar, side):
    return torch.pow(scalar, x) if side == "left" else torch.pow(x, scalar)


def torch_prod(x, axes, keep_dims):
    for axis in sorted((a % x.dim() for a in list_axes(x, axes)), reverse=True):
        x = x.prod(axis, keepdim=keep_dims)
    return x


def torch_slice(x, axis, start, stop, step):
    picked = range(x.shape[axis])[slice(start, stop, step)]
    return x.index_select(axis, torch.tensor(list(picked), dtype=torch.long))


def torch_squeeze(x, axes):
    for axis in sorted(axes, reverse=True):
        x = x.squeeze(axis)
    return x if axes else x.squeeze()


def torch_take(x, axis, indices):
    axis %= x.dim()
    picked = x.index_select(axis, (indices % max(x.shape[axis], 1)).flatten())
    return picked.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def torch_masked_softmax(x, mask, axis=-1):
    """PyTorch's softmax of a line without a visible element is NaN; xgrad promises zeros."""
    mask = mask.broadcast_to(x.shape)
    sees_any = mask.any(axis, keepdim=True)
    scores = x.masked_fill(~mask & sees_any, -math.inf)
    return torch.where(mask, torch.softmax(scores, axis), torch.zeros((), dtype=x.dtype))


def torch_attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        mask = torch.ones((), dtype=torch.bool)
    weights = torch_masked_softmax(scores, mask)
    return weights @ v, weights


def torch_fused_attention(q, k, v, causal, scale, mask):
    if causal:
        queries, keys = q.shape[2], k.shape[2]
        mask = mask & torch.ones((queries, keys), dtype=torch.bool).tril(keys - queries)
    return torch_attention(q * scale * math.sqrt(q.shape[-1]), k, v, mask)[0]


def torch_multi_head(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask=None):
    def heads(x, w):  # [B,T,D] -> [B,H,T,D/H]
        width = w.shape[1] // num_heads
        return (x @ w).reshape(*x.shape[:2], num_heads, width).transpose(1, 2)

    output, weights = torch_attention(heads(query, w_q), heads(key, w_k), heads(value, w_v), mask)
    return output.transpose(1, 2).reshape(query.shape) @ w_o, weights


def torch_compare(f):
    return lambda a, b, x, y: torch.where(f(a, b), x, y)


NO_MEAN = {"zero size": "the mean over nothing is NaN"}

OPERATIONS = {
    "add": Operation(torch.add, binary(), broadcasts=True, cpp="{0} + {1}"),
    "sub": Operation(torch.sub, binary(), broadcasts=True, cpp="{0} - {1}"),
    "mul": Operation(torch.mul, binary(), broadcasts=True, cpp="{0} * {1}"),
    "div": Operation(
        torch.div,
        binary(right=nonzero, accept=lambda x: bool((x.abs() > 0.2).all())),
        fits=lambda a, b: bool((b.abs() > 0.2).all()),
        broadcasts=True,
        cpp="{0} / {1}",
    ),
    "add_scalar": Operation(beside(lambda a, b: a + b), scalar(), cpp="{left} + {right}"),
    "sub_scalar": Operation(beside(lambda a, b: a - b), scalar(), cpp="{left} - {right}"),
    "mul_scalar": Operation(beside(lambda a, b: a * b), scalar(), cpp="{left} * {right}"),
    "div_scalar": Operation(
        beside(lambda a, b: a / b),
        scalar(draw_left=nonzero),
        fits=lambda x, scalar, side: side == "right" or bool((x.abs() > 0.2).all()),
        cpp="{left} / {right}",
    ),
    "neg": Operation(torch.neg, unary(), selects=True, cpp="-{0}"),
    "exp": Operation(torch.exp, unary(), fits=below(4)),
    "log": Operation(torch.log, unary(positive, above(0.1)), fits=above(0.1)),
    "sqrt": Operation(torch.sqrt, unary(positive, above(0.1)), fits=above(0.1)),
    "square": Operation(torch.square, unary()),
    "abs": Operation(torch.abs, unary(few), fits=apart_from(0), selects=True),
    "tanh": Operation(torch.tanh, unary()),
    "sigmoid": Operation(torch.sigmoid, unary()),
    "relu": Operation(torch.relu, unary(few), fits=apart_from(0), selects=True),
    "gelu": Operation(F.gelu, unary()),
    "erf": Operation(torch.erf, unary()),
    "sin": Operation(torch.sin, unary()),
    "cos": Operation(torch.cos, unary()),
    "pow": Operation(
        torch.pow,
        binary(left=positive),
        fits=lambda a, p: bool((a > 0.2).all()) and bool((p.abs() < 4).all()),
        broadcasts=True,
    ),
    "pow_scalar": Operation(
        torch_pow_scalar,
        pow_scalar,
        fits=lambda x, scalar, side: bool((x.abs() < 4).all())
        if side == "left"
        else bool(((x if scalar % 1 else x.abs()) > 0.2).all()),
        cpp="xg::pow({left}, {right})",
    ),
    "maximum": Operation(torch.maximum, binary(few, few), apart, broadcasts=True, selects=True),
    "minimum": Operation(torch.minimum, binary(few, few), apart, broadcasts=True, selects=True),
    "clip": Operation(
        lambda x, low, high: x.clamp(low, high), clip, fits=apart_from(-0.5, 1), selects=True
    ),
    "where": Operation(
        lambda a, b, mask: torch.where(mask, a, b),
        where,
        broadcasts=True,
        selects=True,
        cpp="xg::where({mask}, {0}, {1})",
    ),
    **{
        name: Operation(
            torch_compare(compare),
            comparison,
            fits=lambda a, b, x, y: apart(a, b),
            broadcasts=True,
            cpp="xg::where({0} %s {1}, {2}, {3})" % symbol,
        )
        for name, symbol, compare in [
            ("less", "<", torch.lt),
            ("less_equal", "<=", torch.le),
            ("equal", "==", torch.eq),
            ("not_equal", "!=", torch.ne),
        ]
    },
    "matmul": Operation(torch.matmul, matmul, broadcasts=True),
    "einsum": Operation(
        lambda *x, equation: torch.einsum(equation, *x),
        einsum,
        cpp='xg::einsum<double>("{equation}", {{{inputs}}})',
    ),
    "reshape": Operation(lambda x, dims: x.reshape(dims), reshape, selects=True),
    "flatten": Operation(lambda x: x.reshape(-1), unary(), selects=True),
    "transpose": Operation(
        lambda x, axes: x.permute(axes or list_axes(x, axes)[::-1]), transpose, selects=True
    ),
    "swapaxes": Operation(lambda x, i, j: x.swapaxes(i, j), swapaxes, selects=True),
    "squeeze": Operation(torch_squeeze, squeeze, selects=True),
    "unsqueeze": Operation(lambda x, axis: x.unsqueeze(axis), unsqueeze, selects=True),
    "broadcast_to": Operation(
        lambda x, dims: x.broadcast_to(dims), broadcast_to, selects=True, broadcasts=True
    ),
    "flip": Operation(lambda x, axes: x.flip(list_axes(x, axes)), flip, selects=True),
    "concat": Operation(
        lambda *x, axis: torch.cat(x, axis),
        concat,
        selects=True,
        cpp="xg::concat<double>({{{inputs}}}, {axis})",
    ),
    "stack": Operation(
        lambda *x, axis: torch.stack(x, axis),
        stack,
        selects=True,
        cpp="xg::stack<double>({{{inputs}}}, {axis})",
    ),
    "split": Operation(
        lambda x, sections, axis: x.tensor_split(sections, axis), split, selects=True
    ),
    "slice": Operation(torch_slice, slice_, selects=True),
    "take": Operation(torch_take, take, selects=True, cpp="xg::take({0}, {indices}, {axis})"),
    "embedding": Operation(
        lambda x, indices: F.embedding(indices % x.shape[0], x), embedding, selects=True
    ),
    "clone": Operation(torch.clone, unary(), selects=True, cpp="{0}.clone()"),
    "sum": Operation(
        lambda x, axes, keep_dims: x.sum(list_axes(x, axes), keep_dims), reduction(of_nothing=True)
    ),
    "mean": Operation(
        lambda x, axes, keep_dims: x.mean(list_axes(x, axes), keep_dims), reduction()
    ),
    "max": Operation(
        lambda x, axes, keep_dims: x.amax(list_axes(x, axes), keep_dims),
        reduction(few),
        fits=all_apart,
        selects=True,
    ),
    "min": Operation(
        lambda x, axes, keep_dims: x.amin(list_axes(x, axes), keep_dims),
        reduction(few),
        fits=all_apart,
        selects=True,
    ),
    "prod": Operation(torch_prod, reduction(few, of_nothing=True)),
    "logsumexp": Operation(
        lambda x, axes, keep_dims: x.logsumexp(list_axes(x, axes), keep_dims), reduction()
    ),
    "var": Operation(
        lambda x, axes, keep_dims, ddof: x.var(
            list_axes(x, axes), correction=ddof, keepdim=keep_dims
        ),
        reduction(ddof=[0, 0, 1]),
    ),
    "cumsum": Operation(lambda x, axis: x.cumsum(axis), along_axis),
    "softmax": Operation(lambda x, axis: torch.softmax(x, axis), along_axis),
    "log_softmax": Operation(lambda x, axis: torch.log_softmax(x, axis), along_axis),
    "masked_softmax": Operation(
        torch_masked_softmax, masked_softmax, cpp="xg::masked_softmax({0}, {mask}, {axis})"
    ),
    "layer_norm": Operation(
        lambda x, w, b, eps: F.layer_norm(x, x.shape[-1:], w, b, eps), layer_norm
    ),
    "cross_entropy": Operation(
        lambda x, indices: F.cross_entropy(x.reshape(-1, x.shape[-1]), indices.flatten()),
        cross_entropy,
        exempt=NO_MEAN,
    ),
    "mse_loss": Operation(F.mse_loss, mse_loss, exempt=NO_MEAN),
    "attention_kernel": Operation(torch_attention, attention_kernel),
    "multi_head_attention": Operation(torch_multi_head, multi_head_attention),
    "scaled_dot_product_attention": Operation(
        torch_fused_attention,
        scaled_dot_product_attention,
        cpp="xg::scaled_dot_product_attention({inputs}, {mask}, {{{causal}, {scale}}})",
    ),
    "multi_head_attention_output": Operation(
        lambda *x, **args: torch_multi_head(*x, **args)[0], multi_head_attention
    ),
}

# Public functions of src/ops and src/mha that have no entry of their own above.
NOT_COMPARED = {
    "dropout": "the random numbers are xgrad's own",
    "causal_mask": "makes a mask; tests/mha compares it",
    "padding_mask": "makes a mask; tests/mha compares it",
}
