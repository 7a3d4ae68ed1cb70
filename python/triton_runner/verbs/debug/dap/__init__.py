"""Speaks the Debug Adapter Protocol: an editor drives a session of the debugger (triton-runner debug --dap).

It is described in doc/guide/debug-editors.md, and tested by tests/python/debug/test_dap_robust.py and
tests/python/debug/test_dap_sessions.py."""
