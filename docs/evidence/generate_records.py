"""Writes records.md from the records and meanings.toml: `make reference`. A test compares them."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from cacheon.evidence.case import CaseDescriptor
from cacheon.evidence.checkpoint import Checkpoint, Consistency, Entry, Inclusion
from cacheon.evidence.delivery import Delivery
from cacheon.evidence.envelope import Envelope, Signature
from cacheon.evidence.grade import Grade, Reason, SetAside
from cacheon.evidence.launch import DeviceIdentity, Launch
from cacheon.evidence.minimum import Minimum
from cacheon.evidence.observation import (
    Observation,
    ObservedFinding,
    OrderObservation,
    RankObservation,
)
from cacheon.evidence.requirement import (
    Member,
    Observer,
    Policy,
    RequiredCase,
    RequiredVariant,
    Requirement,
)
from cacheon.evidence.running import Run, Seen

TARGET = Path(__file__).with_name("records.md")
HEAD = Path(__file__).with_name("records.head.txt")
MEANINGS = Path(__file__).with_name("meanings.toml")
GROUPS: tuple[tuple[str, tuple[type[msgspec.Struct], ...]], ...] = (
    ("What must be shown", (Requirement, Policy, Member, RequiredVariant, RequiredCase)),
    ("The call, the machine, the keys", (CaseDescriptor, Launch, DeviceIdentity, Observer)),
    ("What was seen", (Observation, RankObservation, OrderObservation, ObservedFinding)),
    ("What is handed over", (Delivery, Envelope, Signature)),
    ("What follows", (Grade, Reason, SetAside)),
    ("The log", (Entry, Checkpoint, Inclusion, Consistency)),
    ("What a store keeps beside it", (Run, Seen, Minimum)),
)
_PATTERNS = {
    r"\A[0-9a-f]{64}\Z": "digest",
    r"\ACG[1-9][0-9]{2}\Z": "id of a rule",
    r"\A[a-z]{1,32}\Z": "1 to 32 lower-case letters",
    r"\A[!-~]{1,200}\Z": "1 to 200 printable ASCII characters, no space",
    r"\A(-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|-?inf|nan|)\Z": "`float.hex()`, or empty",
}


def reference() -> str:
    """The whole page."""
    meanings = tomllib.loads(MEANINGS.read_text())
    parts = [HEAD.read_text()]
    for title, kinds in GROUPS:
        parts.append(f"\n## {title}\n")
        parts += [_record(kind, meanings.pop(kind.__name__)) for kind in kinds]
    if meanings:
        raise SystemExit(f"{MEANINGS}: no such record: {', '.join(meanings)}")
    return "".join(parts)


def _record(kind: type[msgspec.Struct], meanings: dict[str, str]) -> str:
    info = inspect.type_info(kind)
    if not isinstance(info, inspect.StructType):
        raise SystemExit(f"{kind.__name__} is no record")
    head = f"\n### {kind.__name__}\n\n| field | type | meaning |\n| --- | --- | --- |\n"
    rows = [
        f"| `{field.encode_name}` | {_words(field.type)} | {meanings.pop(field.encode_name)} |\n"
        for field in info.fields
    ]
    if meanings:
        raise SystemExit(f"{MEANINGS}: {kind.__name__} has no {', '.join(meanings)}")
    return head + "".join(rows)


def _words(kind: Any) -> str:
    """A type in words."""
    match kind:
        case inspect.StructType():
            name = kind.cls.__name__
            return f"[{name}](#{name.lower()})"
        case inspect.LiteralType():
            return " or ".join(f"`{value}`" if value else "empty" for value in kind.values)
        case inspect.StrType():
            return _PATTERNS[kind.pattern] if kind.pattern else "text"
        case inspect.IntType():
            return "integer" if kind.ge is None else f"integer, {kind.ge} or more"
        case inspect.BoolType():
            return "true or false"
        case inspect.BytesType():
            return "bytes, in base64"
        case inspect.NoneType():
            return "null"
        case inspect.VarTupleType():
            return f"list, each: {_words(kind.item_type)}"
        case inspect.DictType():
            return f"object, each value: {_words(kind.value_type)}"
        case inspect.UnionType():
            return " or ".join(_words(each) for each in kind.types)
    raise SystemExit(f"no words for {kind}")


if __name__ == "__main__":
    TARGET.write_text(reference())
    sys.stdout.write(f"wrote {TARGET}\n")
