"""torch.utils.model_zoo: the old name of torch.hub.load_state_dict_from_url."""

from mindtorch_v2.hub import load_state_dict_from_url

load_url = load_state_dict_from_url

__all__ = ["load_state_dict_from_url", "load_url"]
