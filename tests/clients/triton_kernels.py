# SPDX-License-Identifier: MIT OR Apache-2.0
"""Triton kernels that check themselves; `run_triton.py` starts this inside `margay run`. No torch is needed: arrays
are allocated by libcuda."""

import ctypes

import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")


def ok(code):
    assert code == 0, f"libcuda answered {code}"


class Array:
    """A device array: what a Triton kernel asks of an argument."""

    def __init__(self, host):
        # Makes the primary context current.
        triton.runtime.driver.active.get_current_stream(0)
        self.host, self.dtype = host, {"float32": "fp32"}.get(str(host.dtype), str(host.dtype))
        address = ctypes.c_uint64()
        ok(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(host.nbytes)))
        self.address = address.value
        data = host.ctypes.data_as(ctypes.c_void_p)
        ok(cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), data, ctypes.c_size_t(host.nbytes)))

    def data_ptr(self):
        return self.address

    def get(self):
        out = np.empty_like(self.host)
        data = out.ctypes.data_as(ctypes.c_void_p)
        ok(cuda.cuMemcpyDtoH_v2(data, ctypes.c_uint64(self.address), ctypes.c_size_t(out.nbytes)))
        return out


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def total(a, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(a + i, mask=i < n, other=0.0), axis=0))


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + i, mask=i < n, other=0) % 10, 1, mask=i < n)


@triton.jit
def softmax(x, y, COLUMNS: tl.constexpr):
    i = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.load(x + i)
    power = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + i, power / tl.sum(power, axis=0))


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    x, y = tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * N + n)
    tl.store(c + m * N + n, tl.dot(x, y, input_precision="ieee"))


def vector_add():
    a = np.arange(1000, dtype=np.float32)
    c = Array(np.zeros_like(a))
    add[(4,)](Array(a), Array(2 * a), c, 1000, BLOCK=256)
    assert (c.get() == 3 * a).all()


def reduction():
    a = np.arange(1000, dtype=np.float32)
    out = Array(np.zeros(1, np.float32))
    total[(4,)](Array(a), out, 1000, BLOCK=256)
    assert out.get()[0] == a.sum()


def atomics():
    counts = Array(np.zeros(10, np.int32))
    histogram[(4,)](Array(np.arange(1000, dtype=np.int32)), counts, 1000, BLOCK=256)
    assert (counts.get() == 100).all()


def rows():
    x = np.random.default_rng(1).random((8, 128), dtype=np.float32)
    y = Array(np.zeros_like(x).ravel())
    softmax[(8,)](Array(x.ravel()), y, COLUMNS=128)
    power = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(y.get().reshape(8, 128), power / power.sum(axis=1, keepdims=True), rtol=1e-5)


def matrices():
    random = np.random.default_rng(2)
    x, y = (random.random((32, 32), dtype=np.float32) for _ in range(2))
    z = Array(np.zeros(32 * 32, np.float32))
    product[(1,)](Array(x.ravel()), Array(y.ravel()), z, M=32, N=32, K=32)
    assert np.allclose(z.get().reshape(32, 32), x @ y, rtol=1e-5)


for check in (vector_add, reduction, atomics, rows, matrices):
    try:
        check()
        print("passed", check.__name__, flush=True)
    except Exception as problem:  # whatever went wrong is the verdict
        print("failed", check.__name__, repr(problem).replace("\n", " "), flush=True)
