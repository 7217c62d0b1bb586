"""Whether the package index that pip would use can be reached; if not, one sentence and status 1.

Runs before pip is there, so it reads pip's settings itself: PIP_* and pip's configuration files.
A proxy counts as the index behind it. A folder, or no index at all, needs no network.
"""

from __future__ import annotations

import configparser
import os
import socket
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

TIMEOUT_S = 10  # for all of it
ADDRESS_S = 3  # for one of a host's addresses; where packets are dropped, there is no answer
PYPI = "https://pypi.org/simple"


def files() -> list[str]:
    """pip's configuration files, the one that counts most last."""
    chosen = os.environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return []
    home = Path.home()
    settings = os.environ.get("XDG_CONFIG_HOME") or home / ".config"
    shared = os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    found = [Path(folder) / "pip" / "pip.conf" for folder in reversed(shared.split(os.pathsep))]
    found += [Path("/etc/pip.conf"), home / ".pip" / "pip.conf"]
    found += [Path(settings) / "pip" / "pip.conf", Path(sys.prefix) / "pip.conf"]
    return [str(path) for path in found] + ([chosen] if chosen else [])


def setting(name: str) -> str:
    """pip's own order: the environment, then [install], then [global]; later files first."""
    given = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    if given is not None:
        return given
    values = {}
    for file in files():
        parser = configparser.RawConfigParser()
        try:
            parser.read(file)
        except (configparser.Error, UnicodeDecodeError):
            continue  # pip will say so
        for section in ("global", "install"):
            if parser.has_option(section, name):
                values[section] = parser.get(section, name)
    return values.get("install", values.get("global", ""))


def index() -> str:
    """The address of the index, or nothing if pip was told not to use one."""
    if setting("no-index").lower() in ("1", "true", "yes", "on"):
        return ""
    return setting("index-url") or PYPI


def addresses(host: str, port: int) -> list[tuple]:
    """What the name stands for. The system may look for longer than we wait."""
    found: list[list[tuple] | OSError] = []

    def look() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(TIMEOUT_S)
    if not found:
        raise TimeoutError("no answer to what its address is")
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


def connect(host: str, port: int) -> None:
    until = time.monotonic() + TIMEOUT_S
    problem = OSError("it has no address")
    for family, kind, protocol, _, address in addresses(host, port):
        left_s = until - time.monotonic()
        if left_s <= 0:
            break
        try:
            with socket.socket(family, kind, protocol) as connection:
                connection.settimeout(min(ADDRESS_S, left_s))
                connection.connect(address)
                return
        except OSError as error:
            problem = error
    raise problem


def failure(address: str) -> str:
    """Why an index cannot be reached; nothing if it can."""
    parts = urlsplit(address)
    if parts.scheme == "file" or not parts.hostname:
        return ""
    proxy = setting("proxy")
    if not proxy and not proxy_bypass(parts.hostname):
        proxy = getproxies().get(parts.scheme) or getproxies().get("all") or ""
    if proxy:
        parts = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    try:
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 1080)
        connect(parts.hostname, port)
        return ""
    except (OSError, ValueError) as error:
        through = f" through the proxy {parts.hostname}" if proxy else ""
        return f"{urlsplit(address).hostname} cannot be reached{through} ({error})"


def main() -> None:
    reason = failure(index())
    if reason:
        sys.exit(f"no network: {reason}, and packages are to be fetched from there")


if __name__ == "__main__":
    main()
