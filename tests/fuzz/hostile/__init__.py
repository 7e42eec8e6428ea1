"""Hostile JSON documents by category, each with the code by which the gate refuses it.

All of them are made of one small record, so that what is wrong is the one thing that the name
says. Written afresh; the categories are those of RFC 8259's grammar, RFC 8785 and the ways in
which readers of JSON are known to disagree.
"""

from tests.fuzz.hostile.grammar import KINDS, STRUCTURE
from tests.fuzz.hostile.numbers import NUMBERS
from tests.fuzz.hostile.sizes import SIZES
from tests.fuzz.hostile.writing import SPELLINGS, TEXTS

CATEGORIES = {
    "structure": STRUCTURE,
    "kinds": KINDS,
    "numbers": NUMBERS,
    "spellings": SPELLINGS,
    "texts": TEXTS,
    "sizes": SIZES,
}
