"""Checks that print one line each and a count at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


class Checks:
    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    @asynccontextmanager
    async def check(self, name: str) -> AsyncIterator[None]:
        """Passes unless its body raises."""
        try:
            yield
        except Exception as error:  # whatever went wrong is this check's failure, and the next one still runs
            self.failed += 1
            print(f"not ok - {name}: {reason(error)}".replace("\n", " "), flush=True)
        else:
            self.passed += 1
            print(f"ok - {name}", flush=True)

    def finish(self) -> int:
        """Prints the last line and returns the exit status."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 0 if self.failed == 0 and self.passed > 0 else 1


def reason(error: BaseException) -> str:
    """What went wrong: the innermost errors where they come in groups."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(reason(inner) for inner in error.exceptions)
    return f"{type(error).__name__}: {error}"


def same(actual: Any, expected: Any, what: str) -> None:
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")
