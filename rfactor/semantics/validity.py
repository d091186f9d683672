"""The validity rules of the algorithm language: what makes a list of definitions a program.

After *Formal Semantics for the Halide Language* (2020), section 4.3. The rule above all is the syntactic separation
restriction (definition 4.2): it is what lets pure variables be looped over in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rfactor.errors import AlgorithmError, TypeMismatch
from rfactor.ir.algorithm import Algorithm, Definition, Function, Image, Reading, ReductionDomain
from rfactor.ir.effects import Print
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, intrinsic, select, walk
from rfactor.ir.several import Several, points
from rfactor.ir.types import BOOL, I32, I64, Type


@dataclass(frozen=True, slots=True)
class Scope:
    """What a definition may refer to besides its own variables."""

    functions: Mapping[str, Function]
    """The functions defined before, by name."""
    images: Mapping[str, Image]
    parameters: Mapping[str, Var]
    """Scalars given at run time, the boxes of images and outputs among them."""


def validate(algorithm: Algorithm) -> None:
    """Check that `algorithm` is a valid program (definition 4.5). Raises `AlgorithmError` at the first rule broken."""
    images = {image.name: image for image in algorithm.images}
    parameters = {parameter.name: parameter for parameter in algorithm.parameters}
    ranks = {image.name: image.dimensions for image in algorithm.images}
    ranks |= {f.name: len(f.variables) for f in algorithm.functions if f.name in algorithm.outputs}
    for array, rank in ranks.items():
        for d in range(rank):
            for end, type_ in (("min", I32), ("extent", I32), ("stride", I64)):
                parameters[f"{array}.{end}.{d}"] = Var(type_, f"{array}.{end}.{d}")
    for reading in algorithm.readings:
        _reading(reading, images, parameters)
        parameters[reading.var.name] = reading.var
    _distinct((*(f.name for f in algorithm.functions), *images, *parameters), "functions, images and parameters")
    known: dict[str, Function] = {}
    for function in algorithm.functions:
        validate_function(function, Scope(dict(known), images, parameters))
        known[function.name] = function
    for output in algorithm.outputs:
        if output not in known:
            raise AlgorithmError(f"the output {output} is not defined")


def _reading(reading: Reading, images: Mapping[str, Image], parameters: Mapping[str, Var]) -> None:
    """What is read before anything is computed is read at a point that is known then."""
    image = images.get(reading.value.name)
    if image is None or reading.value.kind != "image" or len(reading.value.args) != image.dimensions:
        raise AlgorithmError(f"{reading.value}, which bounds a reduction domain, is no element of an image")
    for index in reading.value.args:
        for node in walk(index):
            if isinstance(node, Call) and node.kind != "intrinsic":
                raise AlgorithmError(f"{node} in {reading.value} is not known before a reduction domain is")
            if isinstance(node, Var) and node.name not in parameters:
                raise AlgorithmError(
                    f"the bound {reading.value} of a reduction domain depends on {node.name}, which varies: bounds are "
                    "of numbers, parameters and what images hold at points of such"
                )


def validate_function(function: Function, scope: Scope) -> None:
    """Check every stage of `function`, in order. Raises `AlgorithmError`."""
    _distinct(function.variables, f"the pure variables of {function.name}")
    if not function.types:
        raise AlgorithmError(f"{function.name} has no value: give it one component or more")
    for number in range(len(function.stages)):
        validate_stage(function, number, scope)


def validate_stage(function: Function, number: int, scope: Scope) -> None:
    """Check stage `number` of `function` (0 is the pure definition). Raises `AlgorithmError`."""
    definition = function.stages[number]
    update = number - 1 if definition.update is None else definition.update
    where = f"{function.name}, update {update}" if number else f"{function.name}, pure definition"
    _shape(function, definition, where)
    domain = definition.domain or ReductionDomain(())
    if number == 0:
        _pure(function, definition, where)
    _domain(function, domain, scope, where)
    for name in function.variables:
        if name in scope.parameters:
            raise AlgorithmError(f"{where}: {name} is both a pure variable and a parameter; rename one")
    bound = {name: Var(I32, name) for name in function.variables}
    bound |= {rv.name: rv.var for rv in domain.variables}
    written = points(definition.arguments, definition.values)
    several = (expr for arguments, values in written for expr in (*arguments, *values))
    for expr in (*several, domain.predicate):
        _well_formed(expr, function, bound, scope, where)
    _separation(function, definition, where)


def _distinct(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise AlgorithmError(f"the names of {what} must be distinct; {name} is there twice")
        seen.add(name)


def _shape(function: Function, definition: Definition, where: str) -> None:
    """Numbers and types of arguments and values."""
    rank = len(function.variables)
    if len(definition.arguments) != rank:
        raise AlgorithmError(f"{where}: {function.name} has {rank} dimensions, not {len(definition.arguments)}")
    for d, argument in enumerate(definition.arguments):
        if argument.type != I32:
            raise AlgorithmError(f"{where}: argument {d} ({argument}) is {argument.type}; coordinates are i32: cast it")
    types = tuple(value.type for value in definition.values)
    if types != function.types:
        raise AlgorithmError(
            f"{where}: the values have types ({', '.join(map(str, types))}); "
            f"{function.name} holds ({', '.join(map(str, function.types))})"
        )


def _pure(function: Function, definition: Definition, where: str) -> None:
    """The first stage is defined everywhere, without loops and without itself."""
    if definition.arguments != tuple(Var(I32, name) for name in function.variables):
        raise AlgorithmError(f"{where}: its arguments must be {function.name}'s own variables, each alone")
    if definition.domain is not None:
        raise AlgorithmError(f"{where}: reduction variables belong in an update; give {function.name} a value first")
    for call in _self_calls(function, definition.values):
        raise AlgorithmError(f"{where}: refers to itself in {call}; only updates may")


def _domain(function: Function, domain: ReductionDomain, scope: Scope, where: str) -> None:
    """Bounds are known before the loop they bound starts; the predicate is a bool."""
    _distinct((rv.name for rv in domain.variables), f"reduction variables in {where}")
    taken = {*function.variables, *scope.parameters}
    outer = {name: Var(I32, name) for name in function.variables}
    for rv in reversed(domain.variables):
        if rv.name in taken:
            raise AlgorithmError(f"{where}: {rv.name} is both a reduction variable and another variable")
        for end, expr in (("min", rv.min), ("extent", rv.extent)):
            if expr.type != I32:
                raise AlgorithmError(f"{where}: the {end} of {rv.name} is {expr.type}, not i32")
            for node in walk(expr):
                if isinstance(node, Call) and node.kind != "intrinsic":
                    raise AlgorithmError(
                        f"{where}: the {end} of {rv.name} reads {node}; bounds of reduction domains are made of "
                        "parameters and extents of images: use a wider domain and where()"
                    )
            _well_formed(expr, function, outer, scope, f"{where}, {end} of {rv.name}")
        outer[rv.name] = rv.var
    if domain.predicate.type != BOOL:
        raise AlgorithmError(f"{where}: the predicate {domain.predicate} is {domain.predicate.type}, not bool")


def _well_formed(expr: Expr, function: Function, bound: Mapping[str, Var], scope: Scope, where: str) -> None:
    """Every variable is bound, every call fits what it calls, and every operation its operands."""
    for node in walk(expr):
        if isinstance(node, Var):
            _variable(node, function, bound, scope, where)
        elif isinstance(node, Call):
            _call(node, function, scope, where)
        elif isinstance(node, Op):
            _operation(node, where)
        elif isinstance(node, Print):
            if node.condition.type != BOOL:
                raise AlgorithmError(f"{where}: {node.condition} is {node.condition.type}, not bool")
        elif isinstance(node, Several):
            raise AlgorithmError(f"{where}: several points are written by updates; a domain takes no gather or scatter")
        elif not isinstance(node, Const):
            raise AlgorithmError(f"{where}: {node} belongs in loop nests, not in algorithms")


def _variable(node: Var, function: Function, bound: Mapping[str, Var], scope: Scope, where: str) -> None:
    meant = bound.get(node.name) or scope.parameters.get(node.name)
    if meant is None:
        raise AlgorithmError(
            f"{where}: {node.name} is unknown there; known are the variables of {function.name} "
            f"({', '.join(function.variables)}), the reduction variables of this update and the parameters"
        )
    if meant.type != node.type:
        raise AlgorithmError(f"{where}: {node.name} is {meant.type}, used as {node.type}")


def _call(node: Call, function: Function, scope: Scope, where: str) -> None:
    if node.kind == "intrinsic":
        try:
            checked = intrinsic(node.name, *node.args)
        except TypeMismatch as error:
            raise AlgorithmError(f"{where}: {error}") from error
        if checked.type != node.type:
            raise AlgorithmError(f"{where}: {node} is {checked.type}, not {node.type}")
        return
    types: tuple[Type, ...]
    if node.kind == "image":
        image = scope.images.get(node.name)
        if image is None:
            raise AlgorithmError(f"{where}: the image {node.name} is not declared")
        rank, types = image.dimensions, (image.type,)
    else:
        callee = function if node.name == function.name else scope.functions.get(node.name)
        if callee is None:
            raise AlgorithmError(f"{where}: calls {node.name}, which is not defined before {function.name}")
        rank, types = len(callee.variables), callee.types
    if len(node.args) != rank:
        raise AlgorithmError(f"{where}: {node.name} has {rank} dimensions; {node} gives {len(node.args)}")
    for arg in node.args:
        if arg.type != I32:
            raise AlgorithmError(f"{where}: {arg} in {node} is {arg.type}; coordinates are i32: cast it")
    if not 0 <= node.index < len(types) or node.type != types[node.index]:
        raise AlgorithmError(
            f"{where}: {node} is read as component {node.index} of {node.type}; "
            f"{node.name} holds ({', '.join(map(str, types))})"
        )


def _operation(node: Op, where: str) -> None:
    if node.op == "cast":
        return
    try:
        checked = select(*node.args) if node.op == "select" else apply(node.op, *node.args)
    except TypeMismatch as error:
        raise AlgorithmError(f"{where}: {error}") from error
    if checked.type != node.type:
        raise AlgorithmError(f"{where}: {node} is {checked.type}, not {node.type}")


def _expressions(definition: Definition) -> tuple[Expr, ...]:
    """Every expression of a stage."""
    domain = definition.domain or ReductionDomain(())
    bounds = (expr for rv in domain.variables for expr in (rv.min, rv.extent))
    return (*definition.expressions, *bounds)


def _self_calls(function: Function, exprs: Iterable[Expr]) -> tuple[Call, ...]:
    found: dict[Call, None] = {}
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, Call) and node.kind == "func" and node.name == function.name:
                found.setdefault(node)
    return tuple(found)


def pure_dimensions(function: Function, definition: Definition) -> tuple[int, ...]:
    """The dimensions whose own variable stands alone on the left-hand side of `definition` (definition 4.3)."""
    return tuple(
        d
        for d, (name, argument) in enumerate(zip(function.variables, definition.arguments, strict=True))
        if isinstance(argument, Var) and argument.name == name
    )


def _separation(function: Function, definition: Definition, where: str) -> None:
    """Definition 4.2: a pure variable used anywhere in a stage stands alone, at its own place, in every access of the
    function itself, on the left-hand side and on the right."""
    exprs = _expressions(definition)
    used = {node.name for expr in exprs for node in walk(expr) if isinstance(node, Var)}
    accesses = [definition.arguments, *(call.args for call in _self_calls(function, exprs))]
    for d, name in enumerate(function.variables):
        if name not in used:
            continue
        for arguments in accesses:
            argument = arguments[d]
            if not (isinstance(argument, Var) and argument.name == name):
                access = f"{function.name}({', '.join(map(str, arguments))})"
                raise AlgorithmError(
                    f"{where}: the pure variable {name} is used, but {access} has {argument} in its place. "
                    f"Where {name} is used, every access of {function.name} must have {name} itself as argument {d}; "
                    "use a reduction variable for what moves along that dimension"
                )
