#!/usr/bin/env bash
# Makes build/dropin, a virtual environment with the libraries of tests/dropin and without torch.
# It imports mindtorch_v2 from python/. The second run takes a moment: a stamp records what is there.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=build/dropin
python=$environment/bin/python
lists=(tests/dropin/requirements.txt tests/dropin/requirements-without-dependencies.txt)
fingerprint=$(cat tools/setup_dropin.sh "${lists[@]}" | cksum)" $PWD"
stamp=$environment/.mindtorch-setup
if [[ -f $stamp && $(cat "$stamp") == "$fingerprint" ]]; then
  exit 0
fi

echo "[setup] installing the libraries of tests/dropin into $environment"
rm -rf "$environment"
.venv/bin/python -m venv --without-pip "$environment"
pip=(.venv/bin/python -m pip --python "$python" install --quiet --no-compile
  --disable-pip-version-check)
"${pip[@]}" -r "${lists[0]}"
"${pip[@]}" --no-deps -r "${lists[1]}"
if "$python" -c 'import torch' 2>/dev/null; then
  echo "[setup] error: torch is installed in $environment, where it must not be" >&2
  exit 1
fi
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$PWD/python" >"$site/mindtorch_v2_source.pth"
printf '%s' "$fingerprint" >"$stamp"
