# Everything a person does with the tree. Each target sets up what it needs, is quick when nothing changed, and keeps
# to .venv/ and build/ (releases: also a cache folder in the home directory).
#
#   make demo           kernels at every level that runs without a GPU: engine, difference from the reference, time
#                       (ARGS=--all: every kernel from every level)
#   make test           the tests of every change; the last line counts them (PARTS="cases python": some;
#                       PARTS="share programs machine verbs matrices asan fuzz tsan releases": those that take turns in .ci/run)
#   make develop        the package in .venv, editable
#   make bench          kernel times beside TRITON_INTERPRET=1 and torch (ARGS=--plot: how cost grows;
#                       ARGS=--write: into doc/measurements/speed.md)
#   make conformance TESTS=<folder>    Triton's own tests on the CPU engines (LEVEL=ptx, TARGET=cuda:80, LIMIT=<seconds>,
#                       JOBS=<processes>, RESULTS=<file to go on from>, ARGS=--all: doc/measurements/verified.md)
#   make gluon TESTS=<folder>    all of Triton's Gluon tests, 3.9's and the next release's, at ttgir, ptx and cubin of cuda:90
#                       and cuda:100; goes on where it stopped (LIMIT=<seconds>, JOBS=<processes>, ARGS=--cost: what is left)
#   make tutorials TUTORIALS=<folder>   Triton's own tutorials as they are, on the CPU (ARGS="--release 3.6.0")
#   make right          right programs under verify: none may be called wrong (ARGS="fla --whole --launches 400",
#                       ARGS="tutorials --tutorials <folder>": tests/right/run.py)
#   make releases       every Triton release, each in a venv of its own (ALL=1: every patch of each)
#   make lint           ruff, clang-format, the order of imports, the length of functions and files
#   make fuzz           mutated IR against the parser and the engine (LIMIT=<seconds>, ARGS=--libfuzzer)
#   make coverage       lines and conditions of the engines that no test reaches (ARGS="--parts cases":
#                       doc/measurements/verified.md)
#   make differential   random kernels at TTIR, TTGIR and PTX, bit for bit (LIMIT=<seconds>, ARGS="--seeds 0 1000")
#   make bisect-check   faults planted behind compiler passes, found by bisection (ARGS="--count 20 --seed 0")
#   make gpu-check OUT=<folder>       on a machine with an NVIDIA GPU: the SIMT engine against it, bit for bit
#   make docs           the pages of doc/ as a site in build/site, links and anchors checked
#   make wheel          a wheel for manylinux in dist/, tried in an empty virtual environment
#   make aarch64        the C++ for 64-bit Arm by Debian's cross compiler; unit tests and golden cases under qemu-user
#   make clean          removes build/ and dist/ (.venv stays)

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BUILD := build/release
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
unexport PYTHONPATH
RUN := $(VENV)/bin/python
# Where the package index has torch for CUDA alone, which pins a Triton of its own.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

.PHONY: demo test develop compiled bench conformance gluon tutorials right releases lint fuzz differential coverage gpu-check
.PHONY: bisect-check foreign docs wheel aarch64 clean
.DELETE_ON_ERROR:

# What make compiles first in a new build folder has the loops for this machine alone; `make test` compiles the others to it
# (TRITON_RUNNER_ISAS in CMakeLists.txt).
ISAS = $(if $(wildcard $(BUILD)/CMakeCache.txt),,native)

# torch and triton take as long to unpack as the extension takes to compile: side by side.
demo: $(VENV)/.build
	@$(MAKE) --no-print-directory -j2 $(VENV)/.run compiled
	@$(MAKE) --no-print-directory develop
	@$(VENV)/bin/triton-runner demo $(ARGS)

# In a fresh clone side by side too; what fails there is said below.
test: $(VENV)/.build
	@test -f $(VENV)/.check -o -n "$(PARTS)" || $(MAKE) --no-print-directory -j2 $(VENV)/.check compiled TARGETS=all ISAS=all >/dev/null 2>&1 || true
	@$(MAKE) --no-print-directory $(VENV)/.check
	@$(RUN) tests/run_all.py $(PARTS) $(TURN)

# pip asks CMake, and CMake knows what changed.
develop: $(VENV)/.run
	@$(PIP) --no-build-isolation --no-deps -e . --config-settings=build-dir=$(BUILD) --config-settings=build.targets=_core \
	  --config-settings=cmake.define.TRITON_RUNNER_TESTS=ON $(ISAS:%=--config-settings=cmake.define.TRITON_RUNNER_ISAS=%)

compiled: $(VENV)/.build
	@mkdir -p build/log
	@{ test -f $(BUILD)/build.ninja || cmake -G Ninja -S . -B $(BUILD) -DTRITON_RUNNER_TESTS=ON $(ISAS:%=-DTRITON_RUNNER_ISAS=%) \
	  -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python; } > build/log/compile.log 2>&1 \
	  && ninja -C $(BUILD) $(or $(TARGETS),_core) >> build/log/compile.log 2>&1 || { tail -40 build/log/compile.log; exit 1; }

bench: $(VENV)/.check develop
	@$(RUN) benchmark/bench.py $(ARGS)

conformance: $(VENV)/.check develop
	@test -n "$(TESTS)" || { echo "make conformance: TESTS=<a folder of Triton's tests>, for instance" \
	  "TESTS=triton/python/test/unit/language of a checkout"; exit 2; }
	@$(RUN) tests/conformance/run.py $(if $(LIMIT),--limit $(LIMIT)) $(if $(LEVEL),--level $(LEVEL)) \
	  $(if $(TARGET),--target $(TARGET)) $(if $(JOBS),--jobs $(JOBS)) $(if $(RESULTS),--results "$(RESULTS)") \
	  "$(TESTS)" $(ARGS)

gluon: $(VENV)/.check develop
	@test -n "$(TESTS)" || { echo "make gluon: TESTS=<Triton's Gluon tests>, for instance" \
	  "TESTS=triton/python/test/gluon of a checkout"; exit 2; }
	@$(RUN) tests/conformance/gluon_tests.py "$(TESTS)" build/gluon-tests
	@$(RUN) tests/conformance/whole.py build/gluon-tests/gluon $(if $(LIMIT),--limit $(LIMIT)) \
	  $(if $(JOBS),--jobs $(JOBS)) $(ARGS)

foreign: $(VENV)/.check develop
	@$(RUN) tests/foreign/$(if $(SUITE),checkout.py $(SUITE) "$(CHECKOUT)",run.py $(if $(ONLY),--only $(ONLY))) \
	  $(if $(LIMIT),--limit $(LIMIT)) $(ARGS)

tutorials: $(VENV)/.check develop
	@test -n "$(TUTORIALS)" || { echo "make tutorials: TUTORIALS=<a folder of Triton's tutorials>, for instance" \
	  "TUTORIALS=triton/python/tutorials of a checkout"; exit 2; }
	@$(RUN) tests/tutorials/run.py "$(TUTORIALS)" $(ARGS)

right: $(VENV)/.check develop
	@$(RUN) tests/right/run.py $(ARGS)

releases: $(VENV)/.check develop
	@$(RUN) tools/releases.py test $(if $(ALL),--all)

lint: $(VENV)/.check
	@$(RUN) tests/lint.py

fuzz: $(VENV)/.check
	@$(RUN) fuzz/run.py $(if $(LIMIT),--limit $(LIMIT)) $(ARGS)

differential: $(VENV)/.check develop
	@$(RUN) tests/differential/run.py --jobs 2 --target cuda:80 cuda:90 cuda:100 $(if $(LIMIT),--limit $(LIMIT)) $(ARGS)

bisect-check: $(VENV)/.check develop
	@$(RUN) tests/planted/check.py $(ARGS)

# Without the note of mkdocs-material about mkdocs 2, which has nothing to do with the pages.
docs: requirements/docs.txt | $(RUN)
	@$(PIP) -r $<
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html; with a search: python -m http.server --directory build/site"

wheel: $(VENV)/.build
	@$(PIP) -r requirements/wheel.txt
	@$(RUN) tools/wheel.py

aarch64: $(VENV)/.check
	@$(RUN) tools/aarch64.py

coverage: $(VENV)/.check
	@$(RUN) tests/coverage/run.py $(if $(ARGS),$(ARGS),--fresh)

gpu-check:
	@test -n "$(OUT)" || { echo "make gpu-check: OUT=<a folder for the results>"; exit 2; }
	@PARTS=simt tests/gpu/run.sh "$(OUT)"

clean:
	rm -rf build dist

$(RUN):
	$(PYTHON) -m venv $(VENV)
$(VENV)/.build: requirements/build.txt | $(RUN)
	$(PIP) -r $<
	@touch $@
$(VENV)/.run: requirements/run.txt $(VENV)/.build
	$(PIP) -r $< || { echo "make: once more, with torch for CPUs from $(TORCH_INDEX), which pins no other Triton"; \
	  $(PIP) --extra-index-url $(TORCH_INDEX) -r $<; }
	@touch $@
$(VENV)/.check: requirements/check.txt $(VENV)/.run
	$(PIP) -r $<
	@touch $@
