package arbiter.client;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * The options of a run or a client. Each method sets the part of its name and returns this; what is not set comes from
 * the environment (ARBITER_SERVER, ARBITER_NAME, ARBITER_TOKEN, …), or has its default.
 */
public final class Options {
    /** The cost of a bot's error in its turn. */
    public enum OnError {
        /** The match. */
        RESIGN,
        /** The time on its clock. */
        WAIT,
        /** The whole run: BotFailedException. */
        RAISE
    }

    String server;
    String name;
    String token;
    Tls tls;
    Credentials credentials;
    Profile profile;
    long matches;
    int thinkers = 8;
    OnError onError = OnError.RESIGN;
    Duration patience;
    Duration timeout = Duration.ofSeconds(30);
    String invitation = "";
    Executor executor;
    Hooks hooks = new Hooks() {};
    /** Gets the end of each match, once the bot has been told of it. */
    Consumer<FinishedMatch> atEnd = finished -> {};

    /** Sets the arbiter's address, HOST:PORT, or several addresses of one arbiter with commas between them. */
    public Options server(String value) {
        server = value;
        return this;
    }

    /** Sets the player; by default ARBITER_NAME or the bot's name. */
    public Options name(String value) {
        name = value;
        return this;
    }

    /** Sets the player's token; by default ARBITER_TOKEN or the credentials file's. */
    public Options token(String value) {
        token = value;
        return this;
    }

    /** Sets the transport security; by default the environment's, or plain text. */
    public Options tls(Tls value) {
        tls = value;
        return this;
    }

    /** Sets the credentials file. */
    public Options credentials(Credentials value) {
        credentials = value;
        return this;
    }

    /** Sets the profile of the bot, instead of its own {@link Bot#profile()}. */
    public Options profile(Profile value) {
        profile = value;
        return this;
    }

    /**
     * Stops after so many matches have ended; 0, the default, for never. The bot agrees to no more than that, and plays
     * those under way to their end.
     */
    public Options matches(long value) {
        matches = value;
        return this;
    }

    /** Sets how many choices are under way at most; 8 by default. */
    public Options thinkers(int value) {
        thinkers = value;
        return this;
    }

    /**
     * Sets who calls the bot's methods: of Java 21 on for example {@code Executors.newVirtualThreadPerTaskExecutor()}. By
     * default there is a thread of the run's own for each call. With few threads, matches wait for each other's choices; a
     * choice that the executor rejects costs what an error of the bot's does. It is not shut down.
     */
    public Options executor(Executor value) {
        executor = value;
        return this;
    }

    /** Sets what a bot's error costs; by default the match. */
    public Options onError(OnError value) {
        onError = value;
        return this;
    }

    /** Sets how long a server that was never reached is tried: 10 s by default for a bot, 1 s for other calls. */
    public Options patience(Duration value) {
        patience = value;
        return this;
    }

    /** Sets how long one call may take; 30 s by default. */
    public Options timeout(Duration value) {
        timeout = value;
        return this;
    }

    /** Sets the invitation to register with, where one is needed. */
    public Options invitation(String value) {
        invitation = value;
        return this;
    }

    /** Sets functions of the program for its metrics. */
    public Options hooks(Hooks value) {
        hooks = value;
        return this;
    }

    /** Returns a copy, so that who was given options may change them. */
    Options copy() {
        Options copy = new Options();
        copy.server = server;
        copy.name = name;
        copy.token = token;
        copy.tls = tls;
        copy.credentials = credentials;
        copy.profile = profile;
        copy.matches = matches;
        copy.thinkers = thinkers;
        copy.onError = onError;
        copy.patience = patience;
        copy.timeout = timeout;
        copy.invitation = invitation;
        copy.executor = executor;
        copy.hooks = hooks;
        copy.atEnd = atEnd;
        return copy;
    }

    /** Returns the addresses to connect to. Throws ConnectionFailedException for a text that is none. */
    List<String> addresses() {
        String given = Environment.text(server) != null ? server : Environment.get("ARBITER_SERVER");
        return Addresses.of(given == null ? Addresses.DEFAULT_SERVER : given);
    }

    /** Returns the player's name, or an empty text. */
    String player() {
        String given = Environment.text(name) != null ? name : Environment.get("ARBITER_NAME");
        return given == null ? "" : given;
    }

    /** Returns the token that is given, or the environment's, or null. */
    String givenToken() {
        return Environment.text(token) != null ? token : Environment.get("ARBITER_TOKEN");
    }

    Credentials file() {
        return credentials == null ? Credentials.ofEnvironment() : credentials;
    }
}
