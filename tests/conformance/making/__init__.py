"""Makes the directories of the conformance suite: `python -m tests.conformance.making`."""
