"""SQL of the rows of each source.

All values are computed from the numbers of the rows, so every run uses the same rows. The names and meanings of tables
and columns, and the layout of FINWIRE lines, follow the TPC-DI specification. The values are this benchmark's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DAYS = 675
"""The number of days of the initial load. Each batch is a day that follows them."""
FIRST_DAY = "date'2015-09-01'"
_OPEN_SHARE = 0.02
"""The share of the newest trades in the initial load. One in four of them is still open."""
_SECONDS = 23_400
"""The length of a trading day in s. It begins at 9:30."""
_LINE_TIME = "'yyyyMMdd-HHmmss'"


@dataclass(frozen=True)
class Entities:
    """The numbers of entities in the initial load."""

    trades: int

    @property
    def customers(self) -> int:
        return max(20, self.trades // 80)

    @property
    def accounts(self) -> int:
        return self.customers * 12 // 5

    @property
    def employees(self) -> int:
        return max(30, self.trades * 3 // 80)

    @property
    def companies(self) -> int:
        return max(15, self.trades * 3 // 800)

    @property
    def securities(self) -> int:
        return max(24, self.trades * 3 // 500)

    def counts(self) -> dict[str, int]:
        """The number of rows of each part of the growing sources in the initial load."""
        trades = self.trades
        return {
            "customers": self.customers * 3 // 2,
            "accounts": self.accounts * 3 // 2,
            "trades": trades,
            "trade_history": trades,
            "cash_transactions": trades * 23 // 25,
            "holding_history": trades * 23 // 25,
            "watch_history": trades * 23 // 20,
            "daily_market": self.securities * DAYS,
            "prospects": self.employees,
            "finwire_companies": self.companies * 6 // 5,
            "finwire_securities": self.securities * 6 // 5,
            "finwire_financials": self.companies * 60,
        }

    @property
    def first_open(self) -> int:
        """The number of the first trade that may still be open after the initial load."""
        return round(self.trades * (1 - _OPEN_SHARE))


def of_part(part: str, entities: Entities, numbers: str, day: int | None = None) -> str:
    """SQL of the rows of a part of a source.

    ``numbers``: a relation with the numbers of the rows. ``day``: the day of a batch, counted from the first day; None
    for the initial load, whose rows are spread over its days.
    """
    count = entities.counts()[part]
    when = f"int(number * {DAYS} div {count})" if day is None else str(day)
    keys, columns = _PARTS[part](entities, count, day)
    listed = "".join(f", {sql} as {name}" for name, sql in {"day": when, **keys}.items())
    return f"select {columns} from (select number{listed} from {numbers})"


def closed_trades(entities: Entities, end: int, batch: int, day: int) -> Mapping[str, str]:
    """SQL of the rows that report the end of open trades, by source. ``end``: the number after the last trade."""
    numbers = f"range({entities.first_open}, {end}) as t (number)"
    inner = f"select number, {day} as day from {numbers} where {_is_open(entities)} and {pick(10, 'closes')} = {batch}"
    return {
        "trades": f"select {_trade_columns(entities, 'U', f'{batch} * 1000000000 + number', 'false')} from ({inner})",
        "trade_history": f"select number as th_t_id, {_at('closed')} as th_dts, 'CMPT' as th_st_id from ({inner})",
    }


def pick(many: int, salt: str, of: str = "number") -> str:
    """SQL of a whole number in [0, ``many``) that depends on a column and the salt."""
    return f"pmod(xxhash64({of}, '{salt}'), {many})"


def chance(of: str, salt: str) -> str:
    """SQL of a number in [0, 1) that depends on columns and the salt."""
    return f"pmod(xxhash64({of}, '{salt}'), 1000000) / 1000000"


def one_of(salt: str, *values: str, of: str = "number") -> str:
    """SQL of one of several texts, which depends on a column and the salt."""
    listed = ", ".join(f"'{value}'" for value in values)
    return f"array({listed})[int({pick(len(values), salt, of)})]"


def _at(salt: str) -> str:
    """SQL of a time on the row's day."""
    return f"timestampadd(second, 34200 + {pick(_SECONDS, salt)}, date_add({FIRST_DAY}, day))"


def _money(many: int, salt: str, digits: int = 10, of: str = "number") -> str:
    """SQL of an amount below ``many`` cents."""
    return f"cast({pick(many, salt, of)} / 100 as decimal({digits}, 2))"


def _symbol(security: str) -> str:
    return f"concat('S', lpad(conv({security}, 10, 36), 5, '0'))"


def _versions(entities: int, count: int, salt: str, day: int | None) -> dict[str, str]:
    """The id, and whether the row is the first one with this id, in a source with several versions of its entities.

    ``count``: the number of rows of the initial load: each entity, then new versions. In a batch, every other row is a
    new entity.
    """
    new = f"number < {entities}" if day is None else "number % 2 = 0"
    return {"is_new": new, "id": f"if({new}, number, {pick(entities, salt)})"}


def _since(day: int | None) -> str:
    """SQL of the time of a version. The first version in the initial load is older than all facts."""
    changed = _at("version")
    if day is not None:
        return changed
    return f"if(is_new, timestampadd(day, -{DAYS} - {pick(400, 'age')}, {changed}), {changed})"


def _customers(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    return (
        _versions(entities.customers, count, "customer", day),
        f"""
        if(is_new, 'I', 'U') as cdc_flag, number as cdc_dsn, {_since(day)} as action_ts, id as c_id,
        concat(lpad({pick(1000, "tax a", "id")}, 3, '0'), '-', lpad({pick(100, "tax b", "id")}, 2, '0')) as c_tax_id,
        if({chance("number", "inactive")} < 0.05, 'INAC', 'ACTV') as c_st_id,
        {one_of("last", "smith", "Jones ", "GARCIA", "Lee", "Novak", "Okoye", "Silva", of="id")} as c_l_name,
        {one_of("first", "Ann", "bob", "Carla", "DAVE", "Eve", "Farid", of="id")} as c_f_name,
        {one_of("gender", "M", "F", "m", "f", "", "X", of="id")} as c_gndr,
        cast(1 + {pick(3, "tier")} as string) as c_tier,
        cast(date_add(date'1935-01-01', int({pick(25000, "born", "id")})) as string) as c_dob,
        concat({pick(999, "house")}, ' Main St') as c_adline1, lpad({pick(99999, "zip")}, 5, '0') as c_zipcode,
        {one_of("city", "Oslo", "Austin", "Toronto", "Denver", "Boston")} as c_city,
        {one_of("country", "United States of America", "Canada")} as c_ctry,
        concat('mail', id, '.', number, '@example.com') as c_email_1,
        concat('TX', {pick(320, "local")}) as c_lcl_tx_id,
        concat('TX', {pick(320, "national", "id")}) as c_nat_tx_id""",
    )


def _accounts(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    return (
        _versions(entities.accounts, count, "account", day),
        f"""
        if(is_new, 'I', 'U') as cdc_flag, number as cdc_dsn, {_since(day)} as action_ts, id as ca_id,
        3 * {pick(entities.employees // 3, "broker")} as ca_b_id, {pick(entities.customers, "owner", "id")} as ca_c_id,
        concat('account ', id) as ca_name, int({pick(3, "tax", "id")}) as ca_tax_st,
        if({chance("number", "closed")} < 0.04, 'INAC', 'ACTV') as ca_st_id""",
    )


def _is_open(entities: Entities) -> str:
    return f"number >= {entities.first_open} and {pick(4, 'open')} = 0"


def _trade_type() -> str:
    return one_of("type", "TMB", "TMS", "TSL", "TLS", "TLB")


def _is_limit() -> str:
    return f"{_trade_type()} in ('TSL', 'TLS', 'TLB')"


def _closed_status() -> str:
    return f"if({chance('number', 'cancelled')} < 0.05, 'CNCL', 'CMPT')"


def _trade_columns(entities: Entities, flag: str, sequence: str, is_open: str) -> str:
    closed, time = ("'CMPT'", "closed") if flag == "U" else (_closed_status(), "traded")
    return f"""
        '{flag}' as cdc_flag, {sequence} as cdc_dsn, number as t_id, {_at(time)} as t_dts,
        if({is_open}, if({_is_limit()}, 'PNDG', 'SBMT'), {closed}) as t_st_id, {_trade_type()} as t_tt_id,
        int({pick(2, "cash")}) as t_is_cash, {_symbol(pick(entities.securities, "security"))} as t_s_symb,
        int(10 + {pick(990, "quantity")}) as t_qty, {_money(90_000, "bid", 8)} as t_bid_price,
        {pick(entities.accounts, "account")} as t_ca_id, concat('trader ', {pick(500, "executor")}) as t_exec_name,
        if({is_open}, null, {_money(90_000, "price", 8)}) as t_trade_price, {_money(5_000, "fee")} as t_chrg,
        {_money(9_000, "commission")} as t_comm, {_money(20_000, "tax")} as t_tax"""


def _trades(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    return {}, _trade_columns(entities, "I", "number", _is_open(entities))


def _trade_history(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    def step(after: int, status: str) -> str:
        return f"struct(timestampadd(second, {after}, {_at('traded')}) as th_dts, {status} as th_st_id)"

    steps = f"""array(
        if({_is_limit()}, {step(0, "'PNDG'")}, null),
        if({_is_limit()} and {_is_open(entities)}, null, {step(60, "'SBMT'")}),
        if({_is_open(entities)}, null, {step(200, _closed_status())}))"""
    return {}, f"number as th_t_id, inline(filter({steps}, step -> step is not null))"


def _of_trade(entities: Entities, count: int) -> dict[str, str]:
    return {"trade": f"number * {entities.trades} div {count}"}


def _cash_transactions(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    return (
        _of_trade(entities, count),
        f"""
        'I' as cdc_flag, number as cdc_dsn, {pick(entities.accounts, "account", "trade")} as ct_ca_id,
        {_at("paid")} as ct_dts, cast({_money(2_000_000, "amount")} - 10000 as decimal(10, 2)) as ct_amt,
        concat('transaction ', {pick(1000, "name")}) as ct_name""",
    )


def _holding_history(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    before = f"if({pick(3, 'first')} = 0, 0, int({pick(2000, 'before')}))"
    return (
        _of_trade(entities, count),
        f"""
        'I' as cdc_flag, number as cdc_dsn, greatest(0, trade - {pick(2000, "lot")}) as hh_h_t_id, trade as hh_t_id,
        {before} as hh_before_qty, {before} + int({pick(1000, "bought")}) - 300 as hh_after_qty""",
    )


def _watch_history(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    return (
        {"watch": "if(number % 3 = 2, number - 2, number)"},
        f"""
        'I' as cdc_flag, number as cdc_dsn, {pick(entities.customers, "watcher", "watch")} as w_c_id,
        {_symbol(pick(entities.securities, "watched", "watch"))} as w_s_symb,
        if(watch = number, {_at("watched")}, timestampadd(day, 1, {_at("watched")})) as w_dts,
        if(watch = number, 'ACTV', 'CNCL') as w_action""",
    )


def _daily_market(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    keys = {"security": f"number % {entities.securities}"}
    return (
        keys,
        f"""
        date_add({FIRST_DAY}, day) as dm_date, {_symbol("security")} as dm_s_symb,
        {_money(90_000, "close", 8)} as dm_close, cast({_money(90_000, "close", 8)} * 1.04 as decimal(8, 2)) as dm_high,
        cast({_money(90_000, "close", 8)} * 0.97 as decimal(8, 2)) as dm_low, {pick(1_000_000, "volume")} as dm_vol""",
    )


def _prospects(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    return (
        _versions(count, count, "prospect", day),
        f"""
        number as line_number, date_add({FIRST_DAY}, {DAYS - 1 if day is None else day}) as record_date,
        concat('AGENCY', lpad(id, 8, '0')) as agency_id,
        {one_of("last", "smith", "Jones ", "GARCIA", "Lee", "Novak", "Okoye", "Silva", of="id")} as last_name,
        {one_of("first", "Ann", "bob", "Carla", "DAVE", "Eve", "Farid", of="id")} as first_name,
        lpad({pick(99999, "zip")}, 5, '0') as postal_code,
        {one_of("city", "Oslo", "Austin", "Toronto", "Denver", "Boston")} as city,
        cast({pick(300_000, "income")} as string) as income, int({pick(5, "cars")}) as number_cars,
        int({pick(6, "children")}) as number_children, {one_of("married", "S", "M", "D", "W", "U")} as marital_status,
        int(18 + {pick(75, "age")}) as age, int(300 + {pick(550, "rating")}) as credit_rating,
        {one_of("rents", "O", "R", "U")} as own_or_rent_flag, int({pick(8, "cards")}) as number_credit_cards,
        cast({pick(2_000_000, "worth")} as string) as net_worth""",
    )


def _line(kind: str, at: str, *fields: str) -> str:
    """SQL of a line with a fixed width. ``at``: its time."""
    return f"concat({', '.join((f'date_format({at}, {_LINE_TIME})', repr(kind), *fields))}) as line"


def _text(sql: str, width: int) -> str:
    return f"rpad({sql}, {width}, ' ')"


def _number(sql: str, width: int) -> str:
    return f"lpad(cast({sql} as string), {width}, ' ')"


def _company_name(company: str) -> str:
    return f"concat('Company ', {company})"


def _company(company: str) -> str:
    """SQL of a reference to a company: its name or its 10 digits, which depends on the row."""
    cik = f"lpad({company}, 10, '0')"
    return f"if({pick(4, 'by name')} = 0, {_text(_company_name(company), 60)}, {cik})"


def _finwire_companies(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    new = f"number < {entities.companies}"
    keys = {"is_new": new, "id": f"if({new}, number, {pick(entities.companies, 'company')})"}
    return keys, _line(
        "CMP",
        _since(day),
        _text(_company_name("id"), 60),
        "lpad(id, 10, '0')",
        f"if({chance('number', 'inactive')} < 0.05, 'INAC', 'ACTV')",
        f"lpad(conv({pick(102, 'industry', 'id')}, 10, 36), 2, '0')",
        _text(one_of("rating", "AAA", "AA", "A", "BBB", "BB+", "C"), 4),
        f"date_format(date_add(date'1920-01-01', int({pick(30000, 'founded', 'id')})), 'yyyyMMdd')",
        _text(f"concat({pick(999, 'house', 'id')}, ' Market St')", 80),
        _text("''", 80),
        _text("'12345'", 12),
        _text(one_of("city", "Oslo", "Austin", "Toronto", of="id"), 25),
        _text("'TX'", 20),
        _text("'United States of America'", 24),
        _text(f"concat('Chief ', {pick(1000, 'chief')})", 46),
        _text("concat('about company ', id)", 150),
    )


def _finwire_securities(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    new = f"number < {entities.securities}"
    keys = {"is_new": new, "id": f"if({new}, number, {pick(entities.securities, 'security')})"}
    return keys, _line(
        "SEC",
        _since(day),
        _text(_symbol("id"), 15),
        _text(one_of("issue", "COMMON", "PREF_A", "PREF_B", of="id"), 6),
        f"if({chance('number', 'inactive')} < 0.03, 'INAC', 'ACTV')",
        _text("concat('Security ', id)", 70),
        _text(one_of("exchange", "NYSE", "NASDAQ", "AMEX", "PCX", of="id"), 6),
        _number(f"1000000 + {pick(90_000_000, 'shares')}", 13),
        f"date_format(date_add(date'1990-01-01', int({pick(5000, 'traded', 'id')})), 'yyyyMMdd')",
        f"date_format(date_add(date'1990-01-01', int({pick(5000, 'listed', 'id')})), 'yyyyMMdd')",
        _number(_money(500, "dividend"), 12),
        _company(pick(entities.companies, "issuer", "id")),
    )


def _finwire_financials(entities: Entities, count: int, day: int | None) -> tuple[dict[str, str], str]:
    # the last quarter of the initial load is the second of 2017
    quarter = f"(8010 + number div {entities.companies})"
    keys = {
        "company": f"number % {entities.companies}",
        "starts": f"make_date(int({quarter} div 4), int({quarter} % 4) * 3 + 1, 1)",
    }
    posted = "date_add(starts, 80)" if day is None else f"date_add({FIRST_DAY}, day)"
    return keys, _line(
        "FIN",
        f"cast({posted} as timestamp)",
        "date_format(starts, 'yyyy')",
        "cast(quarter(starts) as string)",
        "date_format(starts, 'yyyyMMdd')",
        f"date_format({posted}, 'yyyyMMdd')",
        _number(_money(900_000_000, "revenue", 12), 17),
        _number(f"cast({_money(90_000_000, 'earnings', 12)} - 100000 as decimal(12, 2))", 17),
        _number(_money(900, "eps"), 12),
        _number(_money(800, "diluted"), 12),
        _number(_money(90, "margin"), 12),
        _number(_money(90_000_000, "inventory", 12), 17),
        _number(_money(900_000_000, "assets", 12), 17),
        _number(_money(700_000_000, "liabilities", 12), 17),
        _number(f"1000000 + {pick(90_000_000, 'shares')}", 13),
        _number(f"1000000 + {pick(99_000_000, 'diluted shares')}", 13),
        _company("company"),
    )


_PARTS = {
    "customers": _customers,
    "accounts": _accounts,
    "trades": _trades,
    "trade_history": _trade_history,
    "cash_transactions": _cash_transactions,
    "holding_history": _holding_history,
    "watch_history": _watch_history,
    "daily_market": _daily_market,
    "prospects": _prospects,
    "finwire_companies": _finwire_companies,
    "finwire_securities": _finwire_securities,
    "finwire_financials": _finwire_financials,
}
PARTS = tuple(_PARTS)
"""The sources that grow. FINWIRE has three parts, one for each kind of line."""
