"""Single changes of a kernel's TTIR that make its result the one that it is compared with."""
