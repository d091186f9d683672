"""The C source (C++ too) of a Python extension module around a compiled pipeline: see docs/aot.md.

`module.name(input, 5, output)` takes arrays and numbers in the order of the entry's arguments, or by name. Dimension 0
is the innermost axis: of an array that is contiguous in Fortran's order the first one, in C's order the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rfactor.compiler.codegen.entry import Entry, passed_type, type_number
from rfactor.compiler.codegen.header import header
from rfactor.ir.loopnest import BufferArgument, ScalarArgument
from rfactor.ir.types import U16, U64

_HELPERS = r"""
/* The kind and the width of what an array holds, as in rfactor_type; 0 for what no pipeline takes. */
static int32_t rfactor_held(const char *format, int32_t bits) {
    if (*format == '@' || *format == '=' || *format == '<') ++format;
    if (*format == '?') return 256 + 1;
    if (strchr("bhilq", *format)) return bits;
    if (strchr("BHILQ", *format)) return 256 + bits;
    if (strchr("efd", *format)) return 512 + bits;
    return 0;
}

static inline unsigned long long rfactor_unsigned(PyObject *given) {
    unsigned long long value = (unsigned long long)-1;
    PyObject *number = PyNumber_Index(given);
    if (number) {
        value = PyLong_AsUnsignedLongLong(number);
        Py_DECREF(number);
    }
    return value;
}

static int rfactor_taken(PyObject *given, const char *name, int rank, int flags, Py_buffer *view,
                         rfactor_dimension *dim, rfactor_buffer *buffer) {
    int d, fortran;
    if (PyObject_GetBuffer(given, view, PyBUF_FORMAT | PyBUF_STRIDES | flags) < 0) return 0;
    if (view->ndim != rank) {
        PyErr_Format(PyExc_ValueError, "Invalid argument %s: Expected %d dimensions, got %d", name, rank, view->ndim);
        PyBuffer_Release(view);
        return 0;
    }
    fortran = PyBuffer_IsContiguous(view, 'F');
    if (!fortran && !PyBuffer_IsContiguous(view, 'C')) {
        PyErr_Format(PyExc_ValueError, "Invalid argument %s: contiguous in neither C's nor Fortran's order", name);
        PyBuffer_Release(view);
        return 0;
    }
    for (d = 0; d < rank; ++d) {
        int axis = fortran ? d : rank - 1 - d;
        if (view->shape[axis] > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "Invalid argument %s: it is larger than 2^31 in axis %d", name, axis);
            PyBuffer_Release(view);
            return 0;
        }
        dim[d].min = 0;
        dim[d].extent = (int32_t)view->shape[axis];
        dim[d].stride = d == 0 ? 1 : (int64_t)(view->strides[axis] / view->itemsize);
    }
    buffer->data = view->buf;
    buffer->dim = dim;
    buffer->dimensions = rank;
    buffer->type = rfactor_held(view->format ? view->format : "B", (int32_t)(8 * view->itemsize));
    return 1;
}
"""


def extension(entry: Entry, messages: Sequence[str]) -> str:
    """The whole source; it is to be linked with the object file of `entry`."""
    arguments = entry.arguments
    names = [_identifier(entry.titles.get(argument.name, argument.name)) for argument in arguments]
    words = "".join(f'(char *)"{name}", ' for name in names)
    objects = "".join(f"    PyObject *o{i} = NULL;\n" for i in range(len(arguments)))
    parsed = "".join(f", &o{i}" for i in range(len(arguments)))
    buffers = [i for i, argument in enumerate(arguments) if isinstance(argument, BufferArgument)]
    declared = "".join(_declared(i, argument) for i, argument in enumerate(arguments))
    taken = "".join(_taken(i, name, argument) for i, (name, argument) in enumerate(zip(names, arguments, strict=True)))
    passed = ", ".join(f"&b{i}" if i in buffers else f"v{i}" for i in range(len(arguments)))
    released = "".join(f"    if (b{i}.dim) PyBuffer_Release(&p{i});\n" for i in buffers)
    name = entry.name
    return f"""\
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

{header(entry, messages)}
{_HELPERS}
static PyObject *{name}_called(PyObject *module, PyObject *args, PyObject *kwargs) {{
    static char *words[] = {{{words}NULL}};
    PyObject *result = NULL;
    int32_t status;
{objects}{declared}    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "{"O" * len(arguments)}", words{parsed})) return NULL;
{taken}    Py_BEGIN_ALLOW_THREADS
    status = {name}({passed});
    Py_END_ALLOW_THREADS
    if (status)
        PyErr_Format(PyExc_RuntimeError, "{name}: %s", {name}_error(status));
    else
        result = Py_NewRef(Py_None);
done:
{released}    return result;
}}

static PyMethodDef {name}_methods[] = {{
    {{"{name}", (PyCFunction)(void (*)(void)){name}_called, METH_VARARGS | METH_KEYWORDS, NULL}},
    {{NULL, NULL, 0, NULL}}
}};

static struct PyModuleDef {name}_module = {{
    PyModuleDef_HEAD_INIT, "{name}", NULL, -1, {name}_methods, NULL, NULL, NULL, NULL
}};

PyMODINIT_FUNC PyInit_{name}(void) {{
    return PyModule_Create(&{name}_module);
}}
"""


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _declared(index: int, argument: BufferArgument | ScalarArgument) -> str:
    if isinstance(argument, BufferArgument):
        room = max(argument.dimensions, 1)
        return (
            f"    Py_buffer p{index};\n    rfactor_dimension d{index}[{room}];\n    rfactor_buffer b{index} = {{0}};\n"
        )
    wide = "double" if argument.type.is_float else "int" if argument.type.is_bool else _wide(argument)
    return f"    {wide} w{index};\n    {passed_type(argument.type)} v{index};\n"


def _wide(argument: ScalarArgument) -> str:
    return "unsigned long long" if argument.type == U64 else "long long"


def _taken(index: int, name: str, argument: BufferArgument | ScalarArgument) -> str:
    if isinstance(argument, BufferArgument):
        flags = "PyBUF_WRITABLE" if argument.output else "0"
        words = ""
        if argument.type.is_bfloat:  # Python has no such elements: they are given as integers
            words = f"    if (b{index}.type == {type_number(U16)}) b{index}.type = {type_number(argument.type)};\n"
        return (
            f'    if (!rfactor_taken(o{index}, "{name}", {argument.dimensions}, {flags}, &p{index}, d{index}, '
            f"&b{index})) goto done;\n{words}"
        )
    type_, stored = argument.type, f"    v{index} = ({passed_type(argument.type)})w{index};\n"
    if type_.is_bool:
        return f"    w{index} = PyObject_IsTrue(o{index});\n    if (w{index} < 0) goto done;\n{stored}"
    if type_.is_float:
        convert, failed = "PyFloat_AsDouble", "-1.0"
    else:
        convert = "rfactor_unsigned" if type_ == U64 else "PyLong_AsLongLong"
        failed = f"({_wide(argument)})-1"
    text = (
        f"    w{index} = {convert}(o{index});\n    if (w{index} == {failed} && PyErr_Occurred()) goto done;\n{stored}"
    )
    if type_.is_int and type_.bits < 64:
        text += (
            f"    if ((({_wide(argument)})v{index}) != w{index}) {{\n"
            f'        PyErr_SetString(PyExc_OverflowError, "{name}: {type_} holds {type_.min} to {type_.max}");\n'
            f"        goto done;\n    }}\n"
        )
    return text
