"""Layers with inputs, as text that means the same in this package and in torch.

f(*shape) is a tensor of floats, i(high, *shape) one of ints below high, pos(*shape) one of floats
between 0 and 1; all come from a seed. `None` instead of inputs: the layer is only built.
"""

ACTIVATIONS = [
    *(
        (f"nn.{name}", "f(3, 4)")
        for name in (
            "ReLU() ReLU(inplace=True) ReLU6() ReLU6(inplace=True) ELU() ELU(0.5,inplace=True) "
            "CELU() CELU(2.0) SELU() SELU(inplace=True) GELU() GELU('tanh') GLU() Hardshrink() "
            "Hardshrink(0.3) Hardsigmoid() Hardsigmoid(inplace=True) Hardswish() "
            "Hardswish(inplace=True) Hardtanh() Hardtanh(-2,0.5) Hardtanh(inplace=True) "
            "LeakyReLU() LeakyReLU(0.2,True) LogSigmoid() LogSoftmax(dim=1) Mish() "
            "Mish(inplace=True) PReLU() PReLU(4,0.1) RReLU() RReLU(0.1,0.2) Sigmoid() SiLU() "
            "SiLU(inplace=True) Softmax(dim=1) Softmax(-1) Softmin(dim=0) Softplus() Softplus(2,1) "
            "Softshrink() Softshrink(0.1) Softsign() Tanh() Tanhshrink() Threshold(0.1,20) "
            "Threshold(0.1,20,inplace=True) Identity(3,a=1) Flatten() Flatten(0)"
        ).split()
    ),
    ("nn.GLU(0)", "f(4, 3)"),
    ("nn.Softmax2d()", "f(2, 3, 2, 2)"),
    ("nn.Softmax()", "f(3, 4)"),
]

LINEAR = [
    ("nn.Linear(3, 2)", "f(4, 3)"),
    ("nn.Linear(3, 2, bias=False)", "f(2, 4, 3)"),
    ("nn.Linear(3, 2, dtype=torch.float64)", "f(4, 3).double()"),
    ("nn.Bilinear(3, 4, 5)", "f(6, 3), f(6, 4)"),
    ("nn.Bilinear(3, 4, 5, bias=False)", "f(2, 6, 3), f(2, 6, 4)"),
    ("nn.Embedding(10, 3)", "i(10, 4, 2)"),
    ("nn.Embedding(10, 3, padding_idx=2)", "i(10, 4, 2)"),
    ("nn.Embedding(10, 3, padding_idx=-1, max_norm=1.0, norm_type=1.0)", "i(10, 4, 2)"),
    ("nn.Embedding(10, 3, scale_grad_by_freq=True)", "i(10, 4)"),
    ("nn.EmbeddingBag(10, 3)", "i(10, 4, 5)"),
    ("nn.EmbeddingBag(10, 3, mode='sum', padding_idx=1)", "i(10, 4, 5)"),
    ("nn.EmbeddingBag(10, 3, mode='max')", "i(10, 12), torch.tensor([0, 3, 3, 7])"),
    ("nn.EmbeddingBag(10, 3)", "i(10, 12), torch.tensor([0, 3, 3, 7])"),
    (
        "nn.EmbeddingBag(10, 3, mode='sum', include_last_offset=True, max_norm=1.0)",
        "i(10, 12), torch.tensor([0, 3, 12]), f(12)",
    ),
    ("nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))", "f(2, 3)"),
    ("nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])", None),
    ("nn.ModuleDict({'b': nn.Linear(2, 2), 'a': nn.ReLU()})", None),
    ("nn.ParameterList([torch.ones(2, 3), torch.ones(1), 'text'])", None),
    ("nn.ParameterList([torch.ones(2, 3)])", None),
    ("nn.ParameterDict({'b': torch.ones(2, 3), 'a': torch.ones(1), 'c': 3})", None),
    ("nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)", "f(6, 8), i(20, 6)"),
    ("nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5], head_bias=True)", "f(8), i(20)"),
    ("nn.Unflatten(1, (2, 3))", "f(2, 6)"),
    ("nn.CosineSimilarity()", "f(3, 4), f(3, 4)"),
    ("nn.PairwiseDistance()", "f(3, 4), f(3, 4)"),
    ("nn.PairwiseDistance(p=1, keepdim=True)", "f(3, 4), f(3, 4)"),
    ("nn.LazyLinear(3)", "f(2, 5)"),
    ("nn.LazyLinear(3, bias=False)", "f(2, 5)"),
]

NORMS = [
    ("nn.LayerNorm(4)", "f(3, 4)"),
    ("nn.LayerNorm((3, 4), eps=1e-3, bias=False)", "f(2, 3, 4)"),
    ("nn.LayerNorm(4, elementwise_affine=False)", "f(3, 4)"),
    ("nn.RMSNorm(4)", "f(3, 4)"),
    ("nn.RMSNorm(4, eps=1e-5, elementwise_affine=False)", "f(3, 4)"),
    ("nn.GroupNorm(2, 4)", "f(3, 4, 5)"),
    ("nn.GroupNorm(4, 4, affine=False)", "f(3, 4, 5, 2)"),
    ("nn.GroupNorm(1, 4, bias=False)", "f(3, 4)"),
    ("nn.LocalResponseNorm(2)", "f(3, 4, 5)"),
    ("nn.LocalResponseNorm(3, alpha=0.1, beta=0.5, k=2.0)", "f(3, 4, 5, 5)"),
    ("nn.CrossMapLRN2d(3)", None),
    ("nn.BatchNorm1d(4)", "f(3, 4)"),
    ("nn.BatchNorm1d(4)", "f(3, 4, 5)"),
    ("nn.BatchNorm1d(4, momentum=None, eps=1e-3)", "f(3, 4)"),
    ("nn.BatchNorm2d(4)", "f(3, 4, 5, 2)"),
    ("nn.BatchNorm2d(4, affine=False)", "f(3, 4, 5, 2)"),
    ("nn.BatchNorm2d(4, track_running_stats=False)", "f(3, 4, 5, 2)"),
    ("nn.BatchNorm2d(4, bias=False)", "f(3, 4, 5, 2)"),
    ("nn.BatchNorm3d(4)", "f(3, 4, 2, 5, 2)"),
    ("nn.SyncBatchNorm(4)", None),
    ("nn.InstanceNorm1d(4)", "f(3, 4, 5)"),
    ("nn.InstanceNorm1d(4)", "f(4, 5)"),
    ("nn.InstanceNorm2d(4, affine=True)", "f(3, 4, 5, 2)"),
    ("nn.InstanceNorm2d(4, affine=True, track_running_stats=True)", "f(3, 4, 5, 2)"),
    ("nn.InstanceNorm3d(4)", "f(3, 4, 2, 5, 2)"),
    ("nn.LazyBatchNorm1d()", "f(3, 4)"),
    ("nn.LazyBatchNorm2d()", "f(3, 4, 5, 2)"),
    ("nn.LazyBatchNorm3d(affine=False)", "f(3, 4, 2, 5, 2)"),
    ("nn.LazyInstanceNorm1d()", "f(3, 4, 5)"),
    ("nn.LazyInstanceNorm2d()", "f(3, 4, 5, 5)"),
    ("nn.LazyInstanceNorm3d()", "f(3, 4, 5, 5, 2)"),
    ("nn.Dropout()", "f(3, 4)"),
    ("nn.Dropout(0.2, inplace=True)", "f(30, 40)"),
    ("nn.Dropout1d(0.3)", "f(3, 4, 5)"),
    ("nn.Dropout1d(0.3)", "f(4, 5)"),
    ("nn.Dropout2d(0.3)", "f(3, 4, 5, 2)"),
    ("nn.Dropout3d(0.3, inplace=True)", "f(3, 4, 5, 2, 2)"),
    ("nn.Dropout3d(0.3)", "f(4, 5, 2, 2)"),
    ("nn.Dropout(1.0)", "f(3, 4)"),
    ("nn.AlphaDropout(0.3)", "f(3, 4)"),
    ("nn.FeatureAlphaDropout(0.3)", "f(3, 4, 5)"),
]

IMAGES = [
    *((f"nn.ConstantPad{n}d({n}, 3.5)", f"f(2, *({n + 2},) * {n})") for n in (1, 2, 3)),
    *((f"nn.ZeroPad{n}d(1)", f"f(2, *({n + 2},) * {n})") for n in (1, 2, 3)),
    *((f"nn.ReflectionPad{n}d(1)", f"f(2, *({n + 2},) * {n})") for n in (1, 2, 3)),
    *((f"nn.ReplicationPad{n}d(1)", f"f(2, *({n + 2},) * {n})") for n in (1, 2, 3)),
    *((f"nn.CircularPad{n}d(1)", f"f(2, 3, *({n + 2},) * {n})") for n in (1, 2, 3)),
    ("nn.ZeroPad2d((1, 2, 0, -1))", "f(1, 2, 4, 4)"),
    ("nn.PixelShuffle(2)", "f(1, 8, 2, 3)"),
    ("nn.PixelUnshuffle(2)", "f(1, 2, 4, 6)"),
    ("nn.ChannelShuffle(2)", "f(1, 6, 2, 2)"),
    ("nn.Upsample(scale_factor=2)", "f(1, 2, 3)"),
    ("nn.Upsample(scale_factor=(1.5, 0.7))", "f(1, 2, 5, 6)"),
    ("nn.Upsample(size=(5, 7), mode='bilinear')", "f(1, 2, 3, 4)"),
    ("nn.Upsample(scale_factor=2.5, mode='bilinear', align_corners=True)", "f(1, 2, 3, 4)"),
    ("nn.Upsample(scale_factor=0.6, mode='bilinear')", "f(1, 2, 5, 7)"),
    ("nn.Upsample(scale_factor=1.7, mode='linear', recompute_scale_factor=True)", "f(1, 2, 5)"),
    ("nn.Upsample(size=7, mode='linear')", "f(1, 2, 5)"),
    ("nn.Upsample(size=(4, 5, 6), mode='trilinear')", "f(1, 2, 3, 3, 3)"),
    ("nn.Upsample(scale_factor=2, mode='bicubic')", "f(1, 2, 4, 5)"),
    ("nn.Upsample(size=(3, 9), mode='bicubic', align_corners=True)", "f(1, 2, 4, 5)"),
    ("nn.Upsample(size=(3, 9), mode='nearest-exact')", "f(1, 2, 4, 5)"),
    ("nn.UpsamplingNearest2d(scale_factor=2)", "f(1, 2, 4, 5)"),
    ("nn.UpsamplingBilinear2d(size=(3, 9))", "f(1, 2, 4, 5)"),
    ("nn.Conv1d(4, 6, 3)", "f(2, 4, 7)"),
    ("nn.Conv1d(4, 6, 3, padding='same', bias=False)", "f(4, 7)"),
    ("nn.Conv2d(4, 6, (3, 2), stride=2, padding=(1, 0), dilation=2, groups=2)", "f(2, 4, 8, 7)"),
    ("nn.Conv2d(4, 6, 1, padding_mode='reflect', padding=1)", "f(2, 4, 3, 4)"),
    ("nn.Conv3d(2, 4, 3)", "f(2, 2, 4, 3, 5)"),
    ("nn.ConvTranspose1d(4, 6, 3)", "f(2, 4, 7)"),
    ("nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2)", "f(2, 4, 3, 4)"),
    ("nn.ConvTranspose3d(4, 6, 3, bias=False)", "f(1, 4, 2, 3, 2)"),
    ("nn.LazyConv2d(6, 3)", "f(2, 4, 5, 6)"),
    ("nn.LazyConvTranspose1d(6, 3, bias=False)", "f(2, 4, 5)"),
    *((f"nn.MaxPool{n}d(2)", f"f(2, 3, *(5,) * {n})") for n in (1, 2, 3)),
    ("nn.MaxPool2d((3, 2), stride=1, padding=1, dilation=2, ceil_mode=True)", "f(2, 3, 7, 6)"),
    *((f"nn.AvgPool{n}d(2)", f"f(2, 3, *(5,) * {n})") for n in (1, 2, 3)),
    ("nn.AvgPool2d(3, stride=(2, 1), padding=1)", "f(2, 3, 5, 6)"),
    *(
        (
            f"nn.MaxUnpool{n}d(2)",
            f"f(1, 1, *(2,) * {n}), torch.arange({2**n}).flip(0).view(1, 1, *(2,) * {n})",
        )
        for n in (1, 2, 3)
    ),
    *((f"nn.LPPool{n}d(2, 3)", f"f(2, 3, *(7,) * {n})") for n in (1, 2, 3)),
    *((f"nn.AdaptiveAvgPool{n}d(2)", f"f(2, 3, *(5,) * {n})") for n in (1, 2, 3)),
    *((f"nn.AdaptiveMaxPool{n}d(2)", f"f(2, 3, *(5,) * {n})") for n in (1, 2, 3)),
    ("nn.AdaptiveAvgPool2d((None, 3))", "f(2, 3, 4, 5)"),
    ("nn.FractionalMaxPool2d(2, output_size=3)", "f(2, 3, 7, 8)"),
    ("nn.FractionalMaxPool3d(2, output_ratio=0.5)", "f(2, 3, 6, 7, 8)"),
    ("nn.Unfold((2, 3), padding=1)", "f(2, 3, 4, 5)"),
    ("nn.Unfold(2, dilation=(1, 2), stride=(2, 1))", "f(3, 4, 5)"),
    ("nn.Fold((4, 4), 2)", "f(2, 12, 9)"),
    ("nn.Fold((4, 5), (2, 3), dilation=(1, 2), padding=1, stride=(2, 1))", "f(12, 9)"),
]

_PACKED = "nn.utils.rnn.pack_padded_sequence(f(4, 3, 2), [{}], enforce_sorted=False)"
SEQUENCES = [
    *(
        (f"nn.{name}(2, 3{options})", inputs)
        for name in ("RNN", "LSTM", "GRU")
        for options in (
            "",
            ", num_layers=2, bidirectional=True",
            ", num_layers=2, dropout=0.5, batch_first=True",
            ", bias=False",
        )
        for inputs in ("f(4, 3, 2)", "f(4, 2)", _PACKED.format("2, 4, 1"))
    ),
    ("nn.RNN(2, 3, nonlinearity='relu')", "f(4, 3, 2), f(1, 3, 3)"),
    ("nn.GRU(2, 3)", "f(4, 2), f(1, 3)"),
    ("nn.LSTM(2, 3)", "f(4, 3, 2), (f(1, 3, 3), f(1, 3, 3))"),
    ("nn.LSTM(2, 3, proj_size=1, bidirectional=True)", "f(4, 3, 2)"),
    ("nn.LSTM(2, 3)", _PACKED.format("2, 4, 1") + ", (f(1, 3, 3), f(1, 3, 3))"),
    ("nn.RNNCell(2, 3)", "f(4, 2)"),
    ("nn.RNNCell(2, 3, nonlinearity='relu', bias=False)", "f(4, 2), f(4, 3)"),
    ("nn.LSTMCell(2, 3)", "f(4, 2)"),
    ("nn.LSTMCell(2, 3)", "f(2), (f(3), f(3))"),
    ("nn.GRUCell(2, 3)", "f(4, 2), f(4, 3)"),
    ("nn.MultiheadAttention(4, 2)", "*[f(3, 2, 4)] * 3"),
    ("nn.MultiheadAttention(4, 2, dropout=0.2)", "*[f(3, 2, 4)] * 3"),
    ("nn.MultiheadAttention(4, 2, bias=False, batch_first=True)", "f(2, 3, 4), *[f(2, 5, 4)] * 2"),
    (
        "nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)",
        "f(3, 4), f(5, 4), f(5, 4), i(2, 5) > 0",
    ),
    (
        "nn.MultiheadAttention(4, 2, kdim=3, vdim=5)",
        "f(3, 2, 4), f(5, 2, 3), f(5, 2, 5), None, False, f(3, 5)",
    ),
    ("nn.MultiheadAttention(4, 2)", "*[f(3, 2, 4)] * 3, None, True, f(4, 3, 3), False"),
    ("nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)", "f(5, 3, 4)"),
    (
        "nn.TransformerEncoderLayer(4, 2, 8, activation='gelu', norm_first=True, batch_first=True)",
        "f(3, 5, 4), nn.Transformer.generate_square_subsequent_mask(5)",
    ),
    ("nn.TransformerDecoderLayer(4, 2, 8, bias=False)", "f(5, 3, 4), f(6, 3, 4)"),
    (
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, nn.LayerNorm(4), "
        "enable_nested_tensor=False)",
        "f(5, 3, 4), nn.Transformer.generate_square_subsequent_mask(5)",
    ),
    ("nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2)", "f(5, 3, 4), f(6, 3, 4)"),
    ("nn.Transformer(4, 2, 1, 2, 8, batch_first=True)", "f(3, 5, 4), f(3, 6, 4)"),
]

_REDUCTIONS = ("mean", "sum", "none")
LOSSES = [
    *((f"nn.{name}(reduction='{r}')", "f(3, 4), f(3, 4)") for r in _REDUCTIONS
      for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "PoissonNLLLoss")),
    ("nn.SmoothL1Loss(beta=0.3)", "f(3, 4), f(3, 4)"),
    ("nn.HuberLoss(delta=0.3)", "f(3, 4), f(3, 4)"),
    ("nn.PoissonNLLLoss(log_input=False, full=True)", "pos(3, 4), 5 * pos(3, 4)"),
    *((f"nn.GaussianNLLLoss(reduction='{r}', full=True)", "f(3, 4), f(3, 4), pos(3, 4)")
      for r in _REDUCTIONS),
    ("nn.GaussianNLLLoss()", "f(3, 4), f(3, 4), pos(3, 1)"),
    *((f"nn.{name}(reduction='{r}')", "f(3, 5).log_softmax(1), i(5, 3)") for r in _REDUCTIONS
      for name in ("NLLLoss", "CrossEntropyLoss", "MultiMarginLoss")),
    ("nn.NLLLoss(weight=pos(5), ignore_index=2)", "f(3, 5, 4, 2), i(5, 3, 4, 2)"),
    ("nn.CrossEntropyLoss(weight=pos(5), ignore_index=2)", "f(3, 5, 4), i(5, 3, 4)"),
    ("nn.CrossEntropyLoss(weight=pos(5), label_smoothing=0.2)", "f(3, 5), i(5, 3)"),
    ("nn.CrossEntropyLoss(label_smoothing=0.2, ignore_index=1)", "f(3, 5), i(5, 3)"),
    ("nn.CrossEntropyLoss(label_smoothing=0.2, reduction='none')", "f(3, 5, 2), i(5, 3, 2)"),
    *((f"nn.CrossEntropyLoss(weight=pos(5), label_smoothing=0.1, reduction='{r}')",
       "f(3, 5), f(3, 5).softmax(1)") for r in _REDUCTIONS),
    ("nn.CrossEntropyLoss()", "f(5), i(5)"),
    ("nn.CrossEntropyLoss(ignore_index=1)", "f(2, 5), torch.tensor([1, 1])"),
    ("nn.CrossEntropyLoss()", "f(5), f(5).softmax(0)"),
    *((f"nn.KLDivLoss(reduction='{r}')", "f(3, 4).log_softmax(1), f(3, 4).softmax(1)")
      for r in (*_REDUCTIONS, "batchmean")),
    ("nn.KLDivLoss(log_target=True)", "f(3, 4).log_softmax(1), f(3, 4).log_softmax(1)"),
    *((f"nn.BCELoss(reduction='{r}')", "pos(3, 4), pos(3, 4)") for r in _REDUCTIONS),
    ("nn.BCELoss(weight=pos(4))", "pos(3, 4), i(2, 3, 4).float()"),
    ("nn.BCELoss()", "i(2, 3, 4).float(), i(2, 3, 4).float()"),
    *((f"nn.BCEWithLogitsLoss(reduction='{r}')", "f(3, 4), pos(3, 4)") for r in _REDUCTIONS),
    ("nn.BCEWithLogitsLoss(weight=pos(4), pos_weight=pos(4))", "100 * f(3, 4), pos(3, 4)"),
    *((f"nn.HingeEmbeddingLoss(0.5, reduction='{r}')", "f(3, 4), 2 * i(2, 3, 4) - 1")
      for r in _REDUCTIONS),
    *((f"nn.MultiLabelMarginLoss(reduction='{r}')",
       "f(2, 4), torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2]])") for r in _REDUCTIONS),
    *((f"nn.SoftMarginLoss(reduction='{r}')", "f(3, 4), 2 * i(2, 3, 4) - 1.0")
      for r in _REDUCTIONS),
    *((f"nn.MultiLabelSoftMarginLoss(reduction='{r}')", "f(3, 4), i(2, 3, 4).float()")
      for r in _REDUCTIONS),
    ("nn.MultiLabelSoftMarginLoss(weight=pos(4))", "f(3, 4), i(2, 3, 4).float()"),
    *((f"nn.CosineEmbeddingLoss(0.1, reduction='{r}')", "f(3, 4), f(3, 4), 2 * i(2, 3) - 1")
      for r in _REDUCTIONS),
    *((f"nn.MarginRankingLoss(0.1, reduction='{r}')", "f(3), f(3), 2 * i(2, 3) - 1")
      for r in _REDUCTIONS),
    ("nn.MultiMarginLoss(p=2, margin=0.5, weight=pos(5))", "f(3, 5), i(5, 3)"),
    *((f"nn.TripletMarginLoss(reduction='{r}')", "f(3, 4), f(3, 4), f(3, 4)") for r in _REDUCTIONS),
    ("nn.TripletMarginLoss(margin=0.5, p=1, swap=True)", "f(3, 4), f(3, 4), f(3, 4)"),
    ("nn.TripletMarginWithDistanceLoss(margin=0.5, swap=True)", "f(3, 4), f(3, 4), f(3, 4)"),
    ("nn.LinearCrossEntropyLoss(4, 5, bias=True)", "f(3, 4), i(5, 3)"),
    ("nn.LinearCrossEntropyLoss(4, 5, out_features=(2,), weight=pos(5), ignore_index=1)",
     "f(3, 4), i(5, 3, 2)"),
    *((f"nn.CTCLoss(reduction='{r}')",
       "f(6, 2, 4).log_softmax(2), 1 + i(3, 2, 3), torch.tensor([6, 5]), torch.tensor([3, 2])")
      for r in _REDUCTIONS),
    ("nn.CTCLoss(blank=3, zero_infinity=True)",
     "f(3, 2, 4).log_softmax(2), torch.tensor([1, 1, 1, 2]), (3, 3), (3, 1)"),
    ("nn.CTCLoss()", "f(5, 4).log_softmax(1), 1 + i(3, 2), torch.tensor(5), torch.tensor(2)"),
]  # fmt: skip

ALL = ACTIVATIONS + LINEAR + NORMS + IMAGES + SEQUENCES + LOSSES
