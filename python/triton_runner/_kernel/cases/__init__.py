"""Launches taken as cases: seen while a program runs, judged, put into a file, run again."""
