"""The calls of each service, as methods; `arbiter_client.client.Client` has them all."""
