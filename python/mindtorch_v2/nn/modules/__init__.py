"""torch.nn.modules: the layers."""

from mindtorch_v2.nn.modules.activation import *
from mindtorch_v2.nn.modules.adaptive import *
from mindtorch_v2.nn.modules.attention import *
from mindtorch_v2.nn.modules.batchnorm import *
from mindtorch_v2.nn.modules.container import *
from mindtorch_v2.nn.modules.conv import *
from mindtorch_v2.nn.modules.distance import *
from mindtorch_v2.nn.modules.dropout import *
from mindtorch_v2.nn.modules.flatten import *
from mindtorch_v2.nn.modules.fold import *
from mindtorch_v2.nn.modules.linear import *
from mindtorch_v2.nn.modules.loss import *
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.normalization import *
from mindtorch_v2.nn.modules.padding import *
from mindtorch_v2.nn.modules.parameters import *
from mindtorch_v2.nn.modules.pooling import *
from mindtorch_v2.nn.modules.rnn import *
from mindtorch_v2.nn.modules.rnn_cells import *
from mindtorch_v2.nn.modules.sparse import *
from mindtorch_v2.nn.modules.transformer import *
from mindtorch_v2.nn.modules.upsampling import *
