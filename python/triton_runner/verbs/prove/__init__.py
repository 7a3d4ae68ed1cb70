"""The verb `prove`: properties of a kernel for every size, and counter-examples that run."""
