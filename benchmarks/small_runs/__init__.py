"""What a run costs that has little to do: of one model, and of a pipeline of many small ones."""
