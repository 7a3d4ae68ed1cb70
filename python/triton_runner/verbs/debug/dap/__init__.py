"""The Debug Adapter Protocol: an editor drives a session of the debugger (triton-runner debug --dap)."""
