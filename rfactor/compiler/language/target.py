"""Targets by Halide's names: `Target("x86-64-linux-avx2")`, `Target("arm-64-linux")`, `Target("host")`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rfactor.compiler.language.devices import DeviceAPI, feature_of
from rfactor.compiler.language.public import public
from rfactor.compiler.language.target_features import TargetArch, TargetFeature, TargetOS, TargetProcessorTune
from rfactor.compiler.language.types import Type
from rfactor.errors import TargetError, TypeMismatch
from rfactor.native import engine

_X86 = {
    "sse41": "sse4.1",
    "avx": "avx",
    "avx2": "avx2",
    "avxvnni": "avxvnni",
    "f16c": "f16c",
    "fma": "fma",
    "fma4": "fma4",
    "avx512": "avx512f avx512cd",
    "avx512_skylake": "avx512f avx512cd avx512vl avx512bw avx512dq",
    "avx512_cannonlake": "avx512f avx512cd avx512vl avx512bw avx512dq avx512ifma avx512vbmi",
    "avx512_sapphirerapids": "avx512f avx512cd avx512vl avx512bw avx512dq avx512ifma avx512vbmi avx512vnni avx512bf16",
    "avx512_zen4": "avx512f avx512cd avx512vl avx512bw avx512dq avx512ifma avx512vbmi avx512vnni avx512bf16",
    "avx512_zen5": "avx512f avx512cd avx512vl avx512bw avx512dq avx512ifma avx512vbmi avx512vnni avx512bf16 avxvnni",
}
_ARM = {
    "sve": "sve",
    "sve2": "sve2",
    "arm_dot_prod": "dotprod",
    "arm_fp16": "fullfp16",
    **{f"armv8{n or ''}a": f"v8.{n}a" if n else "v8a" for n in range(10)},
}
_POWER = {"vsx": "vsx", "power_arch_2_07": "power8-vector"}
_WASM = {"wasm_simd128": "simd128", "wasm_threads": "atomics bulk-memory", "wasm_bulk_memory": "bulk-memory"}
_MVP = "wasm_mvponly"
_NEUTRAL = frozenset(
    ["jit", "debug", "no_asserts", "no_bounds_query", "no_runtime", "large_buffers", "strict_float",
     "enable_llvm_loop_opt", "check_unsafe_promises"]
)  # fmt: skip
"""Words that change nothing here: arrays are checked always, floats never rearranged, no runtime is linked."""

_OS_TRIPLES = {
    TargetOS.Linux: "unknown-linux-gnu",
    TargetOS.Android: "unknown-linux-android",
    TargetOS.OSX: "apple-macosx",
    TargetOS.IOS: "apple-ios",
    TargetOS.Windows: "pc-windows-msvc",
    TargetOS.NoOS: "unknown-none-elf",
}
_ARCHES = {
    TargetArch.X86: ("x86_64", "x86-64", _X86),
    TargetArch.ARM: ("aarch64", "generic", _ARM),
    TargetArch.RISCV: ("riscv64", "generic-rv64", {"rvv": "v"}),
    TargetArch.POWERPC: ("powerpc64le", "ppc64le", _POWER),
}
"""The first word of LLVM's triple, a processor that all have at least, and the features that it may have."""
_ARCHES_32 = {
    TargetArch.X86: ("i686", "pentium4", _X86),
    TargetArch.ARM: ("armv7a", "generic", {"armv7s": ""}),
    TargetArch.RISCV: ("riscv32", "generic-rv32", {}),
    TargetArch.WebAssembly: ("wasm32", "mvp", {_MVP: "", **_WASM}),
}
"""The same for 32 bits. x86 has SSE2, so that floats are not kept in more bits than they have."""
_ARM_32_TRIPLES = {
    TargetOS.Linux: "unknown-linux-gnueabihf",
    TargetOS.Android: "unknown-linux-androideabi",
    TargetOS.IOS: "apple-ios",
    TargetOS.NoOS: "unknown-none-eabihf",
}
_WASM_TRIPLES = {TargetOS.wasmrt: "unknown-unknown"}


@public
class Target:
    """A machine to compile for: architecture, bits, operating system, features. `Target()` is not known yet."""

    os: TargetOS
    arch: TargetArch
    bits: int
    processor_tune: TargetProcessorTune
    """Part of the name alone: code is the same for all."""
    features: frozenset[TargetFeature]

    def __init__(self, *given: Any) -> None:
        """`Target()`, `Target("arm-64-linux")`, `Target(os, arch, bits)`, after which a `TargetProcessorTune`, a list
        of features, or both may come.

        Raises `TargetError` for words that are none of a target, `TypeMismatch` for anything else.
        """
        self.os, self.arch, self.bits = TargetOS.OSUnknown, TargetArch.ArchUnknown, 0
        self.processor_tune, self.features = TargetProcessorTune.TuneGeneric, frozenset()
        match given:
            case ():
                pass
            case (str() as text,):
                self._read(text)
            case (TargetOS(), TargetArch(), int(), *more) if len(more) <= 2:
                self.os, self.arch, self.bits = given[:3]
                if more and isinstance(more[0], TargetProcessorTune):
                    self.processor_tune = more.pop(0)
                for features in more:
                    self.features = _features(features)
            case _:
                raise TypeMismatch(f"Target takes a name, or a TargetOS, a TargetArch and bits, not {given!r}")

    def _read(self, text: str) -> None:
        host = get_host_target()
        words = [word for word in text.split("-") if word]
        if not words or words[0] == "host":
            self.os, self.arch, self.bits, self.features = host.os, host.arch, host.bits, host.features
            words = words[1:]
        named: set[str] = set()
        for word in words:
            if word in _OS_WORDS:
                self.os = _OS_WORDS[word]
                named.add("os")
            elif word in _ARCH_WORDS:
                self.arch = _ARCH_WORDS[word]
                named.add("arch")
            elif word in ("32", "64"):
                self.bits = int(word)
                named.add("bits")
            elif word in _FEATURE_WORDS:
                self.features |= {_FEATURE_WORDS[word]}
            elif word in _TUNE_WORDS:
                self.processor_tune = _TUNE_WORDS[word]
            else:
                raise TargetError(f"Error: Did not understand Halide target {text}: {word!r} is unknown. {_SAYS}")
        if named and len(named) < 3:
            missing = " and ".join(sorted({"arch", "bits", "os"} - named))
            raise TargetError(f"Error: Did not understand Halide target {text}: it lacks {missing}. {_SAYS}")
        if not named and self.arch == TargetArch.ArchUnknown:
            raise TargetError(f"Error: Did not understand Halide target {text}. {_SAYS}")

    @staticmethod
    def validate_target_string(name: str) -> bool:
        """Whether `Target(name)` would be one."""
        try:
            Target(name)
        except TargetError:
            return False
        return True

    def to_string(self) -> str:
        """Its name: `x86-64-linux-avx2`."""
        words = sorted(feature.word for feature in self.features)
        tune = [self.processor_tune.word] if self.processor_tune.word else []
        return "-".join([self.arch.word, str(self.bits), self.os.word, *tune, *words])

    __str__ = to_string

    def __repr__(self) -> str:
        return f"<halide.Target {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def has_feature(self, feature: TargetFeature) -> bool:
        """Whether it has a feature."""
        return feature in self.features

    def features_any_of(self, features: Iterable[TargetFeature]) -> bool:
        """Whether it has one of them."""
        return not self.features.isdisjoint(features)

    def features_all_of(self, features: Iterable[TargetFeature]) -> bool:
        """Whether it has all of them."""
        return self.features.issuperset(features)

    def set_feature(self, f: TargetFeature, value: bool = True) -> None:
        """Give it a feature, or take it away."""
        self.set_features([f], value)

    def set_features(self, features: Iterable[TargetFeature], value: bool = True) -> None:
        """Give it features, or take them away."""
        self.features = self.features | set(features) if value else self.features - set(features)

    def with_feature(self, feature: TargetFeature) -> Target:
        """It, with a feature more."""
        return self._having(self.features | {feature})

    def without_feature(self, feature: TargetFeature) -> Target:
        """It, without a feature."""
        return self._having(self.features - {feature})

    def _having(self, features: frozenset[TargetFeature]) -> Target:
        return Target(self.os, self.arch, self.bits, self.processor_tune, features)

    def has_gpu_feature(self) -> bool:
        """Whether it has a feature of a GPU."""
        return any(feature.word in _GPUS for feature in self.features)

    def has_large_buffers(self) -> bool:
        """Whether arrays of more than 2^31 bytes are asked for; they are taken in any case."""
        return self.has_feature(TargetFeature.LargeBuffers)

    def maximum_buffer_size(self) -> int:
        """The greatest size of an array in bytes that every target with these features takes."""
        return 2**63 - 1 if self.bits == 64 and self.has_large_buffers() else 2**31 - 1

    def supports_device_api(self, device: DeviceAPI) -> bool:
        """Whether code for `device` can be a part of it: true of the processor itself."""
        own = feature_of(device)
        return own is None or own in self.features

    def supports_type(self, type: Type, device: Any = None) -> bool:
        """Whether `device`, or by default every device that it has a feature of, computes with values of a type."""
        if device is None or device.name == "Default_GPU":
            words = {one.word for one in self.features}
            opencl = "opencl" in words and "cl_doubles" not in words and type.is_float()
            narrow = opencl or not words.isdisjoint(["metal", "d3d12compute", "webgpu"])
            if type.bits() == 64 and narrow:
                return False
            if device is None and (type.bits() < 64 or "vulkan" not in words):
                return True
            return "vulkan" not in words or self.supports_type(type, _VULKAN)
        if device.name == "Vulkan":
            needed = f"vk_{'float' if type.is_float() or type.is_bfloat() else 'int'}{type.bits()}"
            return needed not in _FEATURE_WORDS or self.has_feature(_FEATURE_WORDS[needed])
        if device.name == "OpenCL" and type.is_float():
            return type.bits() < 64 or self.has_feature(TargetFeature.CLDoubles)
        return device.name != "Metal" or type.bits() < 64

    def supported(self) -> bool:
        """Whether code can be compiled for it."""
        try:
            machine(self)
        except (TargetError, NotImplementedError):
            return False
        return True

    def natural_vector_size(self, type: Type) -> int:
        """How many values of `type` one vector register holds. Raises `TargetError` of a machine that is not known."""
        if self.arch == TargetArch.ArchUnknown:
            raise TargetError("natural_vector_size cannot be used on a Target with Unknown values: name a machine")
        return max(1, _vector_bits(self) // max(8, type.bits()))


_VULKAN = DeviceAPI.Vulkan
_OS_WORDS = {os.word: os for os in TargetOS}
_ARCH_WORDS = {arch.word: arch for arch in TargetArch}
_TUNE_WORDS = {tune.word: tune for tune in TargetProcessorTune if tune.word}
_FEATURE_WORDS = {feature.word: feature for feature in TargetFeature if feature.word}
_FEATURE_WORDS["hvx"] = TargetFeature.HVX
_GPUS = frozenset(["cuda", "opencl", "metal", "d3d12compute", "vulkan", "webgpu"])
_SAYS = (
    f"A target is arch-bits-os-feature-…: arch one of {', '.join(arch.word for arch in _ARCHES)}, "
    f"bits 64, or 32 but for powerpc, os one of {', '.join(os.word for os in _OS_TRIPLES)}, "
    "as in x86-64-linux-avx2 or arm-64-linux; or wasm-32-wasmrt; or host"
)


_INCOMPATIBLE = "incompatible constructor arguments: the features of a Target are"


def _features(given: Any) -> frozenset[TargetFeature]:
    """Raises `TypeMismatch` for what are no features."""
    if not isinstance(given, Iterable):
        raise TypeMismatch(f"{_INCOMPATIBLE} a list of TargetFeatures, not {given!r}")
    features = frozenset(given)
    if strange := [one for one in features if not isinstance(one, TargetFeature)]:
        raise TypeMismatch(f"{_INCOMPATIBLE} TargetFeatures, not {strange[0]!r}")
    return features


def _vector_bits(target: Target) -> int:
    words = {feature.word for feature in target.features}
    if target.arch == TargetArch.X86:
        return 512 if any(word.startswith("avx512_") for word in words) else 256 if "avx2" in words else 128
    wide = target.arch in (TargetArch.ARM, TargetArch.POWERPC) or "wasm_simd128" in words
    return 128 if wide else 64


def get_host_target() -> Target:
    """The machine that this process runs on."""
    here = engine.host()
    name = here.triple.split("-")[0]
    name = {"arm64": "aarch64", "amd64": "x86_64"}.get(name, name)
    arch = next((arch for arch, (first, _, _) in _ARCHES.items() if first == name), TargetArch.ArchUnknown)
    system = {"linux": TargetOS.Linux, "darwin": TargetOS.OSX, "win32": TargetOS.Windows}.get(sys.platform)
    there = {flag[1:] for flag in here.features.split(",") if flag.startswith("+")}
    known = _ARCHES[arch][2] if arch in _ARCHES and arch != TargetArch.ARM else {}
    others = "sapphire" if here.cpu.startswith("znver") else "zen"
    words = [word for word, flags in known.items() if there.issuperset(flags.split()) and others not in word]
    features = [_FEATURE_WORDS[word] for word in words]
    return Target(system or TargetOS.OSUnknown, arch, 64, features)


def get_jit_target_from_environment() -> Target:
    """The machine that a program is to be run on: that of the variable HL_JIT_TARGET, or this one.

    Raises `TargetError` for one that does not run here. What `realize` makes is for this one, features and all.
    """
    host, named = get_host_target(), os.environ.get("HL_JIT_TARGET")
    target = Target(named) if named else host
    if (target.os, target.arch, target.bits) != (host.os, host.arch, host.bits):
        raise TargetError(
            f"HL_JIT_TARGET must match the host OS, architecture, and bit width.\nHL_JIT_TARGET was {target}. "
            f"Host is {host}."
        )
    return target.with_feature(TargetFeature.JIT)


def get_target_from_environment() -> Target:
    """The machine that is compiled for where none is named: that of the variable HL_TARGET, or this one."""
    named = os.environ.get("HL_TARGET")
    return Target(named) if named else get_host_target()


def is_host(target: Target) -> bool:
    """Whether `target` is this machine, features that change nothing aside."""
    features = frozenset(feature for feature in target.features if feature.word not in _NEUTRAL)
    return Target(target.os, target.arch, target.bits, features) == get_host_target()


def machine(target: Target | str | None) -> engine.Target:
    """What LLVM is told of `target`; of the host, all that is known of it.

    Raises `TargetError` for one that code is not generated for, `NotImplementedError` for a feature without a meaning.
    """
    if isinstance(target, str):
        target = Target(target)
    if target is None or target == Target() or is_host(target):
        return engine.host()
    return named_machine(target)


def named_machine(target: Target) -> engine.Target:
    """What LLVM is told of `target` by its words alone, also of the host. Raises as `machine` does."""
    arches = _ARCHES if target.bits == 64 else _ARCHES_32 if target.bits == 32 else {}
    arm_32 = target.bits == 32 and target.arch == TargetArch.ARM
    wasm = target.arch == TargetArch.WebAssembly
    systems = _ARM_32_TRIPLES if arm_32 else _WASM_TRIPLES if wasm else _OS_TRIPLES
    if target.arch not in arches or target.os not in systems:
        raise TargetError(f"no code is generated for {target}. {_SAYS}")
    name, cpu, known = arches[target.arch]
    flags: list[str] = []
    for word in sorted(feature.word for feature in target.features):
        if word in known:
            flags += known[word].split()
        elif word not in _NEUTRAL:
            raise NotImplementedError(f"the feature {word} of target {target} is not there yet")
    abi = ""
    if target.arch == TargetArch.RISCV:
        flags, abi = ["m", "a", "f", "d", "c", *flags], "lp64d" if target.bits == 64 else "ilp32d"
    if arm_32:  # without neon, whose vectors of floats take the smallest numbers for 0
        flags.append("vfp3")
        name = "armv7s" if any(feature.word == "armv7s" for feature in target.features) else name
    if wasm and not any(feature.word == _MVP for feature in target.features):
        flags += ["sign-ext", "nontrapping-fptoint"]
    wide = _vector_bits(target)
    if wide == 512:
        flags.append("avx512f")
    without = ["-prefer-256-bit"] if wide == 512 else ["-neon"] if arm_32 else []
    features = ",".join([*(f"+{flag}" for flag in dict.fromkeys(flags)), *without])
    converts = (target.arch != TargetArch.X86 and not arm_32 and not wasm) or "f16c" in flags or "avx512f" in flags
    made = engine.Target(f"{name}-{systems[target.os]}", cpu, features, wide, converts)
    return replace(made, abi=abi, bits=target.bits)


def host_supports_target_device(target: Target) -> bool:
    """Whether this machine has the devices that `target` asks for: there are none but the processor."""
    return not target.has_gpu_feature()
