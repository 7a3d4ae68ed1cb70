"""One verdict on a launch or a program."""
