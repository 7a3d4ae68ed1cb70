"""Holds the verbs of the command line, a room each: what a verb gives (results), what it does (run), how that
reads (text), and its options (command). A room needs no entry elsewhere: _cli finds it."""
