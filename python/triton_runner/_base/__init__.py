"""Holds what every other room may use; it imports none of them."""
