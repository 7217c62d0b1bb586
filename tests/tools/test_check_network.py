"""How long a set-up waits for an index that does not answer, and which index it is."""

import importlib.util
import os
import pathlib
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check_network(monkeypatch):
    monkeypatch.setitem(sys.modules, "check_network", None)
    return load("check_network")


class Dropping:
    """A socket whose packets are dropped, and a clock that moves while it waits for an answer."""

    def __init__(self):
        self.now, self.waits = 0.0, []

    def __call__(self, *_):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def settimeout(self, seconds):
        self.waits.append(seconds)

    def connect(self, _):
        self.now += self.waits[-1]
        raise TimeoutError("timed out")


def test_an_index_with_many_addresses_that_do_not_answer(check_network, monkeypatch):
    dropping = Dropping()
    address = (2, 1, 6, "", ("192.0.2.1", 443))
    monkeypatch.setattr(check_network.socket, "getaddrinfo", lambda *_, **__: [address] * 8)
    monkeypatch.setattr(check_network.socket, "socket", dropping)
    monkeypatch.setattr(check_network.time, "monotonic", lambda: dropping.now)
    for name in ("http_proxy", "https_proxy", "all_proxy", "PIP_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    reason = check_network.failure("https://pypi.invalid/simple")
    assert reason == "pypi.invalid cannot be reached (timed out)"
    assert dropping.waits == [3, 3, 3, 1]


def test_pip_is_fetched_from_the_index_of_its_settings(check_network, monkeypatch, tmp_path):
    bootstrap = load("bootstrap_pip")
    asked = []

    def urlopen(url, timeout):
        asked.append(url)
        raise SystemExit

    monkeypatch.setattr(bootstrap, "urlopen", urlopen)
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    settings = tmp_path / "pip.conf"
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    settings.write_text("[global]\nindex-url = http://mirror.invalid/simple/\n")
    with pytest.raises(SystemExit):
        bootstrap.main()
    assert asked == ["http://mirror.invalid/simple/pip/"]
    settings.write_text("[global]\nno-index = true\n")
    with pytest.raises(SystemExit, match="not to fetch"):
        bootstrap.main()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(SystemExit):
        bootstrap.main()
    assert asked[1:] == ["https://pypi.org/simple/pip/"]
