"""Triton's compiler as levels: every stage of every release, its passes, and what a binary needs."""
