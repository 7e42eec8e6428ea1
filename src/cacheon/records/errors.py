"""The error tree.

    CacheonError                   1  something was shown, and it is bad news
    ├── InputError                 2  the input is unusable: file, place, expected, got
    │   ├── DeviceMissing          2  the device that was asked for is not there
    │   ├── LimitExceeded          2  larger than anybody should need
    │   └── RecordRefused          2  bytes that are no record; has a stable code
    ├── InfrastructureError        3  nobody's fault that we know: no decision
    └── GraphProofUnavailable      4  graph proof was demanded where it cannot be had

Every error has one line, `message`; a longer `diagnosis` where one helps; and the `page`
that explains it.
"""

_LONGEST = 600


def one_line(text: str, longest: int = _LONGEST) -> str:
    """One line of `text`, control characters escaped: what comes from a bundle must not
    move a cursor or forge a line."""
    # Cut before escaping, too: an escape is up to ten characters long.
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


class CacheonError(Exception):
    """The root of everything that a command may end with."""

    exit_code = 1

    def __init__(self, message: str, *, diagnosis: str = "", page: str = "") -> None:
        self.message = one_line(message)
        self.diagnosis = diagnosis
        self.page = page
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class InputError(CacheonError):
    """`file: place: expected X, got Y`; parts that are empty are left out."""

    exit_code = 2

    def __init__(
        self,
        *,
        file: str = "",
        place: str = "",
        expected: str = "",
        got: str = "",
        diagnosis: str = "",
        page: str = "",
    ) -> None:
        self.file, self.place, self.expected, self.got = file, place, expected, got
        said = ", ".join(
            part
            for part in (f"expected {expected}" if expected else "", f"got {got}" if got else "")
            if part
        )
        message = ": ".join(part for part in (file, place, said) if part)
        super().__init__(message, diagnosis=diagnosis, page=page)


class DeviceMissing(InputError):
    """The device that was asked for is not there."""


class LimitExceeded(InputError):
    """A size, a count or a depth beyond its limit."""


class RecordRefused(InputError):
    """Bytes that are no record. `code` is stable: scripts may rely on it."""

    def __init__(
        self, code: str, *, file: str = "", place: str = "", expected: str, got: str
    ) -> None:
        self.code = code
        super().__init__(file=file, place=place or code, expected=expected, got=got)


class InfrastructureError(CacheonError):
    """Something other than the candidate failed: no decision."""

    exit_code = 3


class GraphProofUnavailable(CacheonError):
    """`--require-graph` was said where no graph can be captured."""

    exit_code = 4
