"""`qualify`: require, observe, take in and grade, for one machine that trusts itself."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cacheon.bundle import Bundle
from cacheon.contract.arenas import Published
from cacheon.engine.host.examination import Examination
from cacheon.engine.request import RunSettings
from cacheon.evidence.grading import grade, publish
from cacheon.evidence.intake import take_in
from cacheon.evidence.keys import Key
from cacheon.evidence.launch import Launch
from cacheon.evidence.minimum import minima, refuse_older
from cacheon.evidence.pointers import REQUIREMENTS, named
from cacheon.evidence.requirement import Observer, Requirement
from cacheon.evidence.requiring import require
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import encode
from cacheon.records.errors import CacheonError, InputError, RecordRefused
from cacheon.report.results import Qualification, Qualified
from cacheon.workflows import exits
from cacheon.workflows.arena import find_arena
from cacheon.workflows.launch import described
from cacheon.workflows.observe import refuse, usable
from cacheon.workflows.observing import Observing, public
from cacheon.workflows.opening import Opened, Unusable, opened
from cacheon.workflows.options import Options
from cacheon.workflows.verify import Examiner, Start, Watch, settings_for

LOCAL = "local"
"""The name under which the key of this machine is pinned."""
_CODES = {"PASS": exits.SHOWN, "FAIL": exits.FAILED, "NO_DECISION": exits.NO_DECISION}


def qualify(
    bundles: Sequence[Path],
    arena: str,
    store: Path,
    options: Options,
    watch: Watch,
    *,
    key: Path | None = None,
    target: str = "",
    start: Start = Examination,
) -> Qualification:
    """Decide on bundles, each under a requirement of its own, with one zygote.

    `arena`: a shipped one's name, or a .toml file. Without `key` one is made that lives as
    long as the command: its signature then says no more than that these observations
    belong together. `target`: by default what a bundle competes for, or its only slot.
    Raises CacheonError for what concerns the command as a whole; one unusable bundle does
    not stop the others."""
    published = find_arena(arena)
    signer = Key(os.urandom(32)) if key is None else Key.load(key)
    ruled = published.arena
    settings = settings_for(
        Options(
            device=ruled.device,
            replays=ruled.replays,
            soak=ruled.soak,
            isolation=ruled.isolation,
            timeout=options.timeout,
            compile_timeout=options.compile_timeout,
        )
    )
    with (
        opened(bundles, Options(every_row=True, world_size=ruled.context.world_size)) as candidates,
        DirectoryStore.open(store, create=True) as kept,
        start(
            msgspec.structs.replace(settings, scratch=(str(candidates.directory),)), watch
        ) as examiner,
    ):
        qualifier = _Qualifier(published, kept, signer, examiner, settings)
        decided = tuple(qualifier.one(candidate, target) for candidate in candidates)
    return Qualification(
        arena=ruled.name,
        key=public(signer),
        bundles=decided,
        exit_code=exits.gravest(each.exit_code for each in decided),
    )


class _Qualifier:
    def __init__(
        self,
        published: Published,
        store: DirectoryStore,
        signer: Key,
        examiner: Examiner,
        settings: RunSettings,
    ) -> None:
        self.published, self.store, self.signer = published, store, signer
        self.examiner, self.settings = examiner, settings
        self._launch: Launch | None = None

    def one(self, candidate: Opened | Unusable, target: str) -> Qualified:
        """Decide on one bundle; an error stands where the grade would."""
        path = str(candidate.path)
        if isinstance(candidate, Unusable):
            return Qualified(path=path, error=candidate.message, exit_code=candidate.exit_code)
        try:
            return self._decide(candidate, target or target_of(candidate.bundle))
        except CacheonError as error:
            return Qualified(path=path, error=error.message, exit_code=error.exit_code)

    def _decide(self, candidate: Opened, target: str) -> Qualified:
        requirement = self._require(candidate.bundle, target)
        refuse(requirement, self.signer, str(candidate.path))
        # Before it costs an examination; `take_in` asks again, of what is remembered then.
        refuse_older(requirement, minima(self.store))
        data = encode(requirement)
        digest = self.store.put(data)
        self.store.link(REQUIREMENTS, named(digest), digest)
        observed = Observing(
            requirement,
            data,
            usable(candidate, requirement),
            self.store,
            self.signer,
            self.examiner,
            self.settings,
        ).run()
        refused = self._take_in(observed.delivery)
        decided = grade(self.store, digest)
        return Qualified(
            path=str(candidate.path),
            bundle=candidate.bundle.digest,
            requirement=digest,
            observed=observed,
            refused=refused,
            grade=decided,
            graded=publish(self.store, decided),
            exit_code=_CODES[decided.decision],
        )

    def _require(self, bundle: Bundle, target: str) -> Requirement:
        if self._launch is None:
            self._launch = described(self.examiner.facts())
        return require(
            bundle,
            self.published,
            self._launch,
            target,
            secrets.token_hex(32),
            (Observer(key=public(self.signer), name=LOCAL),),
        )

    def _take_in(self, delivery: str) -> str:
        """Empty where the delivery counts from now on; else why it does not."""
        try:
            data = self.store.get(delivery)
            take_in(self.store, data, self.store, minimum=minima(self.store))
        except RecordRefused as refusal:
            return refusal.message
        return ""


def target_of(bundle: Bundle) -> str:
    """What a bundle competes for, or its only slot. Raises InputError."""
    slots = sorted({row.slot for row in bundle.variants})
    if bundle.target or len(slots) == 1:
        return bundle.target or slots[0]
    raise InputError(
        file=bundle.path,
        place="--target",
        expected="a target, where a bundle serves several slots and names none",
        got=", ".join(slots),
    )
