"""The texts for users: an error for each way in which a run can fail, and the log lines of a run.

Each error states what was expected, what was found, and the commands or configs that fix it.
"""
