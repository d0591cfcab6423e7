"""Upkeep: what a table's metadata say is worth doing for it, without harm to those who read it; pure.

compaction   which data files, position deletes and manifests to rewrite
readers      which snapshots the models of the project have still to read, or a model's own table needs
expiry       which snapshots may go, by Iceberg's rules of retention and the readers' needs
folders      which tables have their files in the folder of another one
branches     which of the branches that runs stage on are a crashed run's
tables       all of that for one table
"""
