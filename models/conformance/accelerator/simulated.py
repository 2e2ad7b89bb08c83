"""A simulated accelerator, whose tensors have a shape and a device but no numbers.

Without a GPU, a run on this device shows whether a program mixes tensors of host and device, where the program would
wait for the device, and how many operations the program would launch.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from skipstack.data.basis.errors import UserError
from skipstack.models.conformance.accelerator.memory import Memory
from skipstack.models.conformance.accelerator.work import Operation, Work, operation
from skipstack.models.ground.device import SIMULATED

try:
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensor,
        FakeTensorMode,
    )
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
except ImportError as error:
    raise UserError(f"torch {torch.__version__} can simulate no GPU ({error}; allowed: such as 2.13)") from error


class HostReadsError(RuntimeError):
    """The program reads a number that the device computes; on a GPU, the program would wait for the device."""


class DevicesMixError(RuntimeError):
    """An operation received tensors of both the device and the host."""


class RefusedError(RuntimeError):
    """An operation received arguments that its CPU kernel accepts, but its GPU kernel refuses."""


@functools.cache
def simulated() -> torch.device:
    """Register the simulated device with torch for the rest of this process, and return the device."""
    _setup_privateuseone_for_python_backend(SIMULATED)
    return torch.device(SIMULATED, 0)


class _FromLists(TorchFunctionMode):
    """Context in which ``torch.tensor`` and ``new_tensor`` create tensors for the simulated device on the host, and
    then copy the tensors to the device.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.new_tensor and isinstance(args[0], FakeTensor):
            like, *args_left = args
            func, args = torch.tensor, tuple(args_left)
            kwargs = {"dtype": like.dtype, "device": like.fake_device, **kwargs}
        device = kwargs.get("device")
        if func is torch.tensor and device is not None and torch.device(device).type == SIMULATED:
            return torch.tensor(*args, **{**kwargs, "device": "cpu"}).to(device)
        return func(*args, **kwargs)


class Accelerator(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context in which programs may use the simulated device.

    ``device``: the device. ``work``: counts its operations. ``memory``: counts the memory of its tensors.

    Operations on the host run normally. A copy to the host returns zeros, and counts as a wait. A copy from the host
    counts as a wait unless it is non-blocking and from pinned memory.

    Create the first instance before the first backward pass of the process, in which torch counts the devices. If the
    instance is created later, gradients do not work. An operation raises HostReadsError if control flow or the size of
    a tensor depends on a number of the device. It raises DevicesMixError for tensors of both device and host, unless
    those of the host are single numbers without axes. It raises RefusedError for arguments that a GPU kernel would
    refuse.
    """

    def __init__(self, memory: Memory | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.device = simulated()
        self.work = Work()
        self.memory = Memory() if memory is None else memory
        self._shapes = FakeTensorMode(allow_non_fake_inputs=True)
        self._pinned: dict[int, Tensor] = {}  # by address; holding the tensors prevents a reuse of their addresses
        self._lists = _FromLists()

    def __enter__(self) -> Self:
        super().__enter__()  # type: ignore[no-untyped-call]
        self._lists.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: Any) -> None:
        self._lists.__exit__(*raised)  # type: ignore[no-untyped-call]
        super().__exit__(*raised)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = self._done(func, args, kwargs or {})
        self.memory.take_in(_tensors([made]))
        return made

    def _done(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if func is torch.ops.prim.device.default:
            return args[0].fake_device
        tensors = list(_tensors((*args, *kwargs.values())))
        there = any(isinstance(each, FakeTensor) for each in tensors)
        target: Any = kwargs.get("device")
        if not there and (target is None or torch.device(target).type != SIMULATED):
            return self._on_host(func, args, kwargs)
        if func is torch.ops.aten._to_copy.default and (target is not None or not there):
            return self._copied(args[0], torch.device(target), kwargs)
        if func is torch.ops.aten.copy_.default and not all(isinstance(each, FakeTensor) for each in tensors):
            return self._written(*args, *kwargs.values())
        if any(not isinstance(each, FakeTensor) and each.dim() for each in tensors):
            raise DevicesMixError(f"{func} got tensors of {SIMULATED} and of the host")
        if (reason := refusal(func, args, kwargs)) is not None:
            raise RefusedError(f"{func}: {reason}")
        what = operation(func)
        made = self._result(func, what, args, kwargs)
        self.work.add(what, tensors, made)
        return made

    def _result(self, func: Any, what: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation on shapes only, and return its result. An in-place operation returns the tensor written to.

        ``what``: the description of the operation ``func``. Raises HostReadsError if a number of the device is needed.
        """
        if what.writes_places and any(each is not None and each.dtype == torch.bool for each in args[1]):
            raise HostReadsError(f"{func} reads a number of the device")
        if what.into is not None:
            place, name = what.into
            return args[place] if place < len(args) else kwargs[name]
        try:
            return self._run(func, args, kwargs) if func._schema.returns else None
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise HostReadsError(f"{func} reads a number of the device") from error

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self._shapes:
            return func(*args, **kwargs)

    def _on_host(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation on the host. The pinning of memory is imitated, since torch pins only for real devices."""
        if func is torch.ops.aten.is_pinned.default:
            return args[0].untyped_storage().data_ptr() in self._pinned
        if func is torch.ops.aten._pin_memory.default:
            pinned = args[0].clone()
            self._pinned[pinned.untyped_storage().data_ptr()] = pinned
            return pinned
        return func(*args, **kwargs)

    def _copied(self, source: Tensor, target: torch.device, kwargs: dict[str, Any]) -> Tensor:
        dtype = kwargs.get("dtype") or source.dtype
        if target.type == "cpu":
            self.work.copy_back(source)
            return torch.zeros(source.shape, dtype=dtype)
        if isinstance(source, FakeTensor):
            made: Tensor = self._run(torch.ops.aten._to_copy.default, (source,), kwargs)
            self.work.add(operation(torch.ops.aten._to_copy.default), [source], made)
            return made
        self._sent(source, kwargs.get("non_blocking", False))
        with self._shapes:
            return torch.empty_strided(source.shape, source.stride(), dtype=dtype, device=self.device)

    def _written(self, into: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
        if isinstance(into, FakeTensor):
            self._sent(source, non_blocking)
        else:
            self.work.copy_back(source)
            into.zero_()
        return into

    def _sent(self, source: Tensor, non_blocking: bool) -> None:
        pinned = source.untyped_storage().data_ptr() in self._pinned
        self.work.copy_there(source, waits=not (pinned and non_blocking))


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def refusal(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Return the reason why the GPU kernel of the operation ``func`` would refuse arguments that its CPU kernel
    accepts, or None. Only torch's fused Adam is checked (``FusedAdamKernel.cu``).

    Its learning rate and numbers of steps must be in float32. A parameter, its gradient and its averages must have the
    same type and layout.
    """
    if func is not torch.ops.aten._fused_adam_.tensor_lr:
        return None
    parameters, gradients, means, squares, _, steps = args[:6]
    for each in (kwargs["lr"], *steps):
        if each.dtype != torch.float32:
            return f"expected a rate and steps in float32 (got {each.dtype})"
    for together in zip(parameters, gradients, means, squares, strict=True):
        if len({(each.dtype, each.shape, each.stride()) for each in together}) > 1:
            return "a parameter, its gradient and its averages have other types, shapes or strides"
    return None
