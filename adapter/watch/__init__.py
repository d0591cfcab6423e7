"""The command ``dbt-spark-iceberg``: what new commits make due, and ``dbt build`` of just that."""
