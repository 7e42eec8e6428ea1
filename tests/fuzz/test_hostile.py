"""Each hostile document is refused by its own code, in one line, quickly."""

import json
import time
from collections import Counter

import pytest
from tests.fuzz.hostile import CATEGORIES
from tests.fuzz.hostile.small import GOOD, LIMIT, Document, Small

from cacheon.records.canonical import decode, encode
from cacheon.records.errors import RecordRefused

DOCUMENTS = [
    pytest.param(document, id=f"{category}: {document.name}")
    for category, documents in CATEGORIES.items()
    for document in documents
]


def test_what_they_are_made_of_is_accepted() -> None:
    assert encode(decode(GOOD, Small, limit=LIMIT)) == GOOD


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_hostile_document_is_refused(document: Document) -> None:
    started = time.process_time()
    with pytest.raises(RecordRefused) as caught:
        decode(document.data, Small, limit=LIMIT, source="stored")
    assert time.process_time() - started < 2
    assert caught.value.code == document.code
    assert caught.value.exit_code == 2
    line = str(caught.value)
    assert line.startswith(f"stored: {document.code}: expected ")
    assert line.isprintable() and len(line) <= 600


def test_they_are_many_and_no_two_alike() -> None:
    every = [document for documents in CATEGORIES.values() for document in documents]
    assert len(every) >= 200
    assert len({document.data for document in every}) == len(every)
    assert not [name for name, count in Counter(row.name for row in every).items() if count > 1]
    assert min(len(documents) for documents in CATEGORIES.values()) >= 20


def test_another_reader_takes_many_of_them_for_the_record() -> None:
    """Why the gate compares bytes: each of these means the same to Python's own reader."""
    good = json.loads(GOOD)
    alike = []
    for documents in CATEGORIES.values():
        for document in documents:
            try:
                if json.loads(document.data) == good:
                    alike.append(document.code)
            except (ValueError, RecursionError):
                continue
    assert len(alike) >= 15
    assert set(alike) == {"not-canonical", "not-a-record", "too-large"}
