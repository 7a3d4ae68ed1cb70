"""Answers what tests/room.py is asked, from what the tree says of C++, of the package and of tests."""
