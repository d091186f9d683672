"""Devices by Halide's names: there is none here but the processor itself."""

from __future__ import annotations

from rfactor.compiler.language.target_features import TargetFeature
from rfactor.compiler.numbered import Numbered
from rfactor.errors import TypeMismatch


class DeviceAPI(Numbered):
    """What a loop runs on."""

    vars()["None"] = 0  # no name that a statement could assign to
    Host = 1
    Default_GPU = 2
    CUDA = 3
    OpenCL = 4
    Metal = 5
    Hexagon = 6
    Vulkan = 9


_FEATURES = {
    "Default_GPU": TargetFeature.FeatureEnd,
    "CUDA": TargetFeature.CUDA,
    "OpenCL": TargetFeature.OpenCL,
    "Metal": TargetFeature.Metal,
    "Hexagon": TargetFeature.HVX,
    "Vulkan": TargetFeature.Vulkan,
}


def feature_of(device: DeviceAPI) -> TargetFeature | None:
    """The feature that a target with this device has; None for the processor itself. Raises `TypeMismatch`."""
    if not isinstance(device, DeviceAPI):
        raise TypeMismatch(f"{device!r} is no DeviceAPI")
    return _FEATURES.get(device.name)


def target_feature_for_device_api(device: DeviceAPI) -> TargetFeature:
    """The feature that a target with this device has; `FeatureEnd` where there is none."""
    return feature_of(device) or TargetFeature.FeatureEnd
