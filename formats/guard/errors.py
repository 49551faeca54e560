"""Errors for users, each one line long and complete."""

LONGEST = 1000


class UserError(Exception):
    """Error that the user can mend: it names file, place, requirement and finding.

    ``formats.guard.command.run`` prints it as one line and exits with code 2. Of a message longer than 1,000
    characters (a finding may be any text of a damaged file) the middle is left out;
    what would break the line, or does not print, is escaped.
    """

    def __init__(self, message: object) -> None:
        text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in str(message))
        cut = len(text) > LONGEST
        super().__init__(f"{text[: LONGEST * 3 // 4]} ... {text[-LONGEST // 5 :]}" if cut else text)


def reason_of(error: BaseException) -> str:
    """Words of a library's or the system's error on one line, at most 300 characters."""
    words = getattr(error, "strerror", None) or str(error)
    return " ".join(words.split())[:300] or type(error).__name__


class FormatError(UserError):
    """A trace, result or manifest that is missing, damaged, or breaks its schema.

    The place is also available as attributes ``file``, ``table``, ``row_group``, ``column`` (None where they do not
    apply) and ``reason``, from which the text is made.
    """

    def __init__(
        self,
        reason: str,
        *,
        file: object = None,
        table: str | None = None,
        row_group: int | None = None,
        column: str | None = None,
    ) -> None:
        self.reason = reason
        self.file = None if file is None else str(file)
        self.table, self.row_group, self.column = table, row_group, column
        parts = {"table": table, "row group": row_group, "column": column}
        place = ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)
        super().__init__(": ".join(part for part in (self.file, place, reason) if part))


class VersionTooNew(FormatError):  # noqa: N818
    """The file was written by a newer major version of the format than this one reads."""


class VersionTooOld(FormatError):  # noqa: N818
    """The file was written by a major version of the format that is no longer read."""
