"""Shows who takes the shared memory and registers of a kernel; _kernel.compiling.ledger finds it out."""
