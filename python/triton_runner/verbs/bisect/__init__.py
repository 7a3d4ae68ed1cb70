"""Finds which release, which level and which compiler pass made a program or a kernel wrong."""
