"""How the models of a project stand: what their next runs read, and what their last ones read."""
