package arbiter.client;

import arbiter.v1.Challenge;
import arbiter.v1.ClientHello;
import arbiter.v1.Terms;
import io.grpc.Status;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The profile of a bot; {@code Profile.named("my-bot").games("pods").build()} makes one.
 *
 * @param name the bot's name, for people
 * @param version its version; rated apart from other versions
 * @param games the games or variants that it plays; empty for all
 * @param timeControls those that it accepts in challenges, seeks and tournaments, compared by meaning; empty for all. A
 *     text that is none ends a run at its start (PARAMETER_INVALID)
 * @param opponents the players whose challenges and seeks it accepts; empty for all
 * @param mostMatches how many matches it plays at once; 0 for no limit
 * @param acceptChallenges whether it accepts challenges that suit
 * @param acceptSeeks whether it is told of open seeks of others, and accepts those that suit
 * @param seeks terms of seeks to keep open while there is room for a match
 * @param enterTournaments whether it is told of tournaments, and enters those that suit
 * @param capabilities what it can do beyond the protocol's first version, by name
 * @param extras what its turns carry
 */
public record Profile(
        String name,
        String version,
        List<String> games,
        List<String> timeControls,
        List<String> opponents,
        int mostMatches,
        boolean acceptChallenges,
        boolean acceptSeeks,
        List<Terms> seeks,
        boolean enterTournaments,
        List<String> capabilities,
        Extras extras) {
    private static final String PROTOCOL_VERSION = "1.0";
    private static final String SOFTWARE = "arbiter-client-java";
    private static final String SOFTWARE_VERSION = "0.1.0";

    /** Begins a profile; everything but the name has its default. */
    public static Builder named(String name) {
        return new Builder(name);
    }

    /** Begins a profile that is like this one. */
    public Builder change() {
        Builder builder = new Builder(name);
        builder.version = version;
        builder.games = games;
        builder.timeControls = timeControls;
        builder.opponents = opponents;
        builder.mostMatches = mostMatches;
        builder.acceptChallenges = acceptChallenges;
        builder.acceptSeeks = acceptSeeks;
        builder.seeks = seeks;
        builder.enterTournaments = enterTournaments;
        builder.capabilities = capabilities;
        builder.extras = extras;
        return builder;
    }

    /** Returns whether the bot plays a variant: it, or its game, is among the games, or they are all. */
    public boolean plays(String game) {
        return games.isEmpty() || games.contains(game) || games.contains(game.split("\\(", 2)[0]);
    }

    /** Returns whether the bot plays at a time control: {@code 60s} among them stands for {@code 1m} too. */
    public boolean playsAt(String timeControl) {
        return timeControls.isEmpty() || timeControls.stream().anyMatch(own -> TimeControl.same(own, timeControl));
    }

    /** Throws the arbiter's refusal for what is no time control: with it, the bot would wait for a match in vain. */
    void checkTimeControls() {
        Stream<String> sought = seeks.stream().map(Terms::getTimeControl).filter(control -> !control.isEmpty());
        Stream.concat(timeControls.stream(), sought).forEach(what -> {
            try {
                TimeControl.canonical(what);
            } catch (IllegalArgumentException error) {
                String message = (name.isEmpty() ? "the bot" : name) + ": " + error.getMessage();
                Map<String, String> facts = Map.of("what", what, "where", "time", "allowed", TimeControl.ALLOWED);
                throw new ArbiterException(Reason.PARAMETER_INVALID, message, Status.Code.INVALID_ARGUMENT, facts);
            }
        });
    }

    /** Returns why a bot with so many matches does not accept a challenge or seek; empty if it may. */
    String objection(Challenge challenge, int playing) {
        Terms terms = challenge.getTerms();
        if (!plays(terms.getGame())) {
            return "this bot plays " + String.join(", ", games);
        }
        if (!playsAt(terms.getTimeControl())) {
            return "this bot plays at " + String.join(", ", timeControls);
        }
        if (!opponents.isEmpty() && !opponents.contains(challenge.getChallenger())) {
            return "this bot plays against " + String.join(", ", opponents);
        }
        if (mostMatches > 0 && playing >= mostMatches) {
            return "this bot plays " + mostMatches + " matches at once, and is playing them";
        }
        return "";
    }

    ClientHello hello() {
        return ClientHello.newBuilder()
                .setProtocolVersion(PROTOCOL_VERSION)
                .setSoftware(SOFTWARE)
                .setSoftwareVersion(SOFTWARE_VERSION)
                .setBotName(name)
                .setBotVersion(version)
                .addAllCapabilities(capabilities)
                .addAllGames(games)
                .setMostMatches(mostMatches)
                .setSeeks(acceptSeeks)
                .setTournaments(enterTournaments)
                .setExtras(extras.message())
                .build();
    }

    /** A profile in the making; each method sets the part of its name. */
    public static final class Builder {
        private String name;
        private String version = "1";
        private List<String> games = List.of();
        private List<String> timeControls = List.of();
        private List<String> opponents = List.of();
        private int mostMatches;
        private boolean acceptChallenges = true;
        private boolean acceptSeeks;
        private List<Terms> seeks = List.of();
        private boolean enterTournaments;
        private List<String> capabilities = List.of();
        private Extras extras = Extras.NONE;

        private Builder(String name) {
            this.name = name;
        }

        /** Sets the version; rated apart from other versions. */
        public Builder version(String value) {
            version = value;
            return this;
        }

        /** Sets the games or variants that it plays. */
        public Builder games(String... values) {
            games = List.of(values);
            return this;
        }

        /** Sets the time controls that it accepts. */
        public Builder timeControls(String... values) {
            timeControls = List.of(values);
            return this;
        }

        /** Sets the players whose challenges and seeks it accepts. */
        public Builder opponents(String... values) {
            opponents = List.of(values);
            return this;
        }

        /** Sets how many matches it plays at once. */
        public Builder mostMatches(int value) {
            mostMatches = value;
            return this;
        }

        /** Sets whether it accepts challenges that suit. */
        public Builder acceptChallenges(boolean value) {
            acceptChallenges = value;
            return this;
        }

        /** Sets whether it accepts open seeks of others that suit. */
        public Builder acceptSeeks(boolean value) {
            acceptSeeks = value;
            return this;
        }

        /** Sets the terms of seeks to keep open. */
        public Builder seeks(List<Terms> values) {
            seeks = List.copyOf(values);
            return this;
        }

        /** Sets whether it enters tournaments that suit. */
        public Builder enterTournaments(boolean value) {
            enterTournaments = value;
            return this;
        }

        /** Sets its capabilities beyond the first version of the protocol. */
        public Builder capabilities(String... values) {
            capabilities = List.of(values);
            return this;
        }

        /** Sets the optional content of its turns. */
        public Builder extras(Extras value) {
            extras = value;
            return this;
        }

        /** Returns the profile. */
        public Profile build() {
            return new Profile(
                    name,
                    version,
                    games,
                    timeControls,
                    opponents,
                    mostMatches,
                    acceptChallenges,
                    acceptSeeks,
                    seeks,
                    enterTournaments,
                    capabilities,
                    extras);
        }
    }
}
