"""torch.nn.modules: the layers."""

from mindtorch_v2.nn.modules import (
    activation,
    adaptive,
    attention,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    loss,
    normalization,
    padding,
    parameters,
    pixelshuffle,
    pooling,
    rnn,
    rnn_cells,
    sparse,
    transformer,
    upsampling,
)
from mindtorch_v2.nn.modules.activation import *
from mindtorch_v2.nn.modules.adaptive import *
from mindtorch_v2.nn.modules.attention import *
from mindtorch_v2.nn.modules.batchnorm import *
from mindtorch_v2.nn.modules.channelshuffle import *
from mindtorch_v2.nn.modules.container import *
from mindtorch_v2.nn.modules.conv import *
from mindtorch_v2.nn.modules.distance import *
from mindtorch_v2.nn.modules.dropout import *
from mindtorch_v2.nn.modules.flatten import *
from mindtorch_v2.nn.modules.fold import *
from mindtorch_v2.nn.modules.instancenorm import *
from mindtorch_v2.nn.modules.linear import *
from mindtorch_v2.nn.modules.loss import *
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.normalization import *
from mindtorch_v2.nn.modules.padding import *
from mindtorch_v2.nn.modules.parameters import *
from mindtorch_v2.nn.modules.pixelshuffle import *
from mindtorch_v2.nn.modules.pooling import *
from mindtorch_v2.nn.modules.rnn import *
from mindtorch_v2.nn.modules.rnn_cells import *
from mindtorch_v2.nn.modules.sparse import *
from mindtorch_v2.nn.modules.transformer import *
from mindtorch_v2.nn.modules.upsampling import *

__all__ = [
    "Module",
    *activation.__all__,
    *adaptive.__all__,
    *attention.__all__,
    *batchnorm.__all__,
    *container.__all__,
    *conv.__all__,
    *distance.__all__,
    *dropout.__all__,
    *flatten.__all__,
    *fold.__all__,
    *instancenorm.__all__,
    *pixelshuffle.__all__,
    *channelshuffle.__all__,
    *linear.__all__,
    *loss.__all__,
    *normalization.__all__,
    *padding.__all__,
    *parameters.__all__,
    *pooling.__all__,
    *rnn.__all__,
    *rnn_cells.__all__,
    *sparse.__all__,
    *transformer.__all__,
    *upsampling.__all__,
]
