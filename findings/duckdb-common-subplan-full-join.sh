#!/usr/bin/env bash
# Question: does a SELECT return the same rows alone and as a branch of UNION ALL with a SELECT over the same joins?
# Guess: yes; UNION ALL only appends rows.
# Found with DuckDB 2.0.0: not always. The first branch filters and groups a FULL JOIN, the second one is a total over
#   the same FULL JOIN. Together, one group of the first branch has the minimum '1', which is that of another group; alone
#   it has '01'. The optimizer shares the join of both branches (common_subplan) and then reads the wrong columns: with
#   either common_subplan or column_lifetime disabled, the result is right. A test that uses DuckDB
#   as the oracle of generated SQL then blames the SQL.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb==2.0.0
cat > "$folder/program.py" <<'PYTHON'
import duckdb

db = duckdb.connect()
db.execute("set threads = 1")
db.execute("create table b (k int, s varchar, num varchar)")
rows = [(4, "p", "02"), (2, "q", "0"), (0, "p", None), (None, "0", "02"), (3, "1", None), (2, "0", "1"), (4, "1", "1")]
rows += [(4, "0", "0"), (2, "p", "0"), (2, None, "1"), (2, "01", "2"), (0, "1", None)]
db.executemany("insert into b values (?, ?, ?)", rows)
db.execute("create table c (y int, z int)")
db.executemany(
    "insert into c values (?, ?)", [(2, 4), (0, 4), (1, 4), (2, 3), (3, 2), (2, 1), (0, 4), (3, 0), (1, 1)]
)
db.execute("create table keys (k0 int)")
db.executemany("insert into keys values (?)", [(2,), (None,), (0,)])
joined = "from b t0 join c t1 on t0.k = t1.y full join b t2 on t0.num = t2.num and t0.k = t2.num"
groups = (
    f"select 'group' as kind, min(coalesce(t0.s, 'q')) as s {joined} "
    "where exists (select 1 from keys where k0 is not distinct from t2.k) group by t2.k"
)
total = f"select 'total', min(coalesce(t0.s, 'q')) {joined}"
for disabled in ("", "common_subplan", "column_lifetime"):
    db.execute(f"set disabled_optimizers = '{disabled}'")
    alone = sorted(s for _, s in db.execute(groups).fetchall())
    both = db.execute(f"{groups} union all {total}").fetchall()
    united = sorted(s for kind, s in both if kind == "group")
    print(f"disabled: {disabled or 'nothing'}: alone {alone}, with the total {united}")
PYTHON
"$folder/venv/bin/python" "$folder/program.py" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
disabled: nothing: alone ['0', '01', 'q'], with the total ['0', '1', 'q']
disabled: common_subplan: alone ['0', '01', 'q'], with the total ['0', '01', 'q']
disabled: column_lifetime: alone ['0', '01', 'q'], with the total ['0', '01', 'q']
OUTPUT
