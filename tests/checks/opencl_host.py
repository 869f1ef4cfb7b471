#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A host program for OpenCL kernels that are there to be checked; it talks to the ICD loader by ctypes.

    margay run --check all python3 tests/checks/opencl_host.py tests/checks/race.cl
    margay run --check all python3 tests/checks/opencl_host.py …/Oclgrind/tests/kernels/data-race/increment.sim

Of a .cl file each comment `// launch: KERNEL GLOBAL LOCAL ARGUMENT…` is a launch, in order. Sizes are `64` or `8x8`.
An argument is `zeros:BYTES`, `iota:COUNT` (ints), `new:BYTES` (never written), `local:BYTES`, `int:N`, `float:X`,
`null`, `image`; `ro` or `wo` after a buffer's size (`zeros:64:ro`) is its flag. A .sim file is Oclgrind's.

Between launches, `// buffer: NAME zeros:64` makes a buffer that arguments name as `buffer:NAME`, and
`// on QUEUE as EVENT after EVENT EVENT: KERNEL GLOBAL LOCAL ARGUMENT…` (`as` and `after` may be missing) only queues a
launch; `// on QUEUE: barrier`, `… : marker`, `… : fill BUFFER` and `… : finish` are these calls. A queue whose name
begins with `out` is out of order. `… : read BUFFER OFFSET BYTES` (or `write`, or `set`, which fills) and `… : release BUFFER` are
too, and with `refused` before them they must fail. `// svm: NAME BYTES` allocates, and `// on QUEUE: svmfree NAME OFFSET` frees what is
so far inside of it. `… : stale BUFFER KERNEL GLOBAL LOCAL ARGUMENT…` releases the buffer once the arguments are set: the launch must fail.
"""
import ctypes as c
import pathlib
import re
import struct
import sys

GPU_OR_ANY, PROGRAM_BUILD_LOG, ARG_ADDRESS, ARG_TYPE = 0xFFFFFFFF, 0x1183, 0x1196, 0x1198
LOCAL = 0x119C
READ_WRITE, WRITE_ONLY, READ_ONLY = 1, 2, 4
OUT_OF_ORDER = 1
FORMATS = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q", "ulong": "Q",
           "float": "f", "double": "d"}


class Device:
    def __init__(self):
        try:
            self.cl = c.CDLL("libOpenCL.so.1")
        except OSError as error:
            sys.exit(f"opencl_host: skipped: no ICD loader: {error}")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer", "clSVMAlloc"):
            getattr(self.cl, name).restype = c.c_void_p
        platform, device = c.c_void_p(), c.c_void_p()
        self.must(self.cl.clGetPlatformIDs(1, c.byref(platform), None), "clGetPlatformIDs")
        self.must(self.cl.clGetDeviceIDs(platform, c.c_uint64(GPU_OR_ANY), 1, c.byref(device), None), "clGetDeviceIDs")
        error = c.c_int()
        self.device = device
        self.context = c.c_void_p(self.cl.clCreateContext(None, 1, c.byref(device), None, None, c.byref(error)))
        self.must(error.value, "clCreateContext")
        self.queue = c.c_void_p(self.cl.clCreateCommandQueue(self.context, device, c.c_uint64(0), c.byref(error)))
        self.must(error.value, "clCreateCommandQueue")

    @staticmethod
    def must(code, what):
        if code != 0:
            sys.exit(f"opencl_host: {what}: error {code}")

    def build(self, text):
        error, source = c.c_int(), c.c_char_p(text.encode())
        program = c.c_void_p(self.cl.clCreateProgramWithSource(self.context, 1, c.byref(source), None, c.byref(error)))
        code = self.cl.clBuildProgram(program, 1, c.byref(self.device), b"-g -cl-kernel-arg-info", None, None)
        if code != 0:
            log = c.create_string_buffer(1 << 16)
            self.cl.clGetProgramBuildInfo(program, self.device, PROGRAM_BUILD_LOG, c.c_size_t(len(log)), log, None)
            sys.exit(f"opencl_host: the program does not build:\n{log.value.decode()}")
        return program

    def kernel(self, program, name):
        error = c.c_int()
        kernel = c.c_void_p(self.cl.clCreateKernel(program, name.encode(), c.byref(error)))
        self.must(error.value, f"clCreateKernel({name})")
        return kernel

    def argument_info(self, kernel, index):
        """Whether an argument is local memory, and its type's name."""
        space, name = c.c_uint(), c.create_string_buffer(256)
        self.cl.clGetKernelArgInfo(kernel, index, ARG_ADDRESS, c.c_size_t(4), c.byref(space), None)
        self.cl.clGetKernelArgInfo(kernel, index, ARG_TYPE, c.c_size_t(len(name)), name, None)
        return space.value == LOCAL, name.value.decode()

    def buffer(self, size, data, flags=READ_WRITE):
        error = c.c_int()
        buffer = c.c_void_p(self.cl.clCreateBuffer(self.context, c.c_uint64(flags), c.c_size_t(size), None, c.byref(error)))
        self.must(error.value, "clCreateBuffer")
        if data is not None:
            code = self.cl.clEnqueueWriteBuffer(self.queue, buffer, 1, c.c_size_t(0), c.c_size_t(size), data, 0, None, None)
            self.must(code, "clEnqueueWriteBuffer")
        return buffer

    def set(self, kernel, index, size, pointer):
        self.must(self.cl.clSetKernelArg(kernel, index, c.c_size_t(size), pointer), f"clSetKernelArg({index})")

    def launch(self, kernel, sizes, local):
        both = [(c.c_size_t * len(sizes))(*sizes), (c.c_size_t * len(local))(*local)]
        code = self.cl.clEnqueueNDRangeKernel(self.queue, kernel, len(sizes), None, *both, 0, None, None)
        done = code or self.cl.clFinish(self.queue)
        if done != 0:
            print(f"opencl_host: the kernel ended with error {done}", file=sys.stderr)


def argument(device, buffers, kernel, index, word):
    kind, _, rest = word.partition(":")
    value, _, flag = rest.partition(":")
    flags = {"ro": READ_ONLY, "wo": WRITE_ONLY, "": READ_WRITE}[flag]
    if kind == "local":
        device.set(kernel, index, int(value), None)
    elif kind in ("int", "float"):
        data = struct.pack(FORMATS[kind], int(value) if kind == "int" else float(value))
        device.set(kernel, index, 4, data)
    elif kind == "null":
        device.set(kernel, index, 8, None)
    elif kind == "buffer":
        device.set(kernel, index, 8, c.byref(buffers[value]))
    else:
        device.set(kernel, index, 8, c.byref(filled(device, kind, value, flags)))


def filled(device, kind, value, flags=READ_WRITE):
    size = int(value) * (4 if kind == "iota" else 1)
    data = {"zeros": bytes(size), "new": None}.get(kind, struct.pack(f"{int(value)}i", *range(int(value))) if kind == "iota" else None)
    return device.buffer(size, data, flags)


def prepared(device, program, buffers, words):
    kernel = device.kernel(program, words[0])
    sizes, local = ([int(n) for n in word.split("x")] for word in words[1:3])
    for index, word in enumerate(words[3:]):
        argument(device, buffers, kernel, index, word)
    return kernel, sizes, local


def plain_call(device, queue, what, buffer, numbers):
    """A call that waits for nothing; its error code."""
    if what == "release":
        return device.cl.clReleaseMemObject(buffer)
    offset, size = (c.c_size_t(n) for n in numbers)
    if what == "set":
        zero = c.c_int(0)
        return device.cl.clEnqueueFillBuffer(queue, buffer, c.byref(zero), c.c_size_t(4), offset, size, 0, None, None)
    call = device.cl.clEnqueueReadBuffer if what == "read" else device.cl.clEnqueueWriteBuffer
    return call(queue, buffer, 1, offset, size, c.create_string_buffer(numbers[1]), 0, None, None)


def queued(device, program, buffers, queues, events, head, step):
    """One command, or what waits for commands."""
    names = re.fullmatch(r"(\w+)(?: as (\w+))?(?: after ([\w ]+))?", head)
    error = c.c_int()
    if names[1] not in queues:
        flags = OUT_OF_ORDER if names[1].startswith("out") else 0
        queues[names[1]] = c.c_void_p(device.cl.clCreateCommandQueue(device.context, device.device, c.c_uint64(flags), c.byref(error)))
        device.must(error.value, "clCreateCommandQueue")
    queue, event = queues[names[1]], c.c_void_p()
    if call := re.fullmatch(r"(refused )?(read|write|set|release) (\w+)((?: \d+)*)", step):
        code = plain_call(device, queue, call[2], buffers[call[3]], [int(n) for n in call[4].split()])
        if (code != 0) != bool(call[1]):
            sys.exit(f"opencl_host: {step}: error {code}")
        return None
    if call := re.fullmatch(r"svmfree (\w+) (\d+)", step):
        return device.cl.clSVMFree(device.context, c.c_void_p(buffers[call[1]] + int(call[2])))
    before = [events[name] for name in (names[3] or "").split()]
    wait = (len(before), (c.c_void_p * len(before))(*before) if before else None, c.byref(event))
    if step == "finish":
        return device.must(device.cl.clFinish(queue), "clFinish")
    if step == "barrier":
        code = device.cl.clEnqueueBarrierWithWaitList(queue, *wait)
    elif step == "marker":
        code = device.cl.clEnqueueMarkerWithWaitList(queue, *wait)
    elif step.startswith("fill "):
        buffer, zero = buffers[step.split()[1]], c.c_int(0)
        code = device.cl.clEnqueueFillBuffer(queue, buffer, c.byref(zero), c.c_size_t(4), c.c_size_t(0), c.c_size_t(64), *wait)
    else:
        stale = re.fullmatch(r"stale (\w+) (.*)", step)
        kernel, sizes, local = prepared(device, program, buffers, (stale[2] if stale else step).split())
        both = [(c.c_size_t * len(sizes))(*sizes), (c.c_size_t * len(local))(*local)]
        if stale:
            device.must(device.cl.clReleaseMemObject(buffers[stale[1]]), step)
        code = device.cl.clEnqueueNDRangeKernel(queue, kernel, len(sizes), None, *both, *wait)
        if stale:
            return None if code else sys.exit(f"opencl_host: {step}: a buffer that was released was taken")
    device.must(code, step)
    if names[2]:
        events[names[2]] = event


def corpus(device, path):
    text = path.read_text()
    program = device.build(text)
    buffers, queues, events = {}, {}, {}
    for what, rest in re.findall(r"^// (launch|buffer|svm|on\b[^:]*): (.*)$", text, re.M):
        if what == "launch":
            device.launch(*prepared(device, program, buffers, rest.split()))
        elif what == "buffer":
            name, content = rest.split()
            buffers[name] = filled(device, *content.split(":"))
        elif what == "svm":
            name, size = rest.split()
            buffers[name] = device.cl.clSVMAlloc(device.context, c.c_uint64(READ_WRITE), c.c_size_t(int(size)), 0)
        else:
            queued(device, program, buffers, queues, events, what[3:], rest)
    for queue in queues.values():
        device.must(device.cl.clFinish(queue), "clFinish")


def simulation(device, path):
    text = "\n".join(line.split("#")[0] for line in path.read_text().splitlines())
    head, *_ = re.split(r"<", text, maxsplit=1)
    file, name, *numbers = head.split()
    numbers = [int(n) for n in numbers]
    kernel = device.kernel(device.build((path.parent / file).read_text()), name)
    for index, (words, values) in enumerate(re.findall(r"<([^>]*)>([^<]*)", text)):
        words = words.split()
        options = dict(word.partition("=")[::2] for word in words)
        is_local, type_name = device.argument_info(kernel, index)
        if "null" in options:
            device.set(kernel, index, 8, None)
            continue
        size = int(options["size"], 0)
        if is_local:
            device.set(kernel, index, size, None)
            continue
        element = next((w for w in words if w in FORMATS), re.sub(r"[\d* ]+$", "", type_name.replace("unsigned ", "u")))
        form = FORMATS.get(element, "B")
        count = size // struct.calcsize(form)
        number = float if form in "fd" else lambda t: int(t, 0)
        if "noinit" in options:
            data = None
        elif "fill" in options:
            data = struct.pack(f"{count}{form}", *[number(options["fill"])] * count)
        elif "range" in options:
            first, step, _ = (number(t) for t in options["range"].split(":"))
            data = struct.pack(f"{count}{form}", *(first + step * n for n in range(count)))
        else:
            data = struct.pack(f"{count}{form}", *(number(t) for t in values.split()))
        if "*" not in type_name:
            device.set(kernel, index, size, data)
            continue
        flags = READ_ONLY if "ro" in options else WRITE_ONLY if "wo" in options else READ_WRITE
        device.set(kernel, index, 8, c.byref(device.buffer(size, data, flags)))
    device.launch(kernel, numbers[:3], numbers[3:6])


def main():
    device = Device()
    for path in map(pathlib.Path, sys.argv[1:]):
        (simulation if path.suffix == ".sim" else corpus)(device, path)


if __name__ == "__main__":
    main()
