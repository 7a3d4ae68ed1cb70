"""Holds what verbs share: programs that run and are seen, and the options with which verbs take them."""
