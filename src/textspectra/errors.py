"""Errors that are no bugs: something the user can put right."""


class UserError(ValueError):
    """A mistake that the user can mend; the message says how."""


class NoRowsError(UserError):
    """A table without a single row; one of many tables may be like that."""
