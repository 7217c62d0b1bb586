"""torch.amp.GradScaler: keeps gradients of float16 from vanishing."""

import enum
import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _kinds

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """What was done for an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses up so that small gradients survive float16, and gradients down again.

    A step whose gradients contain infinities or NaNs is left out, and the scale shrinks; after
    `growth_interval` steps without any it grows.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=0.5)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale(weight.sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.detach(), scaler.get_scale()
    (tensor([0.5000, 0.5000]), 1024.0)
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device = device
        self._enabled = enabled
        if enabled and device in _kinds.ACCELERATORS and not _kinds.module(device).is_available():
            warnings.warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available."
                "  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        if not self._enabled:
            return
        assert growth_factor > 1.0, "The growth factor must be > 1.0."
        assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._init_scale = init_scale
        self._scale = None  # a tensor where the first scaled loss is
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker = None
        self._per_optimizer_states = {}

    # --- one step ---
    def scale(self, outputs):
        """The loss, or each tensor of what is iterable, times the scale."""
        if not self._enabled:
            return outputs
        copies = {}
        if isinstance(outputs, torch.Tensor):
            return self._scaled(outputs, copies)
        return self._scaled_all(outputs, copies)

    def _scaled(self, output, copies):
        if self._scale is None:
            self._scale = torch.full((), self._init_scale, device=output.device)
            self._growth_tracker = torch.full(
                (), self._init_growth_tracker, dtype=torch.int32, device=output.device
            )
        if output.device not in copies:
            copies[output.device] = self._scale.to(output.device, non_blocking=True)
        return output * copies[output.device]

    def _scaled_all(self, outputs, copies):
        if isinstance(outputs, torch.Tensor):
            return self._scaled(outputs, copies)
        if not hasattr(outputs, "__iter__"):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(lambda each: self._scaled_all(each, copies), outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def unscale_(self, optimizer):
        """Divides an optimizer's gradients by the scale, to clip them before step()."""
        if not self._enabled:
            return
        self._check_scale("unscale_")
        state = self._state_of(optimizer)
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        # Of the scale in float64: a large one has no inverse among the normal float32 numbers.
        inverse = self._scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, False)
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(self, optimizer, inverse, allow_fp16):
        params = (param for group in optimizer.param_groups for param in group["params"])
        lists = {}
        for grad in (param.grad for param in params if param.grad is not None):
            if grad.dtype == torch.float16 and not allow_fp16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            lists.setdefault((grad.device, grad.dtype), []).append(grad)
        found = {}
        with torch.no_grad():
            for (device, _), grads in lists.items():
                if device not in found:
                    found[device] = torch.zeros((), device=device)
                torch._amp_foreach_non_finite_check_and_unscale_(
                    grads, found[device], inverse.to(device, non_blocking=True)
                )
        return found

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step() with gradients that were scaled down, unless one is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale("step")
        state = self._state_of(optimizer)
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        assert state["found_inf_per_device"], "No inf checks were recorded for this optimizer."
        result = None
        if not sum(found.item() for found in state["found_inf_per_device"].values()):
            result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Shrinks or grows the scale for the next step, or sets it."""
        if not self._enabled:
            return
        self._check_scale("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [
                each.to(self._scale.device, non_blocking=True)
                for state in self._per_optimizer_states.values()
                for each in state["found_inf_per_device"].values()
            ]
            assert found, "No inf checks were recorded prior to update."
            torch._amp_update_scale_(
                self._scale,
                self._growth_tracker,
                sum(found[1:], found[0]),
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._per_optimizer_states = {}

    def _set_scale(self, new_scale):
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        reason = (
            "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
            "torch.FloatTensor with requires_grad=False."
        )
        assert new_scale.device.type == self._device, reason
        assert new_scale.numel() == 1, reason
        assert new_scale.requires_grad is False, reason
        self._scale.copy_(new_scale)

    def _check_scale(self, function):
        assert self._scale is not None, (
            f"Attempted {function} but _scale is None.  This may indicate your script did not "
            "use scaler.scale(loss or outputs) earlier in the iteration."
        )

    def _state_of(self, optimizer):
        return self._per_optimizer_states.setdefault(id(optimizer), _fresh())

    # --- settings ---
    def get_scale(self):
        """The scale as a number; waits for the device."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """What the scale is multiplied with when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets what the scale is multiplied with when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the scale is multiplied with when it shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets what the scale is multiplied with when it shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many steps without infinities the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets after how many steps without infinities the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return int(self._growth_tracker.item())

    def is_enabled(self):
        """Whether it does anything."""
        return self._enabled

    # --- saving ---
    def state_dict(self):
        """Scale, factors and steps since the last infinity; empty where it is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Restores what state_dict() gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            assert not self._per_optimizer_states, (
                "A GradScaler instance may only be pickled at the beginning of an iteration, or "
                "at the end after scaler.update()."
            )
            # Tensors are made anew where the first scaled loss is.
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = None
            state["_growth_tracker"] = None
        return state
