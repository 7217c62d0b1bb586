"""Puts pip into the running environment from its own wheel, for a Python without ensurepip.

The wheel comes from the index pip itself would use.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urldefrag, urljoin
from urllib.request import urlopen

from check_network import index


def version_key(url: str) -> tuple[int, ...]:
    match = re.search(r"/pip-([0-9.]+)-py3-none-any\.whl$", urldefrag(url).url)
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def newest_wheel(address: str) -> str:
    page_url = address.rstrip("/") + "/pip/"
    with urlopen(page_url, timeout=60) as answer:
        page = answer.read().decode()
    # pip still runs on every Python we support; a link may ask for a newer one than this.
    links = re.findall(r'<a\s[^>]*href="([^"]+)"[^>]*>', page)
    wheels = [urljoin(page_url, link) for link in links if version_key(urljoin(page_url, link))]
    if not wheels:
        raise SystemExit(f"no pip wheel at {page_url}")
    return max(wheels, key=version_key)


def main() -> None:
    address = index()
    if not address:
        raise SystemExit("pip is missing, and its settings say not to fetch anything")
    address, fragment = urldefrag(newest_wheel(address))
    with urlopen(address, timeout=60) as answer:
        content = answer.read()
    if fragment.startswith("sha256=") and fragment[7:] != hashlib.sha256(content).hexdigest():
        raise SystemExit(f"{address}: the checksum does not match")
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder) / address.rsplit("/", 1)[-1]
        wheel.write_bytes(content)
        command = [sys.executable, str(wheel / "pip"), "install", "--quiet", "--no-index"]
        subprocess.run([*command, str(wheel)], check=True)


if __name__ == "__main__":
    main()
