#!/usr/bin/env bash
# Makes build/torch_npu, a virtual environment with PyTorch for CPUs and torch_npu, as PyPI has them, and
# without mindtorch: tests/torch_npu runs there on the simulator. The second run takes a moment: a stamp
# records what is there.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=build/torch_npu
python=$environment/bin/python
list=tests/torch_npu/requirements.txt
fingerprint=$(cat tools/setup_torch_npu.sh "$list" | cksum)" $PWD"
stamp=$environment/.mindtorch-setup
if [[ -f $stamp && $(cat "$stamp") == "$fingerprint" ]]; then
  exit 0
fi

echo "[setup] installing PyTorch and torch_npu into $environment"
rm -rf "$environment"
.venv/bin/python -m venv --without-pip "$environment"
pip=(.venv/bin/python -m pip --python "$python" install --quiet --no-compile
  --disable-pip-version-check)
# PyPI's own build for x86-64 is one for CUDA, of gigabytes.
"${pip[@]}" -r "$list" 2>/dev/null ||
  "${pip[@]}" -r "$list" --extra-index-url https://download.pytorch.org/whl/cpu
printf '%s' "$fingerprint" >"$stamp"
