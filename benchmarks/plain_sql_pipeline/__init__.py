"""A pipeline as dbt users build it: twelve plain models in three stages, while a day's changes arrive."""
