"""Parallel loops on POSIX threads, behind the signature of `GOMP_parallel`: at home in any process.

Each loop starts its threads and waits for them. They are no threads of Python: no signal handler interrupts the wait,
and nothing is left between loops that a fork or the end of the interpreter could find in a bad state. A thread that
cannot be had is done without; a loop inside a loop runs in the thread that meets it.
"""

from __future__ import annotations

import ctypes

from rfactor.native.engine import Code, compile_module, host

NAME = "POSIX threads"

_TEXT = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare ptr @pthread_getspecific(i64)
declare i32 @pthread_setspecific(i64, ptr)

%loop = type {{ ptr, ptr }}

define internal ptr @run(ptr %loop) {{
  %worker = load ptr, ptr %loop
  %at = getelementptr %loop, ptr %loop, i32 0, i32 1
  %closure = load ptr, ptr %at
  %marked = call i32 @pthread_setspecific(i64 {key}, ptr %loop)
  call void %worker(ptr %closure)
  ret ptr null
}}

define void @launch(ptr %worker, ptr %closure, i32 %threads, i32 %flags) {{
entry:
  %inside = call ptr @pthread_getspecific(i64 {key})
  %outermost = icmp eq ptr %inside, null
  br i1 %outermost, label %begin, label %alone

alone:
  call void %worker(ptr %closure)
  ret void

begin:
  %loop = alloca %loop
  %ids = alloca i64, i32 %threads
  store ptr %worker, ptr %loop
  %at = getelementptr %loop, ptr %loop, i32 0, i32 1
  store ptr %closure, ptr %at
  br label %start

start:
  %started = phi i32 [ 0, %begin ], [ %more, %create ]
  %more = add i32 %started, 1
  %enough = icmp uge i32 %more, %threads
  br i1 %enough, label %work, label %create

create:
  %id = getelementptr i64, ptr %ids, i32 %started
  %failed = call i32 @pthread_create(ptr %id, ptr null, ptr @run, ptr %loop)
  %created = icmp eq i32 %failed, 0
  br i1 %created, label %start, label %work

work:
  %marked = call i32 @pthread_setspecific(i64 {key}, ptr %loop)
  call void %worker(ptr %closure)
  %cleared = call i32 @pthread_setspecific(i64 {key}, ptr null)
  br label %wait

wait:
  %left = phi i32 [ %started, %work ], [ %less, %join ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %done, label %join

join:
  %less = sub i32 %left, 1
  %last = getelementptr i64, ptr %ids, i32 %less
  %thread = load i64, ptr %last
  %joined = call i32 @pthread_join(i64 %thread, ptr null)
  br label %wait

done:
  ret void
}}
"""


def launch() -> int | None:
    """The address of `launch(worker, closure, threads, flags)`; None where the system has no POSIX threads."""
    if not _kept:
        _kept.setdefault("code", _compiled())  # of two threads at once, the code of one
    code = _kept["code"]
    return None if code is None else code.addresses["launch"]


_kept: dict[str, Code | None] = {}
"""What was compiled: never another, as loops run in it."""


def _compiled() -> Code | None:
    try:
        create_key = ctypes.CDLL(None).pthread_key_create
    except (AttributeError, TypeError, OSError):
        return None
    key = ctypes.c_ulong()
    if create_key(ctypes.byref(key), None):
        return None
    return compile_module(_TEXT.format(key=key.value), ["launch"], host())
