"""The versions of rows: history tables, from changes or from a log of events, and the tables of dbt's snapshots."""
