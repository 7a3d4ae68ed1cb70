"""Assemblers: which ones this machine has, and what each makes of a PTX text."""
