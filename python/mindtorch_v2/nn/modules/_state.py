"""state_dict and load_state_dict of modules."""

import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

import mindtorch_v2 as torch
from mindtorch_v2._C import Tensor
from mindtorch_v2.nn.parameter import Parameter, is_lazy

_EXTRA_STATE = _EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _unexpected_extra_state():
    raise RuntimeError("a module with extra state defines get_extra_state and set_extra_state")


class StateMethods:
    """The parts of a module that write and read its state."""

    _version = 1

    def get_extra_state(self):
        """What state_dict() keeps besides tensors; a module that wants it defines this and
        set_extra_state.
        """
        _unexpected_extra_state()

    def set_extra_state(self, state):
        """Takes back what get_extra_state gave."""
        _unexpected_extra_state()

    def _has_extra_state(self, method):
        return getattr(type(self), method) is not getattr(StateMethods, method)

    def _own_state(self):
        """(name, tensor) of parameters and persistent buffers, without those that are None."""
        for name, tensor in itertools.chain(self._parameters.items(), self._buffers.items()):
            if tensor is not None and name not in self._non_persistent_buffers_set:
                yield name, tensor

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._own_state():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has_extra_state("get_extra_state"):
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """All parameters and persistent buffers by name. They share the module's memory.

        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination", destination)
            prefix = given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = result
        return destination

    def _load_from_state_dict(
        self,
        state_dict,
        prefix,
        local_metadata,
        strict,
        missing_keys,
        unexpected_keys,
        error_msgs,
    ):
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        own = dict(self._own_state())
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_tensor(name, key, current, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE
        if self._has_extra_state("set_extra_state"):
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key == extra_key:
                    continue
                first, *rest = key[len(prefix) :].split(".", 1)
                if first not in (self._modules if rest else own):
                    unexpected_keys.append(key)

    def _load_tensor(self, name, key, current, loaded, assign, error_msgs):
        if not isinstance(loaded, Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", '
                "expected torch.Tensor or Tensor-like object from checkpoint but "
                f"received {type(loaded)}"
            )
            return
        if not is_lazy(current):
            # Scalars were once saved with one dimension.
            if current.dim() == 0 and loaded.dim() == 1:
                loaded = loaded[0]
            if not is_lazy(loaded) and loaded.shape != current.shape:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {loaded.shape} from "
                    f"checkpoint, the shape in current model is {current.shape}."
                )
                return
            if current.is_meta and not loaded.is_meta and not assign:
                warnings.warn(
                    f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                    "parameter in the current model, which is a no-op. (Did you mean to "
                    "pass `assign=True` to assign items in the state dictionary to their "
                    "corresponding key in the module instead of copying them in place?)",
                    stacklevel=2,
                )
        try:
            with torch.no_grad():
                if assign:
                    self._assign(name, current, loaded)
                else:
                    current.copy_(loaded)
        except Exception as error:
            error_msgs.append(
                f'While copying the parameter named "{key}", '
                f"whose dimensions in the model are {current.size()} and "
                f"whose dimensions in the checkpoint are {loaded.size()}, "
                f"an exception occurred : {error.args}."
            )

    def _assign(self, name, current, loaded):
        if isinstance(current, Parameter):
            if isinstance(loaded, Parameter):
                loaded.requires_grad_(current.requires_grad)
            else:
                loaded = Parameter(loaded, requires_grad=current.requires_grad)
        setattr(self, name, loaded)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the tensors of a state dict into this module, or with assign makes them its own.
        With strict the keys must be exactly those of state_dict().

        >>> torch.nn.Linear(2, 1).load_state_dict(torch.nn.Linear(2, 1).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys, unexpected_keys, error_msgs = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, part, prefix):
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(
                part, prefix, local_metadata, True, missing_keys, unexpected_keys, error_msgs
            )
            for name, child in module._modules.items():
                if child is not None:
                    inner = f"{prefix}{name}."
                    load(child, {k: v for k, v in part.items() if k.startswith(inner)}, inner)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, _IncompatibleKeys(missing_keys, unexpected_keys)) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                        "expected to return new values, if incompatible_keys need to be modified, "
                        "it should be done inplace."
                    )

        load(self, state_dict, "")
        if strict:
            for kind, keys in (("Unexpected", unexpected_keys), ("Missing", missing_keys)):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    error_msgs.insert(0, f"{kind} key(s) in state_dict: {names}. ")
        if error_msgs:
            texts = "\n\t".join(error_msgs)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{texts}"
            )
        return _IncompatibleKeys(missing_keys, unexpected_keys)
