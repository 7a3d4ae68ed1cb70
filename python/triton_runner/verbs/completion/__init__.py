"""Completion of words for shells."""
