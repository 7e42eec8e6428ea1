"""Typed access to parsed TOML and JSON: one clear line for everything that does not fit."""

import json
import posixpath
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from cacheon.records.errors import InputError, LimitExceeded

MOST_BYTES = 256 << 10
DEEPEST = 32
_PART = r"""(?:(?<![\w-])[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?:{_PART}[ \t]*+\.[ \t]*+){{{DEEPEST}}}", re.ASCII)
"""A dotted TOML key of more parts than DEEPEST, and what looks like one in a text."""


class Table:
    """A table of a file; `place` says which, for error lines."""

    def __init__(self, values: Mapping[str, Any], file: str, place: str = "") -> None:
        self.values, self.file, self.place = values, file, place

    def at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def fail(self, key: str, expected: str, got: str) -> InputError:
        return InputError(file=self.file, place=self.at(key), expected=expected, got=got)

    def text(self, key: str, *, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if value is None:
            raise self.fail(key, "text", "nothing")
        if not isinstance(value, str):
            raise self.fail(key, "text", kind_of(value))
        if not value.isprintable():
            raise self.fail(key, "printable text", "control characters")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.fail(key, "a list of text", kind_of(value))
        for item in value:
            if not isinstance(item, str):
                raise self.fail(key, "a list of text", f"a list with {kind_of(item)}")
            if not item.isprintable():
                raise self.fail(key, "printable text", "control characters")
        return tuple(dict.fromkeys(value))

    def whole(self, key: str) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(key, "an integer", kind_of(value))
        if not 0 <= value <= 1 << 53:
            raise self.fail(key, "an integer from 0 to 2^53", "another")
        return value

    def boolean(self, key: str) -> bool | None:
        """None where the key is not there; null is no boolean."""
        if key not in self.values:
            return None
        value = self.values[key]
        if not isinstance(value, bool):
            raise self.fail(key, "a boolean", kind_of(value))
        return value

    def table(self, key: str) -> "Table | None":
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.fail(key, "an object", kind_of(value))
        return Table(value, self.file, self.at(key))

    def path(self, key: str, files: Mapping[str, object]) -> str:
        """A bundle-relative path of a file that is there."""
        return self.checked_path(key, self.text(key), files)

    def checked_path(self, key: str, written: str, files: Mapping[str, object]) -> str:
        name = posixpath.normpath(written) if written else ""
        parts = written.split("/")
        if not written or written.startswith("/") or "\\" in written or ".." in parts:
            raise self.fail(key, "a path inside the bundle", repr(written))
        if name not in files:
            raise self.fail(key, "a file of the bundle", f"{written!r}, which is not there")
        return name


def kind_of(value: object) -> str:
    """What a value is, in the words of a manifest's author."""
    names: dict[type, str] = {
        bool: "a boolean",
        str: "text",
        int: "an integer",
        float: "a number",
        list: "a list",
        dict: "a table",
        type(None): "null",
    }
    return names.get(type(value), f"a {type(value).__name__}")


def parse_toml(data: bytes, file: str) -> Table:
    """A TOML document. Raises InputError."""
    text = _text(data, file)
    if _LONG_KEY.search(text):
        # Of the parts of a key tomllib takes time to the square.
        raise LimitExceeded(file=file, expected=f"at most {DEEPEST} levels", got="more")
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits and a date that does not exist are no
        # TOMLDecodeError, but plain ValueErrors.
        raise _unparsed(file, "TOML", error) from error
    _refuse_deep(values, file)
    return Table(values, file)


def parse_json(data: bytes, file: str) -> Table:
    """A JSON object without duplicate keys. Raises InputError."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(file=file, place=key, expected="each key once", got="it twice")
            found[key] = value
        return found

    def constant(name: str) -> None:
        raise InputError(file=file, expected="finite numbers", got=name)

    try:
        values = json.loads(_text(data, file), object_pairs_hook=unique, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise _unparsed(file, "JSON", error) from error
    if not isinstance(values, dict):
        raise InputError(file=file, expected="a JSON object", got=kind_of(values))
    _refuse_deep(values, file)
    return Table(values, file)


def _unparsed(file: str, language: str, error: ValueError | RecursionError) -> InputError:
    reason = "nesting that is too deep" if isinstance(error, RecursionError) else str(error)
    return InputError(file=file, expected=language, got=reason)


def _text(data: bytes, file: str) -> str:
    if len(data) > MOST_BYTES:
        raise LimitExceeded(file=file, expected=f"at most {MOST_BYTES} bytes", got=str(len(data)))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            file=file, place=f"byte {error.start}", expected="UTF-8", got="another encoding"
        ) from error


def _refuse_deep(values: dict[str, Any], file: str) -> None:
    """Nesting beyond DEEPEST is refused here, before anything recurses over it."""
    level: list[object] = [values]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)  # type: ignore[attr-defined]
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise LimitExceeded(file=file, expected=f"at most {DEEPEST} levels", got="more")
