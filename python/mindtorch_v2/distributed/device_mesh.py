"""torch.distributed.device_mesh: devices of several processes in rows and columns. There is one
process."""

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """The devices of all processes. There is none: RuntimeError."""

    def __init__(self, *args, **kwargs):
        from mindtorch_v2 import distributed

        raise RuntimeError(distributed._NOT_AVAILABLE)


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """RuntimeError: process groups are not available."""
    return DeviceMesh(device_type, mesh_shape)
