"""The calls of each service, as methods; `arbiter_client.client.Client` inherits all of them."""
