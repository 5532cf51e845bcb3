"""The mark behind the name of a sheet of a workbook that people do not see: answers prefer those that they do."""

from __future__ import annotations

__all__ = ["HIDDEN"]

HIDDEN = " (hidden sheet)"
