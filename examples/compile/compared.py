"""What the examples of this folder check their results by."""


def compared(name: str, result, expected, tolerance: float) -> None:
    """Says the largest difference, and ends the program where it is too large."""
    difference = (result.float() - expected.float()).abs().max().item()
    print(f"{name}: largest difference {difference:.2g}")
    if not difference <= tolerance:
        raise SystemExit(f"{name}: more than {tolerance}")
