"""Codes of bytes that could not be read: of the gate, the store, the envelope and the key.

The modules that raise them have their meanings; UNREADABLE is what reopening turns into
set-aside entries, UNKEPT meets only who writes or follows a log.
"""

_AGAIN = "Write the record with `cacheon`; nothing else is read in its place."
_FETCH = "Fetch the bytes again from where they were published; `cacheon fsck` lists the rest."
_LOG = "Ask the log's owner: entries were taken away or changed after they were signed."
_SIGN = "Sign with the secret half of the pinned key (`cacheon keys show`)."
_PIN = "The authority pins another key (`cacheon keys new`) in a new requirement."

UNREADABLE = (
    # The gate.
    ("too-large", "more bytes than one record may have", _AGAIN),
    ("too-deep", "brackets nest deeper than any record's", _AGAIN),
    ("not-a-record", "not a record of the type and schema that belongs here", _AGAIN),
    ("not-canonical", "not the one spelling that the record has", _AGAIN),
    ("control-character", "a control character or a lone surrogate in a text", _AGAIN),
    ("large-integer", "an integer that JSON readers do not agree on", _AGAIN),
    ("float", "a number that is not an integer", _AGAIN),
    ("key", "a key that is not ASCII", _AGAIN),
    # The store.
    ("not-a-digest", "not 64 lower-case hexadecimal characters", _AGAIN),
    ("missing", "nothing is stored under the digest", _FETCH),
    ("corrupt", "the stored bytes are not those that the digest names", _FETCH),
    ("not-a-file", "a link, a device or a directory where a file must be", _FETCH),
    ("hard-link", "the file has a second name", _FETCH),
    ("not-a-directory", "a link or a file where a directory of the store must be", _FETCH),
    ("pointer", "a pointer that does not hold one digest", _FETCH),
    # The envelope and the key.
    ("payload-type", "the envelope holds something of another type", _AGAIN),
    ("signatures", "no signature, or more than an envelope may have", _AGAIN),
    ("unsigned", "no signature of the key that the delivery names", _SIGN),
    ("public-key", "a pinned key under which anybody can sign, or none at all", _PIN),
    # The machine.
    ("io", "the file system failed; no fault of the bytes", "Mend the file system and go on."),
)
UNKEPT = (
    ("key-file", "the file of a secret key is missing, or holds no key", "Name a key's file."),
    ("key-exposed", "others than its owner may read the secret key", "chmod 600, or a new key."),
    ("key-exists", "a new key would replace a file", "Name a file that does not exist."),
    ("log-origin", "of another log", "Compare with checkpoints of the same log."),
    ("log-order", "an earlier checkpoint has more entries than a later one", _LOG),
    ("log-proof", "the log's proof does not lead to the checkpoint's root", _LOG),
    ("log-shrunk", "the log has fewer entries than it once signed for", _LOG),
    ("log-forked", "the log says otherwise than it once signed", _LOG),
    ("not-a-store", "no store lies there", "Name the directory of a store."),
    ("not-a-name", "not the name of a pointer", "Name a pointer by a kind and digests."),
    ("dangling", "a pointer was to name bytes that are not stored", _FETCH),
    ("taken", "the pointer exists and names other bytes", "What is committed stays as it is."),
    ("quota", "the store would exceed its quota", "Sweep the store, or raise its quota."),
    ("damaged", "what is reachable cannot be told", _FETCH),
    ("full", "the file system has no room left", "Make room and go on."),
)
