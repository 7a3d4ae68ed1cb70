"""Shows what a launch executes and what bounds it; _kernel.cost counts it."""
