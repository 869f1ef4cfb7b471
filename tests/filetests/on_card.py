#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the filetests of run/ and pass/ on a real NVIDIA GPU, through its driver (libcuda.so.1).

    tests/filetests/on_card.py [FILE...]

It proves that the expectations are a card's. It understands the same headers as the harness
(README.md); a file is skipped, with the reason, if the card is too old for its target. The exit
code is 0 only if every file that ran gave what its header says and at least one ran.
"""

import ctypes
import multiprocessing
import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = {"u8": "B", "b8": "B", "s8": "b", "u16": "H", "b16": "H", "s16": "h", "u32": "I", "b32": "I", "s32": "i",
           "u64": "Q", "b64": "Q", "s64": "q", "f16": "e", "f32": "f", "f64": "d"}

def literal(kind, text):
    """The bytes of a literal."""
    size = struct.calcsize(FORMATS.get(kind, "H"))
    text = text.strip().replace("_", "")
    if text.startswith("0x"):
        return int(text, 16).to_bytes(size, "little")
    if kind == "bf16":
        return struct.pack("<f", float(text))[2:]
    if kind[0] == "f":
        return struct.pack("<" + FORMATS[kind], float(text))
    return (int(text) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def values(kind, text):
    """The bytes of a list."""
    out = b""
    for item in text.strip()[1:-1].split(","):
        item = item.strip()
        if "*" in item:
            value, count = item.split("*")
            out += literal(kind, value) * int(count)
        elif ".." in item:
            bounds, _, step = item.partition(" by ")
            first, last = bounds.split("..")
            out += b"".join(literal(kind, str(v)) for v in range(int(first), int(last), int(step or 1)))
        elif item:
            out += literal(kind, item)
    return out


def header(source):
    """The launches and parameters of a file."""
    launches, params = [], []
    lines = source.splitlines()
    i = 0
    while i < len(lines):
        body = lines[i].strip().removeprefix("//").strip()
        i += 1
        if not re.match(r"launch:|buffer |scalar ", body):
            continue
        while body.count("[") > body.count("]"):
            body += " " + lines[i].strip().removeprefix("//").strip()
            i += 1
        word, rest = body.split(None, 1)
        if word == "launch:":
            name, *words = rest.split()
            launches.append((name, dict((w.split("=") + [""])[:2] for w in words)))
        elif word == "scalar":
            kind, value = re.match(r"\w+: (\w+) = (.*)", rest).groups()
            params.append(("scalar", literal(kind, value), None))
        else:
            mode, kind, lists = re.match(r"(\w+) \w+: (\w+) = (.*)", rest).groups()
            if mode == "inout":
                before, after = (values(kind, t) for t in lists.split("->"))
            else:
                after = values(kind, lists)
                before = after if mode == "in" else b"\xcd" * len(after)
            params.append((mode, before, after))
    return launches, params


class Card:
    """The driver API, as far as it is needed."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.sm = 10 * major.value + minor.value
        self.device = device
        self.context = ctypes.c_void_p()

    def call(self, name, *args):
        error = getattr(self.lib, name)(*args)
        if error:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorName(error, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode()}")

    def run(self, source, kernel, words, params):
        """A launch; what is wrong of its results."""
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)
        log = ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 2)(5, 6)
        option_values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 4096)
        module = ctypes.c_void_p()
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), source.encode() + b"\0", 2, options, option_values)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.value.decode()}") from None
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        buffers, arguments = [], []
        for mode, before, after in params:
            if mode == "scalar":
                arguments.append(ctypes.create_string_buffer(before, len(before)))
                continue
            address = ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(len(before), 1)))
            self.call("cuMemcpyHtoD_v2", address, before, ctypes.c_size_t(len(before)))
            buffers.append((address, after))
            arguments.append(address)
        pointers = (ctypes.c_void_p * max(len(arguments), 1))(*[ctypes.addressof(a) for a in arguments])
        dims = lambda key: [int(v) for v in (words.get(key, "1").split(",") + ["1", "1"])[:3]]
        self.call("cuLaunchKernel", function, *dims("grid"), *dims("block"), int(words.get("shared", 0)), None,
                  pointers, None)
        self.call("cuCtxSynchronize")
        wrong = []
        for i, (address, after) in enumerate(buffers):
            found = ctypes.create_string_buffer(len(after))
            self.call("cuMemcpyDtoH_v2", found, address, ctypes.c_size_t(len(after)))
            if found.raw != after:
                at = next(n for n in range(len(after)) if found.raw[n] != after[n]) & ~3
                wrong.append(f"buffer {i} byte {at}: {found.raw[at:at + 8][::-1].hex()} expected {after[at:at + 8][::-1].hex()}")
        return wrong


def check(path):
    """Runs one file: "passed", or "skipped: why", or "FAILED: why"."""
    source = path.read_text()
    launches, params = header(source)
    target = int(re.search(r"\.target\s+sm_(\d+)", source).group(1))
    if re.search(r"^// (texture|surface) ", source, re.M):
        return "skipped: it has textures or surfaces, which are arrays on a card"
    if "__nv_" in source:
        return "skipped: it needs a device library"
    if re.search(r"\bst\.[a-z.]*const\b", source):
        return "skipped: ptxas refuses it"
    card = Card()
    if target > card.sm:
        return f"skipped: it is for sm_{target}"
    for kernel, words in launches:
        if "cluster" in words:
            return "skipped: a launch with clusters"
        if "sm" in words and max(int(v) for v in words["sm"].split(",")) < 70:
            return "skipped: it is about cards below 7.0"
        try:
            wrong = card.run(source, kernel, words, params)
        except RuntimeError as error:
            wrong = [str(error).strip()]
        if wrong:
            return "FAILED: " + "; ".join(wrong)
    return "passed"


def main():
    files = [pathlib.Path(a) for a in sys.argv[1:]] or sorted([*HERE.glob("run/*.ptx"), *HERE.glob("pass/*.ptx")])
    counts = {"passed": 0, "FAILED": 0, "skipped": 0}
    for path in files:
        # A process for each: neither a fault of the kernel nor a crash of the driver touches the next.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            try:
                verdict = pool.apply_async(check, [path]).get(60)
            except multiprocessing.TimeoutError:
                verdict = "FAILED: no end within 60 s, or the driver crashed"
        counts[verdict.split(":")[0]] += 1
        print(f"{path.parent.name}/{path.name} {verdict}", flush=True)
    print(", ".join(f"{n} {word.lower()}" for word, n in counts.items()))
    return 0 if counts["passed"] and not counts["FAILED"] else 1


if __name__ == "__main__":
    sys.exit(main())
