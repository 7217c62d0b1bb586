"""torch.nn.utils: what training code does with modules and parameters."""

from mindtorch_v2.nn.utils import rnn
