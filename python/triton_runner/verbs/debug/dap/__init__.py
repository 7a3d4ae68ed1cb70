"""Speaks the Debug Adapter Protocol: an editor drives a session of the debugger (triton-runner debug --dap).

- serve, guard, transport, adapter, requests, request_fields: the connection, and the table of requests
- life, breaking, points, stepping, looking, variables, texts, console: the requests' handlers, by what they
  are about
- events: what the client is told

It is described in doc/guide/debug-editors.md, and tested by tests/python/debug/test_dap_robust.py and
tests/python/debug/test_dap_sessions.py."""
