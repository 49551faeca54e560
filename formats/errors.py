"""The errors that a user may meet, each one line long and complete."""


class UserError(Exception):
    """Something the user can mend: says the file, the place, what must hold and what was found.

    ``formats.command.run`` prints it as one line and exits with code 2.
    """


class FormatError(UserError):
    """A trace, result or manifest that is missing, damaged, or breaks its schema."""


class VersionTooNew(FormatError):  # noqa: N818
    """The file was written by a newer major version of the format than this one reads."""


class VersionTooOld(FormatError):  # noqa: N818
    """The file was written by a major version of the format that is no longer read."""
