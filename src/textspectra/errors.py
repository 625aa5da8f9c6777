"""Errors that the user can fix."""


class UserError(ValueError):
    """A mistake in the input or the options; the message says what is wrong and how to fix it."""


class NoRowsError(UserError):
    """A table has no rows; among many tables, such a one is skipped."""
