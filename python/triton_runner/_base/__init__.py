"""What everything else uses: errors, levels, releases, paths, progress."""
