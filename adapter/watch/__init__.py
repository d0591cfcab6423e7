"""The command ``dbt-spark-iceberg``: finds models that new commits make due, and runs ``dbt build`` on them."""
