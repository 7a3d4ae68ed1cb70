"""Translates a text of one release for another."""
