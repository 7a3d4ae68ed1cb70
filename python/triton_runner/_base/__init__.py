"""Everything else uses these: errors, levels, releases, paths, progress."""
