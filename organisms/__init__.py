"""How the organisms are made: worlds, training texts, training, export and measurement."""
