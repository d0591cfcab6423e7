#!/usr/bin/env bash
# Question: what does `dbt build --empty`, a check of a project's SQL without data, do to a snapshot that exists?
# Guess: nothing, or a new table without rows somewhere else, because --empty is documented as a dry run that validates.
# Found with dbt-core 1.11.16 and dbt-duckdb 1.10.0: with hard_deletes: invalidate, all versions end. Under --empty, the
#   relation that the snapshot reads has no rows, so that the snapshot records every row of its history as deleted, in
#   the snapshot's own table, with the exit code 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dbt-core==1.11.16 dbt-duckdb==1.10.0 duckdb==1.5.6
mkdir -p "$folder/shop/snapshots" "$folder/shop/models"
cd "$folder/shop"
cat > dbt_project.yml <<'YAML'
name: shop
profile: shop
YAML
cat > profiles.yml <<'YAML'
shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}
YAML
cat > models/orders.sql <<'SQL'
select * from (values (1, 'open'), (2, 'paid')) t(id, state)
SQL
cat > snapshots/orders.yml <<'YAML'
snapshots:
  - name: orders_history
    relation: ref('orders')
    config: {strategy: check, check_cols: all, unique_key: id, hard_deletes: invalidate}
YAML
cat > count.py <<'PYTHON'
import duckdb

with duckdb.connect("shop.duckdb") as database:
    found = database.sql("select count(*), count(*) filter (where dbt_valid_to is null) from orders_history").fetchall()[0]
print(f"{found[0]} versions, {found[1]} of them valid")
PYTHON
run() {
  "$folder/venv/bin/dbt" --quiet build "$@" && "$folder/venv/bin/python" count.py
}
{ run; run --empty; } | tee "$folder/output"
diff - "$folder/output" <<'OUTPUT'
2 versions, 2 of them valid
2 versions, 0 of them valid
OUTPUT
