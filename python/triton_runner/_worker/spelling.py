"""Decides how a message names an option: as Python has it, or as the command line that runs has it.

    option("triton", "3.9.0")              triton="3.9.0", or --triton 3.9.0
    option("programs", "0,5", "[0, 5]")    programs=[0, 5], or --programs 0,5
    option("signature")                    signature=, or --signature

The command line tells what its verb calls its options (_cli), to the core and to workers too; an option that
the verb lacks is named as in Python."""

names = {}  # of the options of the command line that runs, by keyword


def option(keyword, value="", code=""):
    """Returns the option as the reader gives it. code: the value in Python, where it is not a text."""
    if keyword in names:
        return " ".join(filter(None, [names[keyword], value]))
    return "{}={}".format(keyword, code or (value and f'"{value}"'))


def listed(*keywords):
    """Several of them: "a, b and c"."""
    first = [option(keyword) for keyword in keywords]
    return " and ".join(filter(None, [", ".join(first[:-1]), first[-1]]))
