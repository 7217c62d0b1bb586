"""torch._VF: the functions of torch under which it knows its recurrent layers, by another name.

>>> torch._VF.lstm is torch.lstm
True
"""


def __getattr__(name):
    import mindtorch_v2 as torch

    return getattr(torch, name)
