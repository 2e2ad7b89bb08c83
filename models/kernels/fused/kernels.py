"""GPU kernels (Triton). One launch computes a time step, except for its matrix product. The kernel ``uniform`` draws
random numbers.

Each program (Triton's unit of work) of a step computes ``BLOCK`` of the B * H numbers of one group (a lane, one seed's
copy of the network, in one reading direction); B sentences, H hidden units. Arguments are pointers to a step's first
number. The next group begins a stride further. In products and in ``to_c``, groups follow each other without a gap.
None stands for an absent part. ``models/kernels/layers.py`` has the equations.
"""

import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    """Computes 1 / (1 + e^-x)."""
    return 1 / (1 + tl.exp(-x))


@triton.jit
def tanh(x):
    """Computes (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x, so that nothing overflows."""
    small = tl.exp(-2 * tl.abs(x))
    size = (1 - small) / (1 + small)
    return tl.where(x < 0, -size, size)


@triton.jit
def places(size, hidden, gates: tl.constexpr, gates_stride, hidden_stride, BLOCK: tl.constexpr):
    """Returns the group of a program's numbers, their offsets in four kinds of arrays, and a mask of the numbers that
    exist. The arrays: gates, a product for gates, hidden units, and hidden units without a gap between groups.
    """
    group = tl.program_id(0).to(tl.int64)
    number = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    gate = number // hidden * (gates * hidden) + number % hidden
    wide, product = group * gates_stride + gate, group * size * gates + gate
    return group, wide, product, group * hidden_stride + number, group * size + number, number < size


@triton.jit
def total(x, at, product, product_at, there):
    """Returns numbers of x, plus numbers of ``product`` unless it is None. ``product`` may have fewer bits than x."""
    number = tl.load(x + at, mask=there)
    if product is not None:
        number += tl.load(product + product_at, mask=there)
    return number


@triton.jit
def lstm_forward(
    x, product, before, internal, output, kept, gates, after, through, whole, h,
    size, hidden, gates_stride, hidden_stride, state_stride, UPDATED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Computes an LSTM's gates, h, c and values for the backward pass. Pre-activations are x plus the product."""
    group, wide, of_h, at, own, there = places(size, hidden, 4, gates_stride, hidden_stride, BLOCK)
    state = own + group * (state_stride - size)
    i = sigmoid(total(x, wide, product, of_h, there))
    f = sigmoid(total(x, wide + hidden, product, of_h + hidden, there))
    o = sigmoid(total(x, wide + 2 * hidden, product, of_h + 2 * hidden, there))
    s = tanh(total(x, wide + 3 * hidden, product, of_h + 3 * hidden, there))
    v = i * s + f * tl.load(before + state, mask=there)
    c = v
    if kept is not None:
        k = tl.load(kept + at, mask=there)
        tl.store(whole + at, v, mask=there)
        c = c * k
    if internal is not None:
        c += tl.load(internal + at, mask=there)
    tanh_u = tanh(c if UPDATED else v)
    out = o * tanh_u
    if kept is not None:
        out = out * k
    if output is not None:
        out += tl.load(output + at, mask=there)
    tl.store(gates + wide, i, mask=there)
    tl.store(gates + wide + hidden, f, mask=there)
    tl.store(gates + wide + 2 * hidden, o, mask=there)
    tl.store(gates + wide + 3 * hidden, s, mask=there)
    tl.store(after + state, c, mask=there)
    tl.store(through + at, tanh_u, mask=there)
    tl.store(h + at, out, mask=there)


@triton.jit
def lstm_backward(
    above, product, gates, before, through, kept, whole, to_c, to_pre, to_internal, to_output, to_kept,
    size, hidden, gates_stride, hidden_stride, state_stride, UPDATED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Computes the gradients of an LSTM's pre-activations, of c_{t-1} and of the skip's parts. The gradient of h is
    ``above`` plus the product. The gradient of c_{t-1} replaces the gradient of c_t in ``to_c``.
    """
    group, wide, _, at, own, there = places(size, hidden, 4, gates_stride, hidden_stride, BLOCK)
    i = tl.load(gates + wide, mask=there)
    f = tl.load(gates + wide + hidden, mask=there)
    o = tl.load(gates + wide + 2 * hidden, mask=there)
    s = tl.load(gates + wide + 3 * hidden, mask=there)
    c = tl.load(before + own + group * (state_stride - size), mask=there)
    tanh_u = tl.load(through + at, mask=there)
    of_h = total(above, at, product, own, there)
    of_c = tl.load(to_c + own, mask=there)
    if to_output is not None:
        tl.store(to_output + at, of_h, mask=there)
    of_kept_h = of_h
    if kept is not None:
        k, v = tl.load(kept + at, mask=there), tl.load(whole + at, mask=there)
        of_kept_h = of_h * k
    if UPDATED:
        of_c += of_kept_h * o * (1 - tanh_u * tanh_u)
    if to_internal is not None:
        tl.store(to_internal + at, of_c, mask=there)
    of_v = of_c
    if kept is not None:
        tl.store(to_kept + at, of_c * v + of_h * o * tanh_u, mask=there)
        of_v = of_c * k
    if not UPDATED:
        of_v += of_kept_h * o * (1 - tanh_u * tanh_u)
    tl.store(to_pre + wide, of_v * s * i * (1 - i), mask=there)
    tl.store(to_pre + wide + hidden, of_v * c * f * (1 - f), mask=there)
    tl.store(to_pre + wide + 2 * hidden, of_kept_h * tanh_u * o * (1 - o), mask=there)
    tl.store(to_pre + wide + 3 * hidden, of_v * i * (1 - s * s), mask=there)
    tl.store(to_c + own, of_v * f, mask=there)


@triton.jit
def block_forward(
    x, product, internal, output, shared, gates, through, read, h,
    size, hidden, gates_stride, hidden_stride, BLOCK: tl.constexpr,
):  # fmt: skip
    """Computes the gates, m and h of a block. Pre-activations are x plus the product."""
    _, wide, of_h, at, _, there = places(size, hidden, 3, gates_stride, hidden_stride, BLOCK)
    i = sigmoid(total(x, wide, product, of_h, there))
    o = sigmoid(total(x, wide + hidden, product, of_h + hidden, there))
    s = tanh(total(x, wide + 2 * hidden, product, of_h + 2 * hidden, there))
    m = i * s
    if internal is not None:
        m += tl.load(internal + at, mask=there)
    tanh_m = tanh(m)
    out = tanh_m
    if shared is not None:
        out += tl.load(shared + at, mask=there)
        tl.store(read + at, out, mask=there)
    out = o * out
    if output is not None:
        out += tl.load(output + at, mask=there)
    tl.store(gates + wide, i, mask=there)
    tl.store(gates + wide + hidden, o, mask=there)
    tl.store(gates + wide + 2 * hidden, s, mask=there)
    tl.store(through + at, tanh_m, mask=there)
    tl.store(h + at, out, mask=there)


@triton.jit
def block_backward(
    above, product, gates, through, read, to_pre, to_internal, to_output, to_shared,
    size, hidden, gates_stride, hidden_stride, BLOCK: tl.constexpr,
):  # fmt: skip
    """Computes the gradients of a block's pre-activations and of the skip's parts. The gradient of h is ``above`` plus
    the product.
    """
    _, wide, _, at, own, there = places(size, hidden, 3, gates_stride, hidden_stride, BLOCK)
    i = tl.load(gates + wide, mask=there)
    o = tl.load(gates + wide + hidden, mask=there)
    s = tl.load(gates + wide + 2 * hidden, mask=there)
    tanh_m, out = tl.load(through + at, mask=there), tl.load(read + at, mask=there)
    of_h = total(above, at, product, own, there)
    of_m = of_h * o * (1 - tanh_m * tanh_m)
    if to_internal is not None:
        tl.store(to_internal + at, of_m, mask=there)
    if to_output is not None:
        tl.store(to_output + at, of_h, mask=there)
    if to_shared is not None:
        tl.store(to_shared + at, of_h * o, mask=there)
    tl.store(to_pre + wide, of_m * s * i * (1 - i), mask=there)
    tl.store(to_pre + wide + hidden, of_h * out * o * (1 - o), mask=there)
    tl.store(to_pre + wide + 2 * hidden, of_m * i * (1 - s * s), mask=there)


@triton.jit(do_not_specialize=["draw"])
def uniform(keys, draw, counted, out, blocks, BLOCK: tl.constexpr):
    """Draws uniform numbers. The draw's index is ``draw`` + ``counted`` (0 if None). Each program turns ``BLOCK``
    counters of a lane into four words each, stored a quarter of the lane's numbers apart.
    """
    lane, block = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first, nothing, whole = block.to(tl.uint32), (block * 0).to(tl.uint32), draw.to(tl.int64)
    if counted is not None:
        whole += tl.load(counted)
    low, high = nothing + (whole & 0xFFFFFFFF).to(tl.uint32), nothing + (whole >> 32).to(tl.uint32)
    a, b, c, d = tl.philox(tl.load(keys + lane), first, nothing, low, high)
    at, there = lane * 4 * blocks + block, block < blocks
    tl.store(out + at, fraction(a, out), mask=there)
    tl.store(out + at + blocks, fraction(b, out), mask=there)
    tl.store(out + at + 2 * blocks, fraction(c, out), mask=there)
    tl.store(out + at + 3 * blocks, fraction(d, out), mask=there)


@triton.jit
def fraction(word, like):
    """Divides a 32-bit word by 2^32, in the type that ``like`` points to. Drops the lowest 8 bits for float32."""
    if like.dtype.element_ty == tl.float32:
        share = (word >> 8).to(tl.float32) * 5.9604644775390625e-08
    else:
        share = word.to(tl.float64) * 2.3283064365386963e-10
    return share
