"""Tells which configurations of a launch leave the same bits, and where and why two part."""
