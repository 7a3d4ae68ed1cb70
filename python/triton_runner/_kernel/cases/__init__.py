"""Takes launches as cases: seen while a program runs, judged, put into a file, run again.

It is described in doc/reference/cases.md."""
