"""The conformance kit: a referee that runs a bot through scripted situations and reports what it does wrong.

The bot is any program. It plays on a real arbiter in this process, with an event log in memory. Between the two is a
proxy (`arbiter.conformance.proxy`) that can delay, duplicate, change, drop and invent messages on the stream, and a
network (`arbiter.testing.network`) that can be slow or cut. Each clause (`arbiter.conformance.clauses`) quotes a
sentence of the contract and has a situation (`arbiter.conformance.situations`). The situation returns if the bot
behaves as it should, and otherwise raises `Failed`. The messages of both sides are its trace.
"""
