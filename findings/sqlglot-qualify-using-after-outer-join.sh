#!/usr/bin/env bash
# Question: does sqlglot's qualify() keep the result of a query with USING after a FULL or a RIGHT JOIN?
# Guess: yes. The column that USING joins by is the merged one of all relations before, which qualify() knows: it
#   selects COALESCE(a.k, b.k, c.k).
# Found with sqlglot 30.30.0: no. In the ON clause that replaces the second USING, qualify() compares with the column of
#   the first relation alone, a.k instead of COALESCE(a.k, b.k). A row that only the second relation has then finds no
#   partner in the third one: one row of the result becomes two. In the dialects of Spark and of DuckDB alike.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sqlglot==30.30.0 duckdb==1.5.6
cat > "$folder/program.py" <<'PYTHON'
import duckdb
import sqlglot
from sqlglot.optimizer.qualify import qualify

SCHEMA = {"a": {"k": "int", "x": "int"}, "b": {"k": "int", "y": "int"}, "c": {"k": "int", "z": "int"}}
database = duckdb.connect()
for name, (_, value) in {name: tuple(columns) for name, columns in SCHEMA.items()}.items():
    database.execute(f"create table {name} (k int, {value} int)")
database.execute("insert into a values (1, 10)")
database.execute("insert into b values (2, 20)")
database.execute("insert into c values (2, 30)")
for side in ("full", "right"):
    sql = f"select k, x, y, z from a {side} join b using (k) full join c using (k) order by all"
    qualified = qualify(sqlglot.parse_one(sql, read="duckdb"), schema=SCHEMA, dialect="duckdb").sql("duckdb")
    print(f"{side}, as written: {database.execute(sql).fetchall()}")
    print(f"{side}, qualified:  {database.execute(qualified).fetchall()}")
on = qualify(sqlglot.parse_one(sql.partition(" order")[0], read="spark"), schema=SCHEMA, dialect="spark").sql("spark")
print(on.rpartition("FULL JOIN ")[2])
PYTHON
"$folder/venv/bin/python" "$folder/program.py" | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
full, as written: [(1, 10, None, None), (2, None, 20, 30)]
full, qualified:  [(1, 10, None, None), (2, None, 20, None), (2, None, None, 30)]
right, as written: [(2, None, 20, 30)]
right, qualified:  [(2, None, 20, None), (2, None, None, 30)]
`c` AS `c` ON `a`.`k` = `c`.`k`
OUTPUT
