#!/usr/bin/env bash
# Runs the examples of other releases on a GPU, each with that release: tests/gpu/releases.sh SLIM OUT [VERSION...]
# SLIM holds what tools/slim_wheel.py made; a machine's own Triton lends its disassemblers, and its ptxas where a slim
# release has none. Needs what run.sh needs. OUT/VERSION/examples.{json,md} are the results.
set -uo pipefail
slim=$(realpath "${1:?usage: tests/gpu/releases.sh SLIM OUT [VERSION...]}"); out=$(mkdir -p "${2:?}" && realpath "$2"); shift 2
cd "$(dirname "$0")/../.."
build=${BUILD:-build/gpu}; python=$(command -v python3); site=$PWD/$build/site
cmake -G Ninja -S . -B "$build" -DPython_EXECUTABLE="$python" > "$out/cmake.log" 2>&1 &&
  ninja -C "$build" _core > "$out/build.log" 2>&1 || { tail -20 "$out"/*.log; exit 1; }
rm -rf "$site"; mkdir -p "$site"; cp -r python/triton_runner "$site/"
rm -f "$site"/triton_runner/_core*.so; cp "$build"/python/bindings/_core*.so "$site/triton_runner/"

programs=$("$python" -c 'import os, triton; print(os.path.dirname(triton.__file__))')/backends/nvidia/bin
export TRITON_RUNNER_DEVICE=cuda TRITON_CUOBJDUMP_PATH=$programs/cuobjdump TRITON_NVDISASM_PATH=$programs/nvdisasm
status=0
for version in ${*:-$(ls "$slim")}; do
  release=$(mktemp -d)
  for part in "$slim/$version"/*.tar.xz; do tar xJf "$part" -C "$release"; done
  ptxas=$release/triton/backends/nvidia/bin/ptxas
  [ -f "$ptxas" ] && chmod +x "$ptxas" || ptxas=$programs/ptxas
  export TRITON_PTXAS_PATH=$ptxas TRITON_PTXAS_BLACKWELL_PATH=$ptxas
  export PYTHONPATH=$site:$release TRITON_CACHE_DIR=$release/cache
  "$python" -c 'import triton; print("Triton", triton.__version__)'
  "$python" tests/gpu/run_examples.py "$out/$version" --releases "$version" || status=1
  "$python" tests/gpu/check_device.py > "$out/$version/device.txt" 2>&1 || { status=1; tail -3 "$out/$version/device.txt"; }
  rm -rf "$release"
done
exit $status
