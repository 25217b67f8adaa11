package arbiter.client;

import arbiter.v1.Challenge;
import arbiter.v1.ClientHello;
import arbiter.v1.Terms;
import arbiter.v1.TournamentCall;
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
 * @param rated whether it plays only rated matches, or only unrated ones; null for both
 * @param seat the seat that challenges and seeks must give it: 1 or 2; 0 for any, and for the lot
 * @param leastRating the lowest rating of a challenger in the game, or null; with such a limit, the client asks for it
 * @param mostRating the highest one, or null
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
        Boolean rated,
        int seat,
        Double leastRating,
        Double mostRating,
        int mostMatches,
        boolean acceptChallenges,
        boolean acceptSeeks,
        List<Terms> seeks,
        boolean enterTournaments,
        List<String> capabilities,
        Extras extras) {
    private static final int SEATS = 2;
    private static final String PROTOCOL_VERSION = "1.0";
    private static final String READY = "ready"; // the client says when its bot is ready for a match
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
        builder.rated = rated;
        builder.seat = seat;
        builder.leastRating = leastRating;
        builder.mostRating = mostRating;
        builder.mostMatches = mostMatches;
        builder.acceptChallenges = acceptChallenges;
        builder.acceptSeeks = acceptSeeks;
        builder.seeks = seeks;
        builder.enterTournaments = enterTournaments;
        builder.capabilities = capabilities;
        builder.extras = extras;
        return builder;
    }

    /** Returns the profile without what looks for other matches. */
    Profile atHome() {
        Builder builder = named(name).version(version).acceptChallenges(false);
        builder.capabilities = capabilities;
        return builder.extras(extras).build();
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

    /** Returns whether a tournament suits: its games, its time control, and whether it is rated. */
    boolean suits(TournamentCall call) {
        boolean suitsRated = rated == null || rated == call.getRated();
        return suitsRated && call.getGamesList().stream().allMatch(this::plays) && playsAt(call.getTimeControl());
    }

    /** Returns whether it depends on a challenger's rating whether the profile excludes a challenge. */
    boolean limitsRatings() {
        return leastRating != null || mostRating != null;
    }

    /**
     * Returns why a bot with so many matches does not accept a challenge or seek of a player with a rating in the game, null
     * if it has none; empty if it may.
     */
    String objection(Challenge challenge, Double rating, int playing) {
        Terms terms = challenge.getTerms();
        if (!plays(terms.getGame())) {
            return "this bot plays " + String.join(", ", games);
        }
        if (!playsAt(terms.getTimeControl())) {
            return "this bot plays at " + String.join(", ", timeControls);
        }
        if (rated != null && rated != terms.getRated()) {
            return "this bot plays " + (rated ? "rated" : "unrated") + " matches only";
        }
        if (seat != 0 && terms.getSeat() != SEATS + 1 - seat) {
            return "this bot plays as seat " + seat + " only";
        }
        if (!opponents.isEmpty() && !opponents.contains(challenge.getChallenger())) {
            return "this bot plays against " + String.join(", ", opponents);
        }
        if (leastRating != null && (rating == null || rating < leastRating)) {
            return "this bot plays against ratings of at least " + plain(leastRating);
        }
        if (mostRating != null && (rating == null || rating > mostRating)) {
            return "this bot plays against ratings of at most " + plain(mostRating);
        }
        if (mostMatches > 0 && playing >= mostMatches) {
            return "this bot plays " + mostMatches + " matches at once, and is playing them";
        }
        return "";
    }

    private static String plain(double number) {
        return number == Math.rint(number) ? String.valueOf((long) number) : String.valueOf(number);
    }

    ClientHello hello() {
        return ClientHello.newBuilder()
                .setProtocolVersion(PROTOCOL_VERSION)
                .setSoftware(SOFTWARE)
                .setSoftwareVersion(SOFTWARE_VERSION)
                .setBotName(name)
                .setBotVersion(version)
                .addCapabilities(READY)
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
        private Boolean rated;
        private int seat;
        private Double leastRating;
        private Double mostRating;
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

        /** Sets whether it plays only rated matches, or only unrated ones. */
        public Builder rated(boolean value) {
            rated = value;
            return this;
        }

        /** Sets the seat that challenges and seeks must give it. */
        public Builder seat(int value) {
            seat = value;
            return this;
        }

        /** Sets the lowest rating of a challenger. */
        public Builder leastRating(double value) {
            leastRating = value;
            return this;
        }

        /** Sets the highest rating of a challenger. */
        public Builder mostRating(double value) {
            mostRating = value;
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
                    rated,
                    seat,
                    leastRating,
                    mostRating,
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
