"""What the harnesses of tests/ and tools/ share: cases in processes of their own, with limits (run.py); what
they measured, kept in results/ and shown by doc/measurements (results.py)."""
