"""`rfactor demo`: reductions of a photograph, serial and factored, with what was found and proved."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from rfactor.bench.program import Program
from rfactor.cli.programs import of_image
from rfactor.compiler.extraction import extract
from rfactor.compiler.runtime.threads import runtime_name
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.printer import show_tuple
from rfactor.matcher.answer import Answer
from rfactor.matcher.recognize import recognize

LISTING_2 = (
    "select(a*a + b*b > x0*x0 + x1*x1, a, x0), select(a*a + b*b > x0*x0 + x1*x1, b, x1), "
    "select(a*a + b*b > x0*x0 + x1*x1, i, x2), select(a*a + b*b > x0*x0 + x1*x1, j, x3)"
)
"""The largest complex number a + bi by magnitude, with its position (i, j): Listing 2 of the paper."""
REFUSED = "a running average"
CHECKED = {"the paper's Listing 2, largest complex magnitude with its position": LISTING_2, REFUSED: "(x + a) >> 1"}
"""Updates that are shown with their verdict; the second has no associative operator and must be refused."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one reduction of the demo showed."""

    title: str
    update: str
    values: tuple[NDArray[Any], ...]
    """The factored answer, one array a component."""
    answer: Answer
    factor_ms: float
    """Finding the operator and proving it, on this call."""
    serial_ms: float
    factored_ms: float
    numpy_ms: float
    same_bits: bool
    same_as_numpy: bool


@click.command()
@click.option("--image", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Any photograph.")
@click.option("--json", "as_json", is_flag=True, help="One object for machines.")
def demo(image: Path | None, as_json: bool) -> int:
    """Reductions of a photograph: the operator found, its proof, and serial, factored and NumPy's time.

    Serial is the same algorithm without a schedule, through the same passes. Fails if any answer differs in one bit.
    """
    name, pixels = load(image)
    outcomes = [run(program) for program in of_image(pixels)]
    checks = {title: recognize(parse_update(text)) for title, text in CHECKED.items()}
    right = all(outcome.same_bits and outcome.same_as_numpy for outcome in outcomes)
    refused = checks[REFUSED].verdict == "not_associative"
    if as_json:
        click.echo(json.dumps(as_object(name, pixels, outcomes, checks), ensure_ascii=False))
    else:
        report(name, pixels, outcomes, checks)
    for outcome in outcomes:
        if not outcome.same_bits:
            click.echo(f"rfactor demo: {outcome.title}: the factored answer is not the serial one", err=True)
        if not outcome.same_as_numpy:
            click.echo(f"rfactor demo: {outcome.title}: the answer is not NumPy's", err=True)
    if not refused:
        click.echo("rfactor demo: an update that is not associative was accepted", err=True)
    return 0 if right and refused else 1


def load(path: Path | None) -> tuple[str, NDArray[np.uint8]]:
    """A name and the pixels, u8 of shape (height, width, 3), of a file or of the Hubble deep field."""
    try:
        import skimage.io as io
        from skimage import data
        from skimage.color import gray2rgb
    except ImportError:
        raise click.UsageError(
            "the demo reads photographs with scikit-image: pip install 'rfactor-compiler[demo]'"
        ) from None
    if path is None:
        return "Hubble eXtreme Deep Field", np.asarray(data.hubble_deep_field(), dtype=np.uint8)
    try:
        pixels = np.asarray(io.imread(path))
    except Exception as error:  # each reader behind imread has errors of its own
        raise click.BadParameter(f"{path} is not an image that scikit-image reads: {error}") from None
    if pixels.ndim == 2:
        pixels = gray2rgb(pixels)
    if pixels.ndim != 3 or pixels.shape[2] < 3 or 0 in pixels.shape:
        raise click.BadParameter(f"{path} has shape {pixels.shape}; (height, width, 3) is needed")
    if pixels.dtype != np.uint8:
        pixels = (pixels / (np.iinfo(pixels.dtype).max if pixels.dtype.kind == "u" else 1) * 255).astype(np.uint8)
    return path.name, pixels[:, :, :3]


def run(program: Program) -> Outcome:
    """Compute a program serially and factored, and compare."""
    peer = program.numpy
    assert peer is not None, "every reduction of the demo is compared with NumPy's"
    serial, _ = program.algorithm()
    factored, domain = program.algorithm()
    function = factored.function
    extracted = extract(function, function.updates[0], tuple(range(len(function.types))), Meaning.WRAP)
    start = time.perf_counter()
    answer = recognize(extracted.update)
    factor_ms = (time.perf_counter() - start) * 1e3
    program.schedule(factored, domain)
    one, other = program.outputs(), program.outputs()
    serial_ms = best(lambda: serial.realize(_one_or_all(one)))
    factored_ms = best(lambda: factored.realize(_one_or_all(other)))
    numpy_ms = best(peer)
    same = all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))
    agrees = all(np.array_equal(a, np.asarray(b)) for a, b in zip(one, peer(), strict=True))
    text = show_tuple(extracted.update.components)
    return Outcome(program.title, text, other, answer, factor_ms, serial_ms, factored_ms, numpy_ms, same, agrees)


def _one_or_all(arrays: tuple[Any, ...]) -> Any:
    return arrays[0] if len(arrays) == 1 else arrays


def best(call: Callable[[], object], trials: int = 7, at_least_s: float = 0.01) -> float:
    """The least time of one call in milliseconds, over `trials` trials of several calls each."""
    call()
    start = time.perf_counter()
    call()
    calls = max(1, min(200, int(at_least_s / max(time.perf_counter() - start, 1e-7))))
    least = float("inf")
    for _ in range(trials):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        least = min(least, (time.perf_counter() - start) / calls)
    return least * 1e3


def proofs(answer: Answer) -> str:
    """The claims of an answer by method, with the time they took: `table 0.1 ms, smt 12 ms`."""
    spent: dict[str, float] = {}
    for proof in answer.proofs:
        spent[proof.method] = spent.get(proof.method, 0.0) + proof.ms
    return ", ".join(f"{method} {ms:.2f} ms" for method, ms in spent.items())


def report(name: str, pixels: NDArray[np.uint8], outcomes: list[Outcome], checks: dict[str, Answer]) -> None:
    """Print everything for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    height, width, _ = pixels.shape
    console.print(f"[bold]{name}[/bold], {width} x {height} pixels, on {runtime_name()}\n")
    for outcome in outcomes:
        console.print(f"[bold]{outcome.title}[/bold]")
        for label, text in found(outcome.answer).items():
            console.print(f"  {label:<10}{text}", markup=False)
        console.print(f"  {'value':<10}{shown_values(outcome.values)}\n", markup=False)
    times = Table(box=None, pad_edge=False, header_style="bold")
    times.add_column("reduction")
    for column in ("serial", "factored", "speed-up", "NumPy", "found in"):
        times.add_column(column, justify="right", no_wrap=True)
    times.add_column("same bits", no_wrap=True)
    for o in outcomes:
        numbers = (f"{o.serial_ms:.3f} ms", f"{o.factored_ms:.3f} ms", f"{o.serial_ms / o.factored_ms:.1f}x")
        answers = "yes" if o.same_bits and o.same_as_numpy else "[bold red]NO[/bold red]"
        times.add_row(o.title, *numbers, f"{o.numpy_ms:.3f} ms", f"{o.factor_ms:.2f} ms", answers)
    console.print(times)
    for title, answer in checks.items():
        console.print(f"\n[bold]{title}[/bold]")
        for label, text in found(answer).items():
            console.print(f"  {label:<10}{text}", markup=False)


SHOWN = 3
"""Numbers of an answer that are shown."""


def shown_values(values: tuple[NDArray[Any], ...]) -> str:
    """The numbers of an answer, the first few of many."""
    numbers = [str(number) for part in values for number in part.ravel()[: SHOWN + 1]]
    count = sum(part.size for part in values)
    return ", ".join(numbers) if count <= SHOWN else f"{', '.join(numbers[:SHOWN])}, … ({count} numbers)"


def found(answer: Answer) -> dict[str, str]:
    """What is to be said about an answer, by label."""
    said = {"update": show_tuple(answer.update.components), "verdict": answer.verdict.replace("_", " ")}
    if answer.operator is not None:
        said["operator"] = show_tuple(answer.operator)
    if answer.identity is not None:
        said["identity"] = f"{show_tuple(answer.identity)} ({answer.identity_kind})"
    if answer.lift is not None:
        said["lifted to"] = show_tuple(answer.lift.operator)
    if answer.commutative is not None:
        said["commutes"] = "yes" if answer.commutative else "no"
    if answer.proofs:
        said["proved by"] = proofs(answer)
    if answer.reason:
        said["reason"] = answer.reason
    return said


def as_object(
    name: str, pixels: NDArray[np.uint8], outcomes: list[Outcome], checks: dict[str, Answer]
) -> dict[str, object]:
    """Everything for machines."""
    return {
        "image": name,
        "shape": list(pixels.shape),
        "runtime": runtime_name(),
        "reductions": [
            {
                "title": o.title,
                **found(o.answer),
                "value": [part.tolist() for part in o.values],
                "recognise_ms": o.factor_ms,
                "serial_ms": o.serial_ms,
                "factored_ms": o.factored_ms,
                "numpy_ms": o.numpy_ms,
                "same_bits": o.same_bits,
                "same_as_numpy": o.same_as_numpy,
            }
            for o in outcomes
        ],
        "checks": [{"title": title, **found(answer)} for title, answer in checks.items()],
    }
