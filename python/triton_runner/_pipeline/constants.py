"""Reads compile-time constants as people write them: 64, 1e-3, True, tl.float16."""

from __future__ import annotations

import ast


def constant(text: str):
    """128, 0.5, True, tl.float16; any other text is itself."""
    if text.startswith("tl."):
        return {"attribute": ["triton.language", text[3:]]}
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
