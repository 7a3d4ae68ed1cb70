"""Shows which lines of the levels belong to each other; _kernel.source_map finds them."""
