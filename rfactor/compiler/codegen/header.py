"""The C header of a compiled pipeline: its structs and the declaration of its entry. See docs/aot.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rfactor.compiler.codegen.entry import PARALLEL, THREADS, Entry, passed_type, type_number
from rfactor.ir.loopnest import BufferArgument, ScalarArgument
from rfactor.ir.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64

_NAMES = {
    I8: "int8", I16: "int16", I32: "int32", I64: "int64", U8: "uint8", U16: "uint16", U32: "uint32", U64: "uint64",
    F16: "float16", BF16: "bfloat16", F32: "float32", F64: "float64", BOOL: "bool",
}  # fmt: skip
_TYPES = "\n".join(f"    rfactor_{name} = {type_number(type_)}," for type_, name in _NAMES.items())

_SHARED = f"""\
#ifndef RFACTOR_BUFFER_H
#define RFACTOR_BUFFER_H

/* One dimension of an array; dimension 0 is the innermost. */
typedef struct rfactor_dimension {{
    int32_t min;    /* the least coordinate */
    int32_t extent; /* the number of coordinates */
    int64_t stride; /* from one to the next, in elements */
}} rfactor_dimension;

/* An array of the caller's. The element at (x, y) is
   data[(x - dim[0].min)*dim[0].stride + (y - dim[1].min)*dim[1].stride]. */
typedef struct rfactor_buffer {{
    void *data;
    rfactor_dimension *dim;
    int32_t dimensions;
    int32_t type; /* one of rfactor_type */
}} rfactor_buffer;

/* What an array holds: 256 times the kind (0 signed, 1 unsigned, 2 float, 4 brain float), plus the bits. A bool is a
   byte, 0 or 1. */
enum rfactor_type {{
{_TYPES}
}};

/* Runs worker(closure) on up to so many threads at once, and returns when all are done. A program may define the two;
   where it does not, loops run on the calling thread. With RFACTOR_OPENMP defined in one file, OpenMP runs them. */
void {PARALLEL}(void (*worker)(void *), void *closure, unsigned threads, unsigned flags);
int {THREADS}(void);

#ifdef RFACTOR_OPENMP
#include <omp.h>
void {PARALLEL}(void (*worker)(void *), void *closure, unsigned threads, unsigned flags) {{
    (void)flags;
#pragma omp parallel num_threads(threads)
    worker(closure);
}}
int {THREADS}(void) {{ return omp_get_max_threads(); }}
#endif

#endif
"""


def header(entry: Entry, messages: Sequence[str]) -> str:
    """The header, with the meaning of every number that the entry returns."""
    guard = f"{entry.name.upper()}_H"
    arguments = ", ".join(declared(a, i) for i, a in zip(range(len(entry.arguments)), entry.arguments, strict=True))
    notes = "".join(f"   {comment(_told(a, entry.titles))}\n" for a in entry.arguments)
    numbers = "".join(f"   {i + 1}: {comment(text)}\n" for i, text in zip(range(len(messages)), messages, strict=True))
    return f"""\
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{_SHARED}
/* {comment(entry.lowered.name)}. Returns 0, or -1 without memory for an intermediate, or a number from below; prints
   nothing. An output may share no memory with another argument. Arguments, in order:
{notes}*/
int32_t {entry.name}({arguments or "void"});

/* What a number says:
{numbers}*/
const char *{entry.name}_error(int32_t number);

#ifdef __cplusplus
}}
#endif

#endif
"""


def declared(argument: BufferArgument | ScalarArgument, index: int) -> str:
    """Argument number `index` as the function declares it."""
    name = f"a{index}"
    if isinstance(argument, BufferArgument):
        return f"{'' if argument.output else 'const '}rfactor_buffer *{name}"
    return f"{passed_type(argument.type)} {name}"


def comment(text: str) -> str:
    """`text` as a part of a comment, which it neither ends nor begins, whatever names are in it."""
    plain = "".join(c if c.isprintable() and c not in "\\?" else " " for c in text)
    return plain.replace("*/", "* /").replace("/*", "/ *")


def _told(argument: BufferArgument | ScalarArgument, titles: Mapping[str, str]) -> str:
    if isinstance(argument, BufferArgument):
        kind = "output" if argument.output else "input"
        title = titles.get(argument.name, argument.name)
        step = ", of stride 1 in dimension 0" if argument.dimensions and argument.dense else ""
        return f"{kind} {title}: rfactor_{_NAMES[argument.type]}, {argument.dimensions} dimensions{step}"
    return f"scalar {titles.get(argument.name, argument.name)}"
