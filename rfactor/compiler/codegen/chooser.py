"""One C function in front of several of one signature, each compiled for other features of an x86 processor.

It calls the first whose features the processor has and whose registers the system saves; the last is for all others.
"""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.errors import TargetError

_IMPLIED = {
    "sse4.1": ("ssse3",),
    "sse4.2": ("sse4.1",),
    "avx": ("sse4.2",),
    "avx2": ("avx",),
    "avxvnni": ("avx2",),
    "f16c": ("avx",),
    "fma": ("avx",),
    "fma4": ("avx", "sse4a"),
    "avx512f": ("avx2", "f16c", "fma"),
    **dict.fromkeys(["avx512cd", "avx512vl", "avx512bw", "avx512dq", "avx512ifma", "avx512vnni"], ("avx512f",)),
    **dict.fromkeys(["avx512vbmi", "avx512bf16"], ("avx512bw",)),
}
"""What LLVM takes to be there where a feature is."""
_LEAVES = ((1, 0), (7, 0), (7, 1), (0x80000001, 0))
"""What `cpuid` is asked: a leaf and its part."""
_BITS = {
    "ssse3": (0, 2, 9), "fma": (0, 2, 12), "sse4.1": (0, 2, 19), "sse4.2": (0, 2, 20), "osxsave": (0, 2, 27),
    "avx": (0, 2, 28), "f16c": (0, 2, 29),
    "avx2": (1, 1, 5), "avx512f": (1, 1, 16), "avx512dq": (1, 1, 17), "avx512ifma": (1, 1, 21),
    "avx512cd": (1, 1, 28), "avx512bw": (1, 1, 30), "avx512vl": (1, 1, 31),
    "avx512vbmi": (1, 2, 1), "avx512vnni": (1, 2, 11),
    "avxvnni": (2, 0, 4), "avx512bf16": (2, 0, 5),
    "sse4a": (3, 2, 6), "fma4": (3, 2, 16),
}  # fmt: skip
"""Where a feature is told of: the number of the leaf above, of the register among EAX, EBX, ECX, EDX, of the bit."""
_SAVED = {"avx": 0x6, "avx512f": 0xE6}
"""The bits of XCR0 that say that the system saves the registers of a feature."""

_FOUR = "{i32, i32, i32, i32}"
_CPUID = f'call {_FOUR} asm sideeffect "cpuid", "={{ax}},={{bx}},={{cx}},={{dx}},{{ax}},{{cx}}"'
_XGETBV = 'call {i32, i32} asm sideeffect "xgetbv", "={ax},={dx},{cx}"(i32 0)'


def chooser(name: str, signature: Sequence[str], variants: Sequence[tuple[str, frozenset[str]]]) -> str:
    """LLVM IR of `name`, which takes values of the LLVM types `signature` and returns i32, and of `NAME_error`.

    `variants` are functions, and LLVM's features that each was compiled for; of the last they are not asked for.
    All have an `…_error` of the same answers. Raises `TargetError` for features that a program cannot ask for.
    """
    base, last = variants[-1][0], len(variants) - 1
    given = ", ".join(f"{type} %a{i}" for i, type in enumerate(signature))
    declared = "\n".join(f'declare i32 @"{variant}"({", ".join(signature)})' for variant, _ in variants)
    cases = " ".join(f"i32 {i}, label %v{i}" for i in range(last))
    calls = "\n".join(
        f'v{i}:\n  %r{i} = call i32 @"{variant}"({given})\n  ret i32 %r{i}' for i, (variant, _) in enumerate(variants)
    )
    return f"""\
{declared}
declare ptr @"{base}_error"(i32)
@"{name}.chosen" = internal global i32 -1
define i32 @"{name}"({given}) {{
entry:
  %known = load atomic i32, ptr @"{name}.chosen" monotonic, align 4
  %asked = icmp ne i32 %known, -1
  br i1 %asked, label %go, label %ask
ask:
  %found = call i32 @"{name}.choose"()
  store atomic i32 %found, ptr @"{name}.chosen" monotonic, align 4
  br label %go
go:
  %which = phi i32 [%known, %entry], [%found, %ask]
  switch i32 %which, label %v{last} [{cases}]
{calls}
}}
define ptr @"{name}_error"(i32 %number) {{
  %text = call ptr @"{base}_error"(i32 %number)
  ret ptr %text
}}
define internal i32 @"{name}.choose"() {{
{_choice([features for _, features in variants])}
}}
"""


def needed(features: frozenset[str]) -> frozenset[str]:
    """`features` and all that LLVM takes to be there with them. Raises `TargetError` for one that no bit tells of."""
    found: set[str] = set()
    left = list(features)
    while left:
        one = left.pop()
        if one not in _BITS:
            raise TargetError(f"a program cannot ask at run time for {one}: compile one object a target")
        if one not in found:
            found.add(one)
            left += _IMPLIED.get(one, ())
    return frozenset(found)


def _choice(wanted: Sequence[frozenset[str]]) -> str:
    """The body of a function that gives the number of the first of `wanted` that is there, or of the last."""
    lines = ["entry:"]
    for at, of in ((0, 0), (1, 0x80000000)):
        lines += [f"  %m{at} = {_CPUID}(i32 {_signed(of)}, i32 0)", f"  %most{at} = extractvalue {_FOUR} %m{at}, 0"]
    for i, (leaf, part) in enumerate(_LEAVES):
        lines += [f"  %c{i} = {_CPUID}(i32 {_signed(leaf)}, i32 {part})"]
        # A leaf that is not there answers with what another holds; how many parts it has, its first part says in EAX.
        lines += [f"  %is{i}.0 = icmp uge i32 %most{leaf >> 31}, {_signed(leaf)}"]
        if part:
            lines += [f"  %parts{i} = icmp uge i32 %r{i - 1}.0, {part}", f"  %is{i} = and i1 %is{i}.0, %parts{i}"]
        else:
            lines += [f"  %is{i} = or i1 %is{i}.0, false"]
        for r in range(4):
            lines += [f"  %x{i}.{r} = extractvalue {_FOUR} %c{i}, {r}"]
            lines += [f"  %r{i}.{r} = select i1 %is{i}, i32 %x{i}.{r}, i32 0"]
    leaf, register, bit = _BITS["osxsave"]
    lines += [f"  %can = and i32 %r{leaf}.{register}, {1 << bit}", "  %tells = icmp ne i32 %can, 0"]
    lines += ["  br i1 %tells, label %told, label %go", "told:", f"  %xcr = {_XGETBV}"]
    lines += ["  %low = extractvalue {i32, i32} %xcr, 0", "  br label %go", "go:"]
    lines += ["  %saved = phi i32 [0, %entry], [%low, %told]"]
    chosen = str(len(wanted) - 1)
    for v in reversed(range(len(wanted) - 1)):
        asked = _asked(needed(wanted[v]))
        lines += [f"  %all{v}.0 = or i1 true, true"]
        for n, (value, mask) in enumerate(asked):
            lines += [f"  %m{v}.{n} = and i32 {value}, {_signed(mask)}"]
            lines += [f"  %e{v}.{n} = icmp eq i32 %m{v}.{n}, {_signed(mask)}"]
            lines += [f"  %all{v}.{n + 1} = and i1 %all{v}.{n}, %e{v}.{n}"]
        lines += [f"  %v{v} = select i1 %all{v}.{len(asked)}, i32 {v}, i32 {chosen}"]
        chosen = f"%v{v}"
    return "\n".join([*lines, f"  ret i32 {chosen}"])


def _asked(features: frozenset[str]) -> list[tuple[str, int]]:
    """Values, and the bits that must be set in them."""
    masks: dict[str, int] = {}
    for feature in sorted(features):
        leaf, register, bit = _BITS[feature]
        value = f"%r{leaf}.{register}"
        masks[value] = masks.get(value, 0) | 1 << bit
        if feature in _SAVED:
            masks["%saved"] = masks.get("%saved", 0) | _SAVED[feature]
    return sorted(masks.items())


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >> 31 else bits
