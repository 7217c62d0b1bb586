# `make demo` and `make test` work from a bare Debian machine with Python 3 and a C++ compiler.
# `make help` lists the rest.

PRESET ?= release
JOBS ?= $(shell nproc)
PYTEST_JOBS ?= 2
PYTEST_ARGS ?=
# Not PYTHON: that names the interpreter that tools/setup.sh and `make wheel` are to take, and make
# hands what it has in its own variable of that name on to them.
VENV := .venv/bin/python
# What runs on NPUs, in a process that has simulated ones: tests/support/devices.py has the folders.
NPU_FOLDERS = $(addprefix tests/,amp autograd distributions func memory nn optim sparse)
NPU_TESTS = MINDTORCH_NPU=sim $(VENV) -m pytest -q -n $(PYTEST_JOBS) tests/npu tests/ops $(NPU_FOLDERS) --device npu

# `make` or `make -n help` must not need an environment.
.DEFAULT_GOAL := help
.PHONY: help setup build module demo test test-quick test-cpp test-python test-npu test-avx2 test-dropin test-torch-npu \
        bench format lint locks includes stubs stubs-check wheel wheels wheels-aarch64 wheel-check wheels-check aarch64 \
        aarch64-quick asan tsan clean

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

setup:  ## packages and the virtual environment .venv
	@tools/setup.sh

build: setup  ## library, Python module, C++ tests (PRESET=release, or dev)
	@tools/build.sh $(PRESET) $(JOBS)

module: setup  ## library and Python module only
	@tools/build.sh $(PRESET) $(JOBS) python_module

demo:  ## a tour of mindtorch, and a small GPT that learns to write (PREBUILT=1: by a wheel)
ifeq ($(filter-out 0 no,$(PREBUILT)),)
	@tools/setup.sh demo
	@tools/build.sh $(PRESET) $(JOBS) python_module
	@$(VENV) tools/demo.py
else
	@$${PYTHON:-python3} tools/prebuilt.py tools/demo.py
endif

test: build  ## every test
	@tools/test_cpp.sh $(PRESET) $(JOBS)
	$(VENV) -m pytest -q -n $(PYTEST_JOBS) $(PYTEST_ARGS)
	$(NPU_TESTS) $(PYTEST_ARGS)

test-quick: build  ## every test but those marked slow
	@tools/test_cpp.sh $(PRESET) $(JOBS)
	$(VENV) -m pytest -q -n $(PYTEST_JOBS) -m "not slow" $(PYTEST_ARGS)
	$(NPU_TESTS) -m "not slow" $(PYTEST_ARGS)

test-cpp: build  ## the C++ tests
	@tools/test_cpp.sh $(PRESET) $(JOBS)

test-python: module  ## the Python tests (PYTEST_ARGS="-k add")
	$(VENV) -m pytest -q -n $(PYTEST_JOBS) $(PYTEST_ARGS)

test-npu: module  ## the tests and op cases on simulated NPUs
	$(NPU_TESTS) $(PYTEST_ARGS)

test-avx2: setup  ## the op cases with AVX2 code, on a build with all instruction sets
	@tools/build.sh portable $(JOBS) python_module
	MINDTORCH_CPU_CAPABILITY=avx2 $(VENV) -m pytest -q -n $(PYTEST_JOBS) tests/ops tests/package/test_capability.py \
	  -m "not slow" $(PYTEST_ARGS)

test-dropin: module  ## libraries from PyPI that say `import torch`, in an environment without torch
	@tools/setup_dropin.sh
	build/dropin/bin/python -m pytest -q -n $(PYTEST_JOBS) tests/dropin $(PYTEST_ARGS)

test-torch-npu: module  ## programs on Huawei's torch_npu and the simulator, in an environment with PyTorch
	@tools/setup_torch_npu.sh
	$(VENV) -m mindtorch_v2.npu.simulator run --python build/torch_npu/bin/python -m pytest -q -n $(PYTEST_JOBS) \
	  --disable-warnings --confcutdir tests/torch_npu tests/torch_npu $(PYTEST_ARGS)

bench: module  ## the benchmarks
	@$(VENV) benchmarks/run.py

format: setup  ## format C++ and Python
	@git ls-files -z '*.h' '*.cpp' | xargs -0 -r .venv/bin/clang-format -i
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format --quiet .

lint: setup  ## formatting, ruff, the layers and the names of devices
	@git ls-files -z '*.h' '*.cpp' | xargs -0 -r .venv/bin/clang-format --dry-run -Werror
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@$(VENV) tools/check_layers.py
	@$(VENV) tools/check_device_names.py

locks: module  ## what mutexes guard, checked with Clang (fetched from PyPI)
	@$(VENV) tools/check_locks.py build/$(PRESET)

includes: module  ## each source includes what it uses: compiled alone, as far as its syntax
	@$(VENV) tools/check_includes.py build/$(PRESET) $(JOBS)

stubs: module  ## type stubs, docs/ops.md and docs/options.md, from the library
	@$(VENV) tools/make_stubs.py

stubs-check: module  ## the checked-in stubs and generated docs are what `make stubs` writes
	@tools/check_generated.sh

wheel: setup  ## a wheel in dist/ (PYTHON=python3.12: for that interpreter)
	@. tools/environment.sh && $(VENV) tools/make_wheels.py $$PYTHON

wheels: setup  ## wheels for every CPython from 3.10 to 3.14
	@. tools/environment.sh && $(VENV) tools/make_wheels.py --all

wheels-aarch64: setup  ## the same for aarch64, cross-compiled on x86-64
	@tools/setup_aarch64.sh
	@. tools/environment.sh && $(VENV) tools/make_wheels.py --all --architecture aarch64

wheels-check: setup  ## check the wheels in dist/; those for aarch64 under qemu
	@. tools/environment.sh && $(VENV) tools/check_wheel.py dist/*.whl

wheel-check: setup  ## build the wheel, install it beside NumPy alone, use it (PYTHON=python3.12)
	@. tools/environment.sh && $(VENV) tools/check_wheel.py $${PYTHON:+--python $$PYTHON}

aarch64: setup  ## build for aarch64 on x86-64; the C++ tests and the tour under qemu
	@tools/setup_aarch64.sh
	@tools/build.sh aarch64 $(JOBS)
	@tools/test_cpp.sh aarch64 $(JOBS)
	@PYTHONPATH=python:build/cross/python build/cross/bin/qemu-aarch64 \
	  build/cross/debian/usr/bin/python3 examples/tour.py

aarch64-quick: setup  ## the part of it that CI runs: no Python module, the library's tests only
	@tools/setup_aarch64.sh
	@tools/build.sh aarch64 $(JOBS) mindtorch_tests
	@tools/test_cpp.sh aarch64 $(JOBS) '^cpp[.][0-9]'

asan: setup  ## C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/build.sh asan $(JOBS)
	@tools/test_cpp.sh asan $(JOBS)

tsan: setup  ## C++ tests under ThreadSanitizer
	@tools/build.sh tsan $(JOBS)
	@tools/test_cpp.sh tsan $(JOBS)

clean:  ## remove what was built; .venv stays
	@rm -rf build dist python/mindtorch_v2/*.so
