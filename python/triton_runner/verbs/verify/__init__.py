"""Gives one verdict on a launch or a program; _kernel.cases judges each launch."""
