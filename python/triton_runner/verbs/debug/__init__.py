"""Debugs launches: stop, look, step, change, go back.

- session, driver, stage, target, results: a session, the thread of its program, and what it debugs
- breakpoints, conditions, names, parts, places, focus: how a person says where to stop and what to look at
- state, variables, machine, addresses, comparing: what is there at a stop
- replays, back: going back
- terminal*, commands, completion, sources, show, tables, heat, greeting, recording: the terminal
- dap: the same session in an editor"""
