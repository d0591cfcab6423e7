"""SQL of playback events and their ad impressions.

All values are computed from a seed and the numbers of the events, so every run uses the same rows.

Accounts are skewed: a tenth of them have nearly half of the events. A few percent of the events land up to 13 days
late, most of them by few days. One ad impression in twenty lands a day after its event. All rows that land on a day
therefore have dates within the 14 days up to and including that day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

WINDOW = 14
"""The number of possible dates of an event. The last one is its landing day."""

_FIRST_DAY = date(2026, 1, 1)
_LATE = 0.03
_EVENTS_PER_ACCOUNT = 4
_TITLES = 5_000
_WITH_AD = 0.3
_AD_LATE = 0.05


def day(number: int) -> date:
    """The date of a landing day, counted from 0."""
    return _FIRST_DAY + timedelta(days=number)


@dataclass(frozen=True)
class Stream:
    """The rows that land each day: ``per_day`` events."""

    per_day: int
    seed: int = 1

    def playback(self, first: int, days: int) -> str:
        """SQL of the events that land on ``days`` days from day ``first``."""
        accounts = max(1, self.per_day // _EVENTS_PER_ACCOUNT)
        return f"""
            select
                event_id,
                cast(pow({self._chance("account")}, 3) * {accounts} as int) as account_id,
                cast(pow({self._chance("title")}, 2) * {_TITLES} as int) as title_id,
                element_at(array('TV', 'Phone', 'Tablet', 'Web'), 1 + cast({self._chance("device")} * 4 as int))
                    as device,
                greatest(0, cast({self._chance("seconds")} * 7400 as int) - 200) as seconds,
                timestamp_seconds(unix_date(event_date) * 86400 + cast({self._chance("second")} * 86400 as int))
                    as event_at,
                event_date
            from ({self._dated(first, days)})"""

    def ad_impressions(self, first: int, days: int) -> str:
        """SQL of the ad impressions that land on ``days`` days from day ``first``, at most one per event."""
        return f"""
            select
                event_id,
                cast({self._chance("ad")} * 1000 as int) as ad_id,
                5 + cast({self._chance("ad seconds")} * 55 as int) as ad_seconds,
                event_date
            from ({self._dated(max(first - 1, 0), days + min(first, 1))})
            where
                {self._chance("has ad")} < {_WITH_AD}
                and landed + if({self._chance("ad late")} < {_AD_LATE} and lag < {WINDOW - 1}, 1, 0)
                    between {first} and {first + days - 1}"""

    def _dated(self, first: int, days: int) -> str:
        """SQL of the ids, landing days, days of delay and dates of events."""
        delay = f"1 + cast(pow({self._chance('delay')}, 2) * {WINDOW - 1} as int)"
        return f"""
            select event_id, landed, lag, date_add(date '{_FIRST_DAY}', cast(landed - lag as int)) as event_date
            from (
                select
                    event_id,
                    event_id div {self.per_day} as landed,
                    if({self._chance("late")} < {_LATE}, {delay}, 0) as lag
                from (select id as event_id from range({first * self.per_day}, {(first + days) * self.per_day}))
            )"""

    def _chance(self, purpose: str) -> str:
        """SQL of a number in [0, 1) that depends on the event, the purpose and the seed."""
        return f"((xxhash64(event_id, '{purpose}', {self.seed}) & 2147483647) / 2147483648D)"
