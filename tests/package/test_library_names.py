"""Names that libraries take from torch's private modules."""

import os

import mindtorch_v2 as torch
import pytest


def test_names_of_c():
    assert torch._C._log_api_usage_once("library.function") is None
    assert torch._C._get_tracing_state() is None
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        torch._C.no_such_name  # noqa: B018 - the look-up raises


def test_annotations_of_jit():
    from mindtorch_v2.jit.annotations import BroadcastingList2

    assert BroadcastingList2[int] == int | list[int]
    assert torch.jit._script_if_tracing(len) is len and torch.jit._overload_method(len) is len


def test_home_of_downloads(monkeypatch):
    monkeypatch.setenv("TORCH_HOME", os.path.join("~", "weights"))
    home = os.path.expanduser(os.path.join("~", "weights"))
    assert torch.hub._get_torch_home() == home
    monkeypatch.setattr(torch.hub, "_folder", None)
    assert torch.hub.get_dir() == os.path.join(home, "hub")


def test_progress_of_downloads():
    from mindtorch_v2.utils.model_zoo import tqdm

    with tqdm(total=3, disable=True) as bar:
        bar.update(2)
    assert list(tqdm([1, 2], disable=True)) == [1, 2]
