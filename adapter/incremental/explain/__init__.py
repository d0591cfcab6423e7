"""What is said to people: the error for each way a run can fail, by what is at fault, and what a run tells of itself.

Every error says what was expected, what was found, and the commands or configs that lead on.
"""
