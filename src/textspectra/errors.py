"""The error that is not a bug: something the user can put right."""


class UserError(ValueError):
    """A mistake that the user can mend; the message says how."""
