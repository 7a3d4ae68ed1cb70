"""Refuses what cannot be compiled as it is asked for."""


class Refused(Exception):
    """The request cannot be compiled as asked for: one sentence, and notes on what to do."""

    def __init__(self, message, *notes):
        super().__init__(message)
        self.message = message
        self.notes = list(notes)


class NotAssembled(Refused):
    """ptxas does not accept the text."""
