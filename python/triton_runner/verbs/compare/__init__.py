"""Compares one kernel on several releases, targets and configurations, as a table. The cells are measured by
_kernel.cells."""
