"""Stands in place of Triton's own: what importing the package changes in Triton."""
