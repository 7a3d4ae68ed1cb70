"""Bisection: which release, which level and which compiler pass made a program wrong."""
