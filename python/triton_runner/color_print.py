"""Prints in colour."""


def _in_color(code: int, *values, **options):
    separator = options.pop("sep", " ")
    print(f"\033[{code}m{separator.join(str(value) for value in values)}\033[0m", **options)


def red_print(*values, **options):
    """Prints *values in red."""
    _in_color(91, *values, **options)


def yellow_print(*values, **options):
    """Prints *values in yellow."""
    _in_color(93, *values, **options)


def blue_print(*values, **options):
    """Prints *values in blue."""
    _in_color(94, *values, **options)
