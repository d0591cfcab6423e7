"""The command ``dbt-spark-iceberg``: what new commits make due, and ``dbt build`` of just that.

command_line  the commands and their options
project       a dbt project, parsed once: its selection and its graph
lake          the reader of metadata for a profile, without Spark where the profile says enough
look          where the models stand; what has changed since the last look
due           which models are due, and what they reach (pure)
batching      whether a due model waits for further commits (pure)
backoff       when a node that failed is tried again (pure)
outcome       which nodes a ``dbt build`` left failing (pure)
build         ``dbt build`` in this process
files         the files that a project is parsed from
definitions   which nodes a change of these files changes (pure)
version       what one parse of the project gives, and when it is parsed again
loop          ``watch``: looks and builds in turn
report        a thread that writes metrics and status page
page          the status page
chores        the maintenance between runs
pending       ``pending``: one look, printed
signals       SIGTERM and Ctrl-C
log           what ``watch`` says, as text or JSON
metrics       the same as Prometheus metrics
"""
