"""The texts for users: the errors of a failed run, and the log lines of a run.

Each error states what was expected, what was found, and the commands or configs that fix it.
"""
