"""One launch that can be run again: its arguments, its runs, and how two results differ."""
