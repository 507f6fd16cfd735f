# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C ABI from a host that has nothing but a foreign function interface: ctypes of Python's standard library."""
import ctypes as c
import sys

MAX_RANK = 16
F32, I64 = 2, 9
BOOL, I64_ATTR, F64, STRING, I64S, TYPE = 1, 2, 3, 4, 5, 10


class ValueType(c.Structure):
    _fields_ = [("dtype", c.c_int32), ("rank", c.c_int32), ("dims", c.c_int64 * MAX_RANK)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int32), ("rank", c.c_int32), ("dims", c.c_int64 * MAX_RANK),
                ("strides", c.POINTER(c.c_int64))]


class AttrValue(c.Union):
    _fields_ = [("i64", c.c_int64), ("f64", c.c_double), ("string", c.c_char_p), ("i64s", c.POINTER(c.c_int64)),
                ("type", c.POINTER(ValueType))]


class Attr(c.Structure):
    _anonymous_ = ("value",)
    _fields_ = [("name", c.c_char_p), ("kind", c.c_int32), ("count", c.c_int32), ("value", AttrValue)]


sinter = c.CDLL(sys.argv[1])
sinter.sinter_last_error.restype = c.c_char_p


def check(status):
    if status:
        sys.exit(sinter.sinter_last_error().decode())


graph, module, session = c.c_void_p(), c.c_void_p(), c.c_void_p()
check(sinter.sinter_graph_create(c.byref(graph)))

batch = c.c_int64()
check(sinter.sinter_graph_symbol(graph, b"batch", c.byref(batch)))
rows = ValueType(F32, 2, (c.c_int64 * MAX_RANK)(batch.value, 3))
x = c.c_uint32()
check(sinter.sinter_graph_begin(graph, b"norms", 1, c.byref(rows), None, c.byref(x)))


def op(name, operands, attrs=()):
    values = (c.c_uint32 * len(operands))(*operands)
    result, count = c.c_uint32(), c.c_int32()
    check(sinter.sinter_graph_op(graph, name, len(operands), values, len(attrs), (Attr * len(attrs))(*attrs), 1, c.byref(result),
                                 c.byref(count)))
    return result.value


axes = (c.c_int64 * 1)(1)
attrs = [Attr(b"axes", I64S, 1, AttrValue(i64s=axes)), Attr(b"combiner", STRING, 0, AttrValue(string=b"add"))]
y = op(b"sqrt", [op(b"reduce", [op(b"mul", [x.value, x.value])], attrs)])
kind = ValueType()
check(sinter.sinter_graph_value_type(graph, y, c.byref(kind)))
print("type", kind.dtype, kind.rank, kind.dims[0] == batch.value)
check(sinter.sinter_graph_end(graph, 1, (c.c_uint32 * 1)(y), None, None))

# A mistake is a status and a message.
status = sinter.sinter_graph_op(graph, b"add", 0, None, 0, None, 0, None, c.byref(c.c_int32()))
print(status, sinter.sinter_last_error().decode())

check(sinter.sinter_graph_compile(graph, None, c.byref(module)))
sinter.sinter_graph_destroy(graph)
check(sinter.sinter_session_create(module, 0, None, c.byref(session)))
sinter.sinter_module_close(module)
for data in ([3, 4, 0, 1, 2, 2], [2, 3, 6]):
    floats = (c.c_float * len(data))(*data)
    given = Tensor(c.cast(floats, c.c_void_p), F32, 2, (c.c_int64 * MAX_RANK)(len(data) // 3, 3), None)
    found = Tensor()
    check(sinter.sinter_session_call(session, 1, c.byref(given), 1, c.byref(found)))
    print(list(c.cast(found.data, c.POINTER(c.c_float))[0:found.dims[0]]))

outputs, count = (Tensor * 1)(), c.c_int32()
given = Tensor(c.cast((c.c_float * 2)(9, 16), c.c_void_p), F32, 1, (c.c_int64 * MAX_RANK)(2), None)
check(sinter.sinter_eager(b"sqrt", 1, c.byref(given), 0, None, 1, outputs, c.byref(count)))
print(list(c.cast(outputs[0].data, c.POINTER(c.c_float))[0:2]))
sinter.sinter_tensor_free(outputs)
sinter.sinter_session_destroy(session)
