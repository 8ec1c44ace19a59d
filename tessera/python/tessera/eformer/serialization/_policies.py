"""When a run saves: at which steps for good, and how long it may go without any save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class CheckpointInterval:
    """A permanent checkpoint every so many steps, up to and including `until`; None: for ever."""

    every: int
    until: int | None = None


def check_policies(interval: timedelta | None, policies: Sequence[CheckpointInterval]) -> None:
    """ValueError or TypeError, naming what is wrong, for policies that contradict themselves."""
    if interval is not None and not isinstance(interval, timedelta):
        raise TypeError(f"save_interval: expected a timedelta, found {type(interval).__name__}")
    if interval is not None and interval <= timedelta(0):
        raise ValueError(f"save_interval: expected more than 0, found {interval}")
    before: int | None = 0
    for number, policy in enumerate(policies):
        if policy.every < 1:
            raise ValueError(f"step_policies[{number}]: every is {policy.every}, not at least 1")
        if before is None:
            raise ValueError(f"step_policies[{number - 1}]: only the last one may have no 'until'")
        if number > 0 and policy.until is not None and policy.until <= before:
            raise ValueError(
                f"step_policies[{number}]: until is {policy.until}, not more than {before}"
            )
        before = policy.until
