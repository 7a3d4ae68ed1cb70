"""What the harnesses of tests/ and tools/ share: cases run side by side in processes with limits (run.py), and
what they measured, which is kept in results/ and shown by doc/measurements (results.py)."""
