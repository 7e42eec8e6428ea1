"""Numbers: what is none, what readers do not agree on."""

from tests.fuzz.hostile.small import changed, rows, valued

NUMBERS = [
    *rows(
        "not-a-record",
        {
            "NaN": valued("NaN"),
            "Infinity": valued("Infinity"),
            "less than everything": valued("-Infinity"),
            "nan in small letters": valued("nan"),
            "a plus sign": valued("+7"),
            "a minus sign alone": valued("-"),
            "two minus signs": valued("--7"),
            "a leading zero": valued("07"),
            "a leading zero below zero": valued("-07"),
            "two zeros": valued("00"),
            "hexadecimal": valued("0x7"),
            "octal": valued("0o7"),
            "underscores": valued("7_0"),
            "an exponent without digits": valued("7e"),
            "a point without digits": valued("7."),
            "nothing before the point": valued(".7"),
            "a comma for a point": valued("7,0"),
            "a fraction": valued("7.5"),
            "beyond a double": valued("1e400"),
            "beyond a double, below zero": valued("-1e400"),
            "too small for a double": valued("1e-400"),
            "an exponent of many digits": valued("1e" + "9" * 300),
            "five thousand digits": valued("9" * 5000),
            "five thousand digits below zero": valued("-" + "1" * 5000),
            "a BigInt": valued("7n"),
            "other digits": valued("\u0667"),
            "a full-width digit": valued("\uff17"),
            "two numbers": valued("7 7"),
        },
    ),
    *rows(
        "not-canonical",
        {
            "minus zero": valued("-0"),
        },
    ),
    *rows(
        "large-integer",
        {
            "2^53": valued("9007199254740992"),
            "2^53 + 1, which is no double": valued("9007199254740993"),
            "-2^53": valued("-9007199254740992"),
            "2^63": valued("9223372036854775808"),
            "2^64 - 1": valued("18446744073709551615"),
            "three thousand digits": valued("9" * 3000),
            "four hundred digits below zero": valued("-" + "1" * 400),
            "a large one within": changed('"weight":-2', '"weight":-9007199254740993'),
            "a large one under a name": changed('"b":2', '"b":10000000000000000'),
        },
    ),
]
