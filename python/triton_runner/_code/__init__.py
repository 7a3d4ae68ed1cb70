"""Reads code: graphs over the IR, PTX and machine code that the core parses. Nothing here compiles or
launches."""
