"""Holds what every other room may use; it imports none of them.

- levels, releases, markers, metadata: facts about compilation that are data
- errors, commands, progress, interrupts: how the package speaks to a person and is stopped
- paths, scratch, tools, drawing, ci_files: files, temporary folders, NVIDIA's programs, pictures, reports
  for CI
- typed, expression, recent, lazy, shrink, renamed: small means (results as JSON, expressions, caches, delta
  debugging, a Triton of another name)"""
