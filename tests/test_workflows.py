"""The public workflows run what is run here: every target that they name is in the Makefile."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_workflows_run_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for path in WORKFLOWS for name in re.findall(r"run: make ([a-z-]+)", path.read_text())}
    assert {"lint", "pytest", "release-check", "container-check", "test-slow", "demo", "audit"} <= named
    assert named - {"docs"} <= targets


def test_actions_are_pinned_and_may_only_read():
    for path in WORKFLOWS:
        text = path.read_text()
        assert "\npermissions: {}\n" in text, path.name
        for action in re.findall(r"uses: (.+)", text):
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
