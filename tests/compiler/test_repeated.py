"""A call with the arrays of the call before takes a short way: whatever differs has to be seen there."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler import pipeline
from rfactor.compiler.language.changes import LATEST, Changing
from rfactor.compiler.pipeline import prepare
from rfactor.compiler.runtime import alike, arguments
from rfactor.compiler.runtime.alike import Call, look
from rfactor.errors import BufferError

x, y = hl.Var("x"), hl.Var("y")


def known(*arrays: Any) -> Callable[..., bool]:
    seen = look((), arrays, hl.Buffer)
    assert seen is not None
    again = seen.calling(Call(otherwise=lambda _: True), [None], [None], (), ())
    assert again(arrays)
    return lambda *others: again(others)


def repeats(f: hl.Func, *given: Any) -> bool:
    """Whether the next call takes the short way, which it does the third time."""
    for _ in range(2):
        f.realize(*given)
    return bool(f.prepared.repeated(given))


def moved(array: np.ndarray) -> None:
    """The same in all but its place: something else lies there."""
    at, kept = array.ctypes.data, []
    while array.ctypes.data == at:
        array.resize(1, refcheck=False)
        kept.append(np.ones((4, 6), np.int32))
        array.resize((4, 6), refcheck=False)


def reshaped(array: np.ndarray) -> None:
    array.shape = (6, 4)


def restrided(array: np.ndarray) -> None:
    array.strides = (4, 16)


def retyped(array: np.ndarray) -> None:
    array.dtype = np.dtype(np.float32)  # type: ignore[misc]


def fixed(array: np.ndarray) -> None:
    array.flags.writeable = False


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
@pytest.mark.parametrize("change", [moved, reshaped, restrided, retyped, fixed])
def test_what_changes_in_an_array_is_seen(change: Callable[[np.ndarray], None]) -> None:
    first, array, last = np.zeros((), np.int8), np.zeros((4, 6), np.int32), np.zeros(3)
    again = known(first, array, last)
    change(array)
    assert not again(first, array, last)


def test_another_object_is_seen() -> None:
    array, number = np.zeros((4, 6), np.int32), np.zeros((), np.int32)
    again = known(array, number)
    others: list[tuple[Any, ...]] = [
        (array,), (array, number, number), (number, array), (array, 3), (array, None), ("array", number), (),
        (array.copy(), number), (array.T, number), (array[1:], number), (array.view(np.float32), number),
        (array.view(np.matrix), number), (bytes(array), number), (object(), object()),
    ]  # fmt: skip
    assert not any(again(*other) for other in others)
    assert again(array, number)


def test_another_box_at_the_same_place_is_seen() -> None:
    base = np.zeros((9, 9), np.int32)
    again = known(base[:4, :6])
    assert again(base[:4, :6])
    assert not any(again(box) for box in (base[:3, :6], base[:4, :5], base[:8:2, :6], base[:4, ::2][:, :6]))


def test_subclasses_and_other_layouts_are_never_taken_for_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert look((), [np.zeros(3).view(np.recarray)], hl.Buffer) is None
    monkeypatch.setattr(alike, "_held", lambda array: [])
    alike._made.cache_clear()
    assert look((), [np.zeros(3)], hl.Buffer) is None
    alike._made.cache_clear()


def test_the_third_call_is_short_and_gives_the_same() -> None:
    data, f = np.arange(12, dtype=np.int32).reshape(3, 4), hl.Func("f")
    f[x, y] = (hl.Buffer(data)[x, y] + 1, hl.f32(x))
    one, two = np.zeros((3, 4), np.int32), np.zeros((3, 4), np.float32)
    assert repeats(f, (one, two))
    assert repeats(f, [one, two])
    assert repeats(f, one, two)
    data += 5
    assert f.realize((one, two)) is None
    assert np.array_equal(one, data + 1)
    assert np.array_equal(two, np.tile(np.arange(4), (3, 1)))
    assert not f.prepared.repeated((two, one))
    assert not f.prepared.repeated(((one,),))
    assert not f.prepared.repeated(())
    with pytest.raises(BufferError):
        f.realize((two, one))
    with pytest.raises(BufferError):
        f.realize(one)


def test_buffers_take_the_short_way_as_arrays_do() -> None:
    data, f = np.arange(12, dtype=np.int32).reshape(3, 4), hl.Func("f")
    f[x, y] = (hl.Buffer(data)[x, y] + 1, hl.f32(x))
    one, two = np.zeros((3, 4), np.int32), np.zeros((3, 4), np.float32)
    given = hl.Buffer(one), hl.Buffer(two)
    assert repeats(f, given)
    assert repeats(f, *given)
    assert repeats(f, one, two)  # the same arrays, however they are given
    data += 5
    assert f.realize(given) is None
    assert np.array_equal(one, data + 1)
    assert not f.prepared.repeated((given[0], two))
    assert not f.prepared.repeated((given[1], given[0]))
    assert not f.prepared.repeated((hl.Buffer(), given[1]))


def test_buffers_that_lie_elsewhere_or_ask_do_not() -> None:
    f = hl.Func("f")
    f[x] = x
    out = hl.Buffer(hl.Int(32), [4])
    assert repeats(f, out)
    out.set_min([2])
    assert not f.prepared.repeated((out,))
    f.realize(out)
    assert np.asarray(out).tolist() == [2, 3, 4, 5]
    out.set_min([0])
    assert repeats(f, out)
    asking = hl.Buffer.make_bounds_query(hl.Int(32), [4])
    assert not f.prepared.repeated((asking,))
    f.realize(asking)
    assert not f.prepared.repeated((asking,))


def test_arrays_of_several_calls_in_turn() -> None:
    f = hl.Func("f")
    p = hl.Param(hl.Int(32), 1)
    f[x] = x * p
    arrays = [np.zeros(n, np.int32) for n in (3, 5, 5, 3)]
    for k in range(4):
        p.set(k)
        for array in arrays:
            for _ in range(3):
                array.fill(-1)
                f.realize(array)
                assert array.tolist() == [k * i for i in range(len(array))]


def test_numbers_are_those_of_now() -> None:
    p, f = hl.Param(hl.Int(32), 1), hl.Func("f")
    f[x] = x + p
    out = np.zeros(2, np.int32)
    assert repeats(f, out)
    for k in range(3):
        p.set(k)
        assert LATEST[0] is not f.prepared.mark
        assert repeats(f, out)
        assert out.tolist() == [k, k + 1]


def test_images_are_those_of_now() -> None:
    image, f = hl.ImageParam(hl.Int(32), 1), hl.Func("f")
    f[x] = image[x]
    out = np.zeros(2, np.int32)
    image.set(np.array([1, 2, 3], np.int32))
    assert repeats(f, out)
    held = hl.Buffer(np.array([4, 5, 6], np.int32))
    image.set(held)
    assert repeats(f, out)
    assert out.tolist() == [4, 5]
    held.set_min([-1])
    f.realize(out)
    assert out.tolist() == [5, 6]
    image.reset()
    with pytest.raises(BufferError, match="has no array"):
        f.realize(out)


def test_a_buffer_that_begins_elsewhere_is_no_array_that_begins_at_0() -> None:
    f = hl.Func("f")
    f[x] = x
    array = np.zeros(3, np.int32)
    assert repeats(f, array)
    placed = hl.Buffer(array)
    placed.set_min([10])
    for _ in range(3):
        f.realize(placed)
        assert array.tolist() == [10, 11, 12]
        f.realize(array)
        assert array.tolist() == [0, 1, 2]


def test_wrappers_and_directives_are_those_of_now() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    g[x] = x
    f[x] = g[x] * 2
    out = np.zeros(4, np.int32)
    assert repeats(f, out)
    wrapper = g.in_(f)
    assert not f.prepared.repeated((out,))
    f.realize(out)
    assert wrapper in f.prepared.producers
    before = prepare(f)
    assert repeats(f, out)
    g.compute_root()
    assert not f.prepared.repeated((out,))
    assert prepare(f) is not before


def test_a_change_of_something_else_costs_one_longer_call() -> None:
    f, other = hl.Func("f"), hl.Func("other")
    f[x] = x
    out = np.zeros(4, np.int32)
    assert repeats(f, out)
    frozen = f.prepared
    other[x] = x
    assert not f.prepared.repeated((out,))
    f.realize(out)
    assert f.prepared is frozen
    assert f.prepared.repeated((out,))


def test_arrays_are_not_kept() -> None:
    f = hl.Func("f")
    f[x] = x

    class Marked(np.ndarray):
        pass

    base = np.zeros(4, np.int32).view(Marked)
    gone = weakref.ref(base)
    out = np.asarray(base)
    assert repeats(f, out)
    del base, out
    gc.collect()
    assert gone() is None


def test_a_definition_is_there_when_it_says_that_it_changed_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks between the two, in another thread, would not look again."""
    f, change, seen = hl.Func("f"), Changing.__setattr__, list[tuple[object, int]]()
    f[x] = x

    def changed(self: Changing, name: str, value: Any) -> None:
        change(self, name, value)
        seen.append((LATEST[0], len(f.stages)))

    monkeypatch.setattr(Changing, "__setattr__", changed)
    f[x] += 1
    assert [stages for mark, stages in seen if mark is LATEST[0]] == [2]


Native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def calling(code: Any, *arrays: Any, told: Callable[[int], bool] = bool) -> Callable[[tuple[Any, ...]], bool]:
    """A repeated call of `code`, which lets Python in again."""
    seen = look((), arrays, hl.Buffer)
    assert seen is not None
    call = Call(ctypes.cast(code, ctypes.c_void_p).value or 0, otherwise=told, keep=code)
    return seen.calling(call, [None], [None], (), ())


@pytest.mark.parametrize("wrapped", [lambda array: array, hl.Buffer])
def test_arrays_are_held_while_the_code_runs(wrapped: Callable[[Any], Any]) -> None:
    """Whoever gave them in a list may take them out meanwhile."""
    given, alive = [np.zeros(4, np.int32)], list[bool]()
    array = weakref.ref(given[0])
    again = calling(Native(lambda *_: run()), given[0])
    given[:] = [wrapped(given[0])]

    def run() -> int:
        given.clear()
        alive.append(array() is not None)
        return 0

    assert again((given,))
    assert alive == [True]
    assert array() is None


def test_references_are_given_back() -> None:
    image = hl.Buffer(np.zeros(4, np.int32), "given_back")
    f, out = hl.Func("f"), np.zeros(4, np.int32)
    f[x] = image[x]
    placed, moved = hl.Buffer(out), hl.Buffer(out)
    moved.set_min([3])
    asking = hl.Buffer.make_bounds_query(hl.Int(32), [4])
    assert repeats(f, out)
    things = [out, placed, moved, asking, image, image._array, image.mins, placed.mins, moved.mins]
    tries: list[tuple[Any, ...]] = [
        (out,), ([out],), (placed,), (moved,), (asking,), (out, out), (placed, out), (3,), (),
        ([],), (out[:2],), (None,),
    ]  # fmt: skip
    before = [*map(sys.getrefcount, things)]
    for _ in range(100):
        for given in tries:
            f.prepared.repeated(given)
    assert [*map(sys.getrefcount, things)] == before


def test_what_the_code_tells_of_is_raised() -> None:
    low, f = hl.ImageParam(hl.Int(32), 0, "low"), hl.Func("f")
    f[x] = hl.require(low[()] > 3, low[()], "too low")
    held, out = np.array(5, np.int32), np.zeros(4, np.int32)
    low.set(held)
    assert repeats(f, out)
    held[...] = 2
    for _ in range(3):
        with pytest.raises(BufferError, match="too low"):
            f.prepared.repeated((out,))
        with pytest.raises(BufferError, match="too low"):
            f.realize(out)
    held[...] = 9
    assert f.prepared.repeated((out,))
    assert out.tolist() == [9] * 4


def test_no_memory_is_told_of_and_nothing_runs_again() -> None:
    array, told, runs = np.zeros(4), list[int](), list[int]()

    def tell(status: int) -> bool:
        told.append(status)
        raise MemoryError

    def run(*_: Any) -> int:
        runs.append(1)
        return -7

    again = calling(Native(run), array, told=tell)
    with pytest.raises(MemoryError):
        again((array,))
    assert (told, runs) == ([-7], [1])
    assert calling(Native(lambda *_: 0), array, told=tell)((array,))


def test_what_prints_takes_the_short_way_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    f, out = hl.Func("told"), np.zeros(2, np.int32)
    f[x] = hl.print(x * 2, "is told")
    assert repeats(f, out)
    capsys.readouterr()
    f.realize(out)
    assert capsys.readouterr().out.count("is told") == 2


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "sem_timedwait"), reason="no semaphore that can be waited for")
def test_other_threads_run_meanwhile() -> None:
    """The code waits, for at most 20 s, for what only another thread of Python's does."""
    library, array = ctypes.CDLL(None), np.zeros(4)
    semaphore, until = ctypes.create_string_buffer(64), (ctypes.c_int64 * 2)(int(time.time()) + 20, 0)
    library.sem_init(semaphore, 0, 0)
    wait = ctypes.cast(library.sem_timedwait, ctypes.c_void_p).value or 0
    seen = look((), [array], hl.Buffer)
    assert seen is not None
    call = Call(wait, ctypes.addressof(semaphore), ctypes.addressof(until), otherwise=lambda _: False)
    again = seen.calling(call, [None], [None], (), ())
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(again, (array,))
        time.sleep(0.05)
        library.sem_post(semaphore)
        assert answer.result(60)


def test_images_that_are_no_more_set_or_lie_elsewhere_are_seen() -> None:
    image, array, out = hl.ImageParam(hl.Int(32), 1), np.zeros(4, np.int32), np.zeros(3, np.int32)
    seen = look([array], [out], hl.Buffer)
    assert seen is not None
    again = seen.calling(Call(otherwise=lambda _: True), [None], [None], (image,), ((0,),))
    image.set(array)
    assert again((out,))
    image.get().set_min([1])
    assert not again((out,))
    image.set(array[:3])
    assert not again((out,))
    image.set(array.copy())
    assert not again((out,))
    image.reset()
    assert not again((out,))
    image.set(array)
    assert again((out,))


def test_what_asks_is_not_computed_into() -> None:
    f, out = hl.Func("f"), hl.Buffer(hl.Int(32), [4])
    f[x] = x
    assert repeats(f, out)
    out.asks = True
    assert not f.prepared.repeated((out,))


def test_threads_that_call_at_once_get_their_own_numbers() -> None:
    """Each sets the parameter under a lock; what was set last has to be in every call that follows, others' or not."""
    p, f = hl.Param(hl.Int(32), 0), hl.Func("f")
    f[x] = x + p
    outs, lock = [np.zeros(3, np.int32) for _ in range(3)], threading.Lock()

    def work(out: np.ndarray) -> bool:
        right = True
        for k in range(200):
            with lock:
                p.set(k // 7)
                for _ in range(k % 4):
                    f.realize(out)
                    right &= out.tolist() == [k // 7, k // 7 + 1, k // 7 + 2]
            f.realize(out)
        return right

    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(work, outs)] == [True] * 3


def test_signed_zeros_and_truth_values_are_numbers_of_their_own() -> None:
    p, f = hl.Param(hl.Float(32), 0.0), hl.Func("f")
    f[x] = 1 / p
    out = np.zeros(1, np.float32)
    for value, wanted in ((0.0, np.inf), (-0.0, -np.inf), (0.0, np.inf)):
        p.set(value)
        for _ in range(4):
            f.realize(out)
            assert out[0] == wanted


def test_numbers_of_a_callable_are_not_those_of_its_function() -> None:
    p, f = hl.Param(hl.Int(32), 1), hl.Func("f")
    f[x] = x + p
    out = np.zeros(2, np.int32)
    compiled = f.compile_to_callable([p])
    for _ in range(4):
        f.realize(out)
        assert out.tolist() == [1, 2]
        compiled(7, out)
        assert out.tolist() == [7, 8]
        assert repeats(f, out)
        assert out.tolist() == [1, 2]


def test_what_is_no_tuple_is_an_error() -> None:
    again = calling(Native(lambda *_: 0), np.zeros(3))
    with pytest.raises(SystemError):
        again(3)  # type: ignore[arg-type]


def test_an_image_that_gets_another_array_meanwhile_is_read_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may give it one at any moment: what is kept of an array has to be of that one."""
    first, second = np.full(4, 1, np.int32), np.full(4, 2, np.int32)
    image, f, out = hl.Buffer(first, "meanwhile"), hl.Func("meanwhile_read"), np.zeros(4, np.int32)
    f[x] = image[x]

    def asked(array: np.ndarray, mins: tuple[int, ...]) -> tuple[object, ...]:
        image._array = second
        return arguments.seen(array, mins)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "seen", asked)
        f.realize(out)
        assert out.tolist() == [1] * 4
    for array in (first, second, first, first, first):
        image._array = array
        f.realize(out)
        assert out.tolist() == array.tolist()
