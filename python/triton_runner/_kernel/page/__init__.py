"""Seeing a kernel: the source map between its levels, and the page that shows all of them."""
