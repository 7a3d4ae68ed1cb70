"""Makes a page that shows kernels at all levels; _kernel.page draws it."""
