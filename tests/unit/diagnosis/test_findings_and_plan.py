"""One law over all that is known of a checkpoint: a finding that says what a start does wrong never meets a plan that is safe.

And one plan: the logs alone, the look in depth and the check come to the same, as far as they see the same.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamops.diagnosis.restart_plan import Safety
from streamops.verdict import AtStart, Severity, Verdict
from support.base_checkpoint import entry, files, source_entry
from support.checked import checked
from support.damage_matrix import DEPTH_ROWS, OFFSET_ROWS, ROWS, Row
from support.state_files import CHANGES

SAFE = (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT)
AT_LEAST = {
    AtStart.FAILS: (Safety.FUTILE,),
    AtStart.LOSES: (Safety.UNSAFE, Safety.FUTILE),
    AtStart.REPEATS: (Safety.UNSAFE, Safety.FUTILE),
    AtStart.UNDECIDED: (Safety.UNKNOWN, Safety.BLOCKED, Safety.UNSAFE, Safety.FUTILE),
}
WITH_STATE = files() | {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
CONTENTS = st.sampled_from(
    [b"", b"v1", b"\0" * 40, b"v1\n{}", b"x", entry(4), entry(2), source_entry(3), CHANGES, CHANGES[:-30]]
) | st.binary(max_size=40)


def obeys_the_law(found):
    for finding in found.findings:
        if finding.start:
            assert found.restart.safety in AT_LEAST[finding.start.kind], finding
        if finding.severity is Severity.CRITICAL:
            assert found.restart.safety not in SAFE, finding
    assert found.verdict is not Verdict.OK or found.restart.safety in SAFE


@pytest.mark.parametrize("row", [pytest.param(row, id=row.code) for row in (*ROWS, *DEPTH_ROWS, *OFFSET_ROWS)])
def test_the_damage_that_was_tried_obeys_it(row: Row) -> None:
    for version in row.engines:
        obeys_the_law(checked(row.applied(files()), version=version))


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(sorted(WITH_STATE)), st.none() | CONTENTS, max_size=3), st.booleans())
def test_any_damage_obeys_it(damage, pending):
    found = WITH_STATE | damage
    if pending:
        found.pop("commits/4", None)

    obeys_the_law(checked({name: content for name, content in found.items() if content is not None}))
