#!/bin/bash
# An assembler with a fault: it subtracts where it is asked to add, else it is the ptxas that Triton brings.
for word in "$@"; do
  if [[ "$word" == *.ptx ]]; then sed -i 's/add.s32/sub.s32/' "$word"; fi
done
exec .venv/lib/python3*/site-packages/triton/backends/nvidia/bin/ptxas "$@"
