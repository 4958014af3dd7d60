"""A clock that is wrong, for one process."""

from __future__ import annotations

import datetime as dt
import sys
import time

from apscheduler.schedulers import base as scheduler

MOVED = ("kg_api", "apscheduler", "structlog", "neo4j")
"""Packages that hold `datetime` by its own name."""

_time, _datetime = time.time, dt.datetime


def move_clock(seconds: float) -> list[float]:
    """Let what is imported so far believe that it is so much later than it is; give two clocks' moves."""

    class AnyDatetime(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, _datetime)

    class Datetime(_datetime, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Datetime:
            return cls.fromtimestamp(time.time(), tz)

    time.time = lambda: _time() + seconds
    time.time_ns = lambda: int(time.time() * 1e9)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in MOVED:
            for held in [key for key, value in vars(module).items() if value is _datetime]:
                setattr(module, held, Datetime)
    seen = (time.time(), scheduler.datetime.now(dt.UTC).timestamp())
    return [each - _time() for each in seen]
