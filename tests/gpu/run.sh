#!/usr/bin/env bash
# Builds the project on a machine with an NVIDIA GPU and runs everything that needs one: tests/gpu/run.sh OUT
# PARTS="golden" runs the golden cases alone, PARTS="simt" (make gpu-check) compares the SIMT engine with the GPU:
# single instructions, tensor cores, the .approx functions, and the PTX of whole kernels; PARTS="dump" checks dumps and times them; PARTS="differential" runs random kernels on engines and GPU, PARTS="gluon" the Gluon tests,
# PARTS="rules" early uses of wgmma and ends of TMA stores, PARTS="right" right programs under verify (RIGHT="fla liger_kernel"),
# PARTS="machine-code" each launch's cubin on the SIMT engine beside the GPU (CODE="fla conch", TESTS=a folder of Triton's own),
# PARTS="hazards" planted control words (HAZARDS=the folder that hazards.py made),
# (ARGS="--level ttgir": TTGIR with a GPU's rounding), PARTS="counters" the counters of profile beside ncu (PROGRAMS="a.py b.py"),
# PARTS="launch" what launches cost, kernels of every level beside Triton's, and examples/compile.
# Needs python3 with torch, triton, nanobind; cmake, ninja, a C++20 compiler. Results go to the folder OUT.
set -uo pipefail
cd "$(dirname "$0")/../.."
out=${1:?usage: tests/gpu/run.sh OUT}
build=${BUILD:-build/gpu}
python=$(command -v python3)
mkdir -p "$out"
exec > >(tee "$out/log") 2>&1
date; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
"$python" -c 'import sys, torch, triton; print("Python", sys.version.split()[0], "torch", torch.__version__, "Triton", triton.__version__)'

cmake -G Ninja -S . -B "$build" -DPython_EXECUTABLE="$python" -DTRITON_RUNNER_TESTS=ON > "$out/cmake.log" 2>&1 || { tail -20 "$out/cmake.log"; exit 1; }
targets="_core launch device_test launch_test artifact_test"
[ "${PARTS:-all}" = all ] || targets=_core
time ninja -C "$build" $targets > "$out/build.log" 2>&1 || { grep -E "error|FAILED" "$out/build.log" | head -20; exit 1; }
[ "${PARTS:-all}" != all ] || for test in device launch artifact; do "$build/${test}_test" | tail -3; done

# The package as it lies in the tree, with the extension that was just built.
site=$build/site
rm -rf "$site"; mkdir -p "$site"
cp -r python/triton_runner "$site/"; rm -f "$site"/triton_runner/_core*.so; cp "$build"/python/bindings/_core*.so "$site/triton_runner/"
export PYTHONPATH=$PWD/$site${PYTHONPATH:+:$PYTHONPATH} TRITON_CACHE_DIR=$PWD/$build/cache TRITON_RUNNER_DEVICE=cuda PYTHONUNBUFFERED=1
"$python" -c 'import triton_runner; from triton_runner._launch import gpu_driver; print(gpu_driver.current_target())' || exit 1

status=0
if [ "${PARTS:-all}" = golden ]; then
  "$python" tests/gpu/run_golden.py "$out" --jobs 12
  exit
fi
if [ "${PARTS:-all}" = simt ]; then
  "$python" tests/gpu/instructions.py gpu "$out" && "$python" tests/gpu/instructions.py cpu "$out" && "$python" tests/gpu/instructions.py compare "$out/gpu.npz" "$out/cpu.npz" || status=1
  "$python" tests/gpu/mma.py gpu "$out" && "$python" tests/gpu/mma.py cpu "$out" && "$python" tests/gpu/mma.py compare "$out/mma.npz" "$out/mma_cpu.npz" || status=1
  "$python" tests/gpu/sparse.py || status=1
  "$python" tests/gpu/im2col.py gpu "$out" && cmp "$out/im2col.txt" tests/golden/ptx-hw/im2col.txt || status=1
  "$python" tests/gpu/approx.py "$out" || status=1
  "$python" tests/gpu/check_ptx.py "$out" || status=1
  exit $status
fi
if [ "${PARTS:-all}" = counters ]; then
  # ncu runs the programs on the GPU; the engine counts their launches on the CPU.
  "$python" tests/gpu/counters.py "$out" ${PROGRAMS:-tests/gpu/counted_launches.py} --launches 200 --runs "${RUNS:-5}"
  exit
fi
if [ "${PARTS:-all}" = differential ]; then
  # The device is chosen by launch: CPU engines beside the GPU.
  "$python" tests/differential/run.py --kind ${KINDS:-operations addresses products} --jobs "${JOBS:-14}" --levels ttir ttgir ptx gpu --seeds ${SEEDS:-0 1000000} --limit "${LIMIT:-400}" || status=1
  exit $status
fi
if [ "${PARTS:-all}" = rules ]; then
  "$python" tests/gpu/ptx_rules.py
  exit
fi
if [ "${PARTS:-all}" = right ]; then
  # The engines on the CPU, and the GPU as one more level.
  TRITON_RUNNER_DEVICE=cpu "$python" tests/right/run.py ${RIGHT:-programs examples} --jobs "${JOBS:-14}" --results "$out/right.json" ${ARGS:-}
  exit
fi
if [ "${PARTS:-all}" = machine-code ]; then
  [ -z "${TESTS:-}" ] || TRITON_RUNNER_DEVICE=cpu timeout "${LIMIT:-300}" "$python" tests/gpu/machine_code.py "$out" --tests "$TESTS" --jobs "${JOBS:-14}" ${ARGS:-}
  TRITON_RUNNER_DEVICE=cpu timeout "${LIMIT:-300}" "$python" tests/gpu/machine_code.py "$out" ${CODE:-programs examples} --jobs "${JOBS:-14}" ${ARGS:-} || status=1
  exit $status
fi
if [ "${PARTS:-all}" = hazards ]; then
  "$python" tests/gpu/hazards.py run "${HAZARDS:?a folder that tests/gpu/hazards.py made}" || status=1
  cp "$HAZARDS/answers.json" "$out/"
  exit $status
fi
if [ "${PARTS:-all}" = gluon ]; then
  "$python" tests/gpu/gluon.py "$out"
  exit
fi
if [ "${PARTS:-all}" = launch ]; then
  "$python" tests/gpu/launch_latency.py "$out/latency" || status=1
  for example in inductor helion liger; do timeout 100 "$python" "examples/compile/with_$example.py" || status=1; done
  "$python" -m triton_runner bench matmul --size 1024,2048,4096,8192 --save "$out/matmul.json" || status=1
  "$python" -m triton_runner bench attention --save "$out/attention.json" || status=1
  exit $status
fi
if [ "${PARTS:-all}" = dump ]; then
  for part in ${DUMP:-check source registers lockstep cost gdb}; do time timeout "${LIMIT:-400}" "$python" tests/gpu/dump_$part.py ${CASES:-} || status=1; done
  [ -n "${DUMP:-}" ] || time "$python" tests/gpu/run_examples.py "$out" --dumps || status=1
  exit $status
fi
"$python" tests/gpu/check_device.py || status=1
libraries=$(ls "$build"/lib{launch,device,exec,num,base}.a)
g++ -std=c++20 -O2 -Iinclude -I"$build/internal/device" tests/gpu/launch_bench.cpp -Wl,--start-group $libraries -Wl,--end-group -ldl -lpthread -o "$build/launch_bench" && "$build/launch_bench" | tee "$out/launch.md"
"$python" tests/gpu/launch_latency.py "$out/latency" || status=1
time "$python" tests/gpu/run_examples.py "$out" ${EXAMPLES:-} || status=1
exit $status
