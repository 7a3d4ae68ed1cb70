"""These stand in place of Triton's own: jit, its fast path of launches, the driver, winners of autotuning."""
