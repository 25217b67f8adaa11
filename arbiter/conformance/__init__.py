"""The conformance kit: a referee that plays a bot through scripted situations and says what it does wrong.

The bot is any program. It plays on an arbiter in this process, the real one, on a record in memory; but between the two
stands a front (`arbiter.conformance.front`) that can hold back, double, change, drop and invent what is said on the
stream, and a network (`arbiter.testing.network`) that can be slow or cut. Each clause (`arbiter.conformance.clauses`)
quotes a sentence of the contract and is a situation (`arbiter.conformance.situations`) that either runs as it should,
or raises `Failed`; what both sides said meanwhile is its trace.
"""
