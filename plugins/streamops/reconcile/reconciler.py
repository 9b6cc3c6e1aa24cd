"""Look at all streams, judge, repair what is safe. The same for Airflow and for the command line."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from streamops.control.records import Author
from streamops.control.state_root import require_state_root
from streamops.reconcile.facts import DeclaredStreams, FleetFacts
from streamops.reconcile.finding import ReconcileFinding, ReconcileSeverity, worst
from streamops.reconcile.finding_store import FindingStore, ToldTasks, read_book, write_book
from streamops.reconcile.observe import ReconcilePorts, fleet_facts
from streamops.reconcile.pruner import Pruner
from streamops.reconcile.repair import Repairer
from streamops.reconcile.rules import reconcile


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One comparison of all that is declared with all that is."""

    streams: int
    """How many were compared."""
    findings: tuple[ReconcileFinding, ...]

    @property
    def severity(self) -> ReconcileSeverity:
        """The worst that is left."""
        return worst(self.findings)

    def at(self, severity: ReconcileSeverity) -> tuple[ReconcileFinding, ...]:
        """Findings of this severity that are not repaired."""
        return tuple(finding for finding in self.findings if finding.severity is severity and not finding.is_repaired)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciler:
    """Compares the streams of one settings file."""

    declared: DeclaredStreams
    doors: ReconcilePorts
    author: Author

    def run(self, *, act: bool) -> Report:
        """Look and judge; with `act` repair what is safe, keep book of what was found, and prune. Without it nothing changes.

        StorageError where the state root is not there: then every stream would look as if nobody had ever started it.
        """
        storage = self.doors.storage_for(self.declared.state_root)
        require_state_root(storage, self.declared.state_root)
        book = read_book(storage, self.declared.state_root)
        facts = fleet_facts(self.declared, self._doors(book))
        facts = replace(facts, first_seen=book.first_seen(facts.streams, facts.at if act else None))
        findings = book.dated(reconcile(facts, facts.at))
        if act:
            findings = self._repaired(findings, facts)
            told = ToldTasks.of(facts.streams, facts.at) if self.doors.orchestrator else book.told
            write_book(
                storage,
                self.declared.state_root,
                FindingStore.of(findings, facts.at, told=told, awaited=facts.first_seen),
            )
            self._prune(facts)
        return Report(streams=len(facts.streams), findings=findings)

    def _prune(self, facts: FleetFacts) -> None:
        """Of streams that can be looked at; what left the settings, or is wrong there, stays as it is."""
        doors, silent = self.doors, {stream.stream for stream in facts.streams if stream.trouble}
        pruner = Pruner(
            storage_for=doors.storage_for,
            launcher=doors.launcher,
            clock=doors.clock,
            state_root=self.declared.state_root,
        )
        pruner.run([spec for spec in self.declared.specs if spec.name not in silent], patience=doors.patience)

    def _doors(self, book: FindingStore) -> ReconcilePorts:
        """Without an orchestrator of its own it takes the word that another reconciler was given a moment ago."""
        if self.doors.orchestrator:
            return self.doors
        return replace(self.doors, orchestrator=book.recently_told(self.doors.clock.now()))

    def _repaired(self, findings: Iterable[ReconcileFinding], facts: FleetFacts) -> tuple[ReconcileFinding, ...]:
        repairer = Repairer(doors=self.doors, state_root=self.declared.state_root, author=self.author)
        subjects = {(stream.stream, stream.checkpoint): stream for stream in facts.streams}
        specs = {spec.name: spec for spec in self.declared.specs}
        return tuple(
            repairer.repaired(finding, subjects[finding.stream, finding.checkpoint], specs.get(finding.stream))
            if finding.stream
            else finding
            for finding in findings
        )
