"""Shows the passes of a compilation: what each changes, and how long it takes. _kernel.compiling.passes
records them."""
