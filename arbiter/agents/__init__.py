"""Language models as players: the Model Context Protocol, over the Python client."""
