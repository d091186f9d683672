"""Test `rfactor fold`: verdicts on the loops of files that are read and not run."""

import json
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from rfactor.cli.fold import fold
from rfactor.errors import Error
from rfactor.loops.lint import Settings, lint


def run(*args):
    """Run the command; give its exit code and output."""
    result = CliRunner().invoke(fold, [str(a) for a in args], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.output


@pytest.fixture
def written(tmp_path):
    """Give a function that writes a file and returns its path."""

    def write(text, name="loops.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


def verdicts(text, **settings):
    """Give the verdicts by function."""
    found = lint(Path("loops.py"), textwrap.dedent(text), Settings(**settings))
    return {j.name: [v.verdict for v in j.loops] for j in found}


SUM = """
def total(a):
    s = 0
    for v in a:
        s += v
    return s
"""


def test_a_file_is_read_and_not_run(written, tmp_path):
    mark = tmp_path / "mark"
    path = written(f"""
        open({str(mark)!r}, "w").write("run")
        LIMIT = int(open({str(mark)!r}, "w").write("run"))
        raise SystemExit("imported")

        def effect(v):
            open({str(mark)!r}, "w").write("run")
            return v

        def total(a, start=open({str(mark)!r}, "w")):
            s = 0
            for v in a:
                s += effect(v)
            for k in range(open({str(mark)!r}, "w").write("run")):
                s += k
            return s
    """)
    code, output = run(path)
    assert code == 0
    assert "[R1]" in output
    assert not mark.exists()


def test_each_form_of_loop_has_its_verdict():
    found = verdicts("""
        from collections import Counter
        import numpy as np

        def total(a: np.ndarray):
            s = 0
            for v in a:
                s += v
            return s

        def running(a):
            out = []
            s = 0
            for v in a:
                s += v
                out.append(s)
            return out

        def counted(words: list[str]):
            d = Counter()
            for w in words:
                d[w] += 1
            return d

        def find(text):
            for i, c in enumerate(text):
                if c == "x":
                    return i
            return -1

        def doubled(a):
            out = np.zeros(len(a), np.int64)
            for i in range(len(a)):
                out[i] = a[i] * 2
            return out

        def squares(m):
            s = 0
            for row in m:
                for x in row:
                    s += x * x
            return s

        def halvings(n):
            k = 0
            while n > 1:
                n = n // 2
                k += 1
            return k
    """)
    assert found == {
        "total": ["fold"], "running": ["scan"], "counted": ["group-by"], "find": ["search"], "doubled": ["map"],
        "squares": ["fold", "part"], "halvings": ["refused"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("import rfactor", "@rfactor.fold"), ("import rfactor as rf", "@rf.fold(floats='serial')"),
        ("from rfactor import fold", "@fold"), ("from rfactor import fold as parallel", "@parallel(timeout=3)"),
    ],
)  # fmt: skip
def test_decorators_are_found_under_their_names(written, imports, decorator):
    path = written(f"{imports}\n{decorator}\ndef f(n):\n    while n > 1:\n        n = n // 2\n    return n\n")
    code, output = run(path)
    assert code == 1
    assert f"{path}:4: @f: refused" in output
    assert "^" in output
    assert run(written(SUM))[0] == 0


def test_a_refused_loop_is_allowed_where_the_decorator_says_so(written):
    text = (
        "import rfactor as rf\n@rf.fold(strict=False)\ndef f(n):\n    while n > 1:\n        n = n // 2\n    return n\n"
    )
    assert run(written(text))[0] == 0


def test_other_decorators_called_fold_are_not_taken_for_it(written):
    text = "from paper import fold\n@fold\ndef f(n):\n    while n > 1:\n        n = n // 2\n    return n\n"
    code, output = run(written(text), "--only", "decorated")
    assert (code, output.strip()) == (0, "")


def test_loops_of_unknown_types_are_unknown(written):
    text = "import rfactor as rf\n@rf.fold\ndef f(g):\n    s = 0\n    for v in g():\n        s += v\n    return s\n"
    code, output = run(written(text))
    assert code == 3
    assert "R10" in output


def test_files_that_are_no_python_are_named_and_the_rest_is_judged(written, tmp_path):
    written("def f(:\n", "bad.py")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00x")
    written(SUM, "good.py")
    code, output = run(tmp_path)
    assert code == 2
    assert "bad.py:1: no Python" in output
    assert "binary.py: cannot be read" in output
    assert "good.py:4: total: fold" in output
    assert run(tmp_path / "none.py")[0] == 2


def test_types_are_said_where_they_are_assumed_and_can_be_given(written):
    path = written(SUM)
    assert "assuming a: int64[:]" in run(path)[1]
    said = json.loads(run(path, "--types", "a=f64[:]", "--json")[1])
    (loop,) = said["files"][0]["functions"][0]["loops"]
    assert loop["assuming"] == []
    assert loop["parts"][0]["operator"] == ["s + s'"]
    assert loop["parts"][0]["commutes"] is True
    with pytest.raises(Error, match="f64"):
        run(path, "--types", "a=nothing")


def test_annotations_and_defaults_are_believed():
    (judged,) = lint(
        Path("loops.py"),
        "import numpy.typing as npt\nimport numpy as np\ndef f(a: npt.NDArray[np.float32], limit=0.5):\n"
        "    n = 0\n    for v in a:\n        if v > limit:\n            n += 1\n    return n\n",
        Settings(),
    )
    assert judged.loops[0].verdict == "fold"
    assert judged.loops[0].assuming == ()


def test_helpers_and_constants_of_the_file_are_looked_into():
    assert verdicts("""
        from math import sqrt
        SCALE = 3 * 2

        def clip(v, low=0):
            return v if v > low else low

        def shown(v):
            print(v)
            return v

        def f(a):
            s = 0
            for v in a:
                s += clip(v) * SCALE
            return s

        def g(a):
            s = 0
            for v in a:
                s += shown(v)
            return s
    """) == {"f": ["fold"], "g": ["refused"]}


def test_helpers_of_files_beside_it_are_looked_into(written):
    written("raise SystemExit\ndef clip(v):\n    return max(v, 0)\n", "tools.py")
    path = written(
        "from tools import clip\ndef f(a):\n    s = 0\n    for v in a:\n        s += clip(v)\n    return s\n"
    )
    assert ": fold:" in run(path)[1]


def test_an_outer_loop_of_folds_runs_as_python():
    assert verdicts("""
        def f(m, log):
            for row in m:
                s = 0
                for v in row:
                    s += v
                log.write(s)
    """)["f"] == ["outer", "fold"]


def test_other_types_are_tried_before_a_type_refuses():
    (judged,) = lint(
        Path("x.py"), "def f(a, b):\n    s = 0.0\n    for v in a:\n        s = s * 0.5 + v\n    return s\n", Settings()
    )
    assert judged.loops[0].verdict == "fold"


def test_generators_and_globals_are_refused():
    found = verdicts("""
        def f(a):
            for v in a:
                yield v

        def g(a):
            global total
            for v in a:
                total += v
    """)
    assert found == {"f": ["refused"], "g": ["refused"]}


def test_a_summary_counts_loops(written):
    assert run(written(SUM), "--summary")[1] == "1 loop in 1 file: 1 fold\n"


def test_a_hundred_functions_take_seconds():
    import time

    text = "".join(SUM.replace("total", f"total{k}").replace("s += v", f"s += v * {k}") for k in range(100))
    start = time.perf_counter()
    assert len(verdicts(text)) == 100
    assert time.perf_counter() - start < 20


def test_attributes_that_a_step_assigns_are_effects_whatever_the_object_is():
    found = lint(
        Path("x.py"),
        "class A:\n    def f(self, a):\n        for v in a:\n            self.total += v * self.rate\n"
        "    def g(self, a):\n        s = 0\n        for v in a:\n            s += v * self.rate\n        return s\n",
        Settings(),
    )
    assert [(j.name, j.loops[0].verdict) for j in found] == [("A.f", "refused"), ("A.g", "fold")]
    assert found[0].loops[0].refusal.kind == "R1"


def test_what_map_and_filter_give_is_walked():
    assert verdicts("""
        def half(v):
            return v // 2

        def f(words: list[str], a):
            s = 0
            for n in map(len, words):
                s += n
            for v in map(half, a):
                s += v
            for v in filter(None, a):
                s += v
            return s
    """) == {"f": ["fold", "fold", "fold"]}
