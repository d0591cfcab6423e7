"""The order of rows within a key (``sequence_by``), and the view of the changes that a run applies in this order."""
