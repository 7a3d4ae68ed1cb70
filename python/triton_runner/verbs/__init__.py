"""The verbs of the command line, a room each: what it gives (results), what it does (run), how that reads
(text), and its options (command). A room needs no entry elsewhere: _cli finds it."""
