# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of sinter.h that tests and benchmarks call from Python, over ctypes. Structs as in runtime/abi.h."""
import ctypes as c
import os

import numpy as np

MAX_RANK = 16
DTYPES = {1: np.float64, 2: np.float32, 3: np.float16, 4: np.uint16, 5: np.bool_, 6: np.int8, 7: np.int16, 8: np.int32, 9: np.int64,
          10: np.uint8, 11: np.uint16, 12: np.uint32, 13: np.uint64}
CODES = {np.dtype(v): k for k, v in DTYPES.items()}


class TensorType(c.Structure):
    _fields_ = [("name", c.c_char_p), ("dtype", c.c_int32), ("rank", c.c_int32), ("dims", c.POINTER(c.c_int64))]


class Function(c.Structure):
    _fields_ = [("abi_version", c.c_uint32), ("struct_size", c.c_uint32), ("name", c.c_char_p), ("num_inputs", c.c_int32),
                ("num_outputs", c.c_int32), ("inputs", c.POINTER(TensorType)), ("outputs", c.POINTER(TensorType))]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int32), ("rank", c.c_int32), ("dims", c.c_int64 * MAX_RANK),
                ("strides", c.c_void_p)]


class SessionOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("threads", c.c_int32), ("spin_us", c.c_int32), ("no_huge_pages", c.c_int32),
                ("hooks", c.c_void_p * 3), ("state_of", c.c_void_p), ("max_bytes", c.c_int64), ("max_tape_bytes", c.c_int64),
                ("folder", c.c_char_p)]


class OpenOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("skip_weight_hash", c.c_int32), ("map_weights", c.c_int32), ("reserved", c.c_int32),
                ("sha256", c.c_char_p)]


class MemoryReport(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("fixed", c.c_int64), ("arena", c.c_int64),
                ("input", c.c_int64), ("output", c.c_int64), ("scratch", c.c_int64), ("peak", c.c_int64), ("state", c.c_int64)]


class Error(Exception):
    pass


class Runtime:
    def __init__(self, library):
        self.lib = c.CDLL(os.path.abspath(library))
        self.lib.sinter_last_error.restype = c.c_char_p
        self.lib.sinter_session_function.restype = c.POINTER(Function)
        for name in ("close", "open"):
            getattr(self.lib, "sinter_module_" + name).restype = c.c_int if name == "open" else None

    def check(self, status):
        if status:
            raise Error(self.lib.sinter_last_error().decode())

    def session(self, path, threads=1, folder=None, mapped=False):
        """`mapped`: weights are pages of the file, whose hash nobody verifies."""
        return Session(self, path, threads, folder=folder, mapped=mapped)

    def sessions(self, path, names, threads=1):
        """One session for each function of a module, by name; they share their states."""
        made = {}
        for name in names:
            made[name] = Session(self, path, threads, name, next(iter(made.values()), None))
        return made


def aligned(array):
    """A row-major copy of `array` at a multiple of 64 bytes, as the runtime wants its inputs."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def copy_of(view):
    shape, dtype = tuple(view.dims[: view.rank]), np.dtype(DTYPES[view.dtype])
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return np.empty(shape, dtype)
    raw = (c.c_uint8 * (count * dtype.itemsize)).from_address(view.data)
    return np.frombuffer(raw, dtype).reshape(shape).copy()


class Session:
    def __init__(self, runtime, path, threads, name=None, shared=None, folder=None, mapped=False):
        self.runtime, lib = runtime, runtime.lib
        self.handle = c.c_void_p()
        self.module = shared.module if shared else c.c_void_p()
        if not shared:
            opening = OpenOptions(struct_size=c.sizeof(OpenOptions), skip_weight_hash=mapped, map_weights=mapped)
            runtime.check(lib.sinter_module_open(os.fsencode(path), c.byref(opening), c.byref(self.module)))
        options = SessionOptions(struct_size=c.sizeof(SessionOptions), threads=threads, folder=os.fsencode(folder) if folder else None)
        if shared:
            options.state_of = shared.handle
        index = lib.sinter_module_find_function(self.module, name.encode()) if name else 0
        runtime.check(lib.sinter_session_create(self.module, index, c.byref(options), c.byref(self.handle)))
        function = lib.sinter_session_function(self.handle).contents
        self.inputs = [function.inputs[i].name.decode() for i in range(function.num_inputs)]
        self.outputs = [function.outputs[i].name.decode() for i in range(function.num_outputs)]
        count = lib.sinter_session_num_states(self.handle)
        lib.sinter_session_state_name.restype = c.c_char_p
        self.states = [lib.sinter_session_state_name(self.handle, i).decode() for i in range(count)]
        self.bound = {}

    def state(self, name):
        view = Tensor()
        self.runtime.check(self.runtime.lib.sinter_session_state_get(self.handle, name.encode(), c.byref(view)))
        return copy_of(view)

    def memory(self):
        """The session's memory report: bytes by use."""
        report = MemoryReport(struct_size=c.sizeof(MemoryReport))
        self.runtime.check(self.runtime.lib.sinter_session_memory(self.handle, c.byref(report)))
        return report

    def cancel(self):
        self.runtime.lib.sinter_session_cancel(self.handle)

    def save(self, path):
        self.runtime.check(self.runtime.lib.sinter_session_save(self.handle, os.fsencode(path)))

    def load(self, path):
        self.runtime.check(self.runtime.lib.sinter_session_load(self.handle, os.fsencode(path)))

    def set(self, name, array):
        """Binds an input; the array is kept alive, and is copied first where its alignment asks for it."""
        array = np.asarray(array)
        if not array.flags["C_CONTIGUOUS"] or array.ctypes.data % 64:
            array = aligned(array)
        tensor = Tensor(data=array.ctypes.data, dtype=CODES[array.dtype], rank=array.ndim)
        tensor.dims[: array.ndim] = array.shape
        self.runtime.check(self.runtime.lib.sinter_session_set_input(self.handle, self.inputs.index(name), c.byref(tensor)))
        self.bound[name] = array

    def call(self):
        status = self.runtime.lib.sinter_session_run(self.handle)
        if status:
            self.runtime.check(status)

    def result(self, name):
        view = Tensor()
        self.runtime.check(self.runtime.lib.sinter_session_output(self.handle, self.outputs.index(name), c.byref(view)))
        return copy_of(view)

    def run(self, feeds):
        for name, array in feeds.items():
            self.set(name, array)
        self.call()
        return {name: self.result(name) for name in self.outputs}

    def close(self):
        self.runtime.lib.sinter_session_destroy(self.handle)
        self.handle = None
