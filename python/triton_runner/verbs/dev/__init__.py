"""Recipes for a checkout of Triton."""
