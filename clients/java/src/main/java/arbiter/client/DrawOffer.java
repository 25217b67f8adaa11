package arbiter.client;

/** The opponent offers a draw in a match. */
public record DrawOffer(LiveMatch match) {}
