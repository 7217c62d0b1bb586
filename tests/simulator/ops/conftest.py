import pytest

from . import acl


@pytest.fixture(scope="session")
def npu():
    return acl.Device()
