"""The sentences that people read: an error for each way a run can fail, by what is at fault, and a run's own report.

Every error says what was expected, what was found, and the commands or configs to continue with.
"""
