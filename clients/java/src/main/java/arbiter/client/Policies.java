package arbiter.client;

import arbiter.v1.Challenge;
import arbiter.v1.ChallengeClosed;
import arbiter.v1.GetRatingResponse;
import arbiter.v1.Match;
import arbiter.v1.PlayItem;
import arbiter.v1.TournamentCall;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Consumer;

/**
 * Challenges, open seeks of other players, and tournaments: asks the bot, and carries out its decisions. The bot is
 * never asked twice at once about the same item. A tournament that has refused the bot is not entered again. In the
 * loop.
 */
final class Policies {
    private static final Logger LOG = System.getLogger("arbiter.client");
    private static final int LONGEST_REASON = 200;
    private static final String NO_ROOM = "this bot has agreed to as many matches as it plays";

    private final Caller caller;
    private final Client client;
    private final Slots slots;
    private final Seeking seeker;
    private final Set<String> asked = new HashSet<>(); // ids of the challenges and seeks under consideration
    private final Set<String> refused = new HashSet<>(); // ids of tournaments
    private String player = "";

    Policies(Caller caller, Client client, Slots slots, Seeking seeker) {
        this.caller = caller;
        this.client = client;
        this.slots = slots;
        this.seeker = seeker;
        slots.onChange(seeker::look);
    }

    /** Begins a new stream of a player. */
    void greeted(String name) {
        player = name;
        seeker.greeted(name);
    }

    /** Handles an item of the stream, if it is one of these. */
    void take(PlayItem item) {
        switch (item.getItemCase()) {
            case CHALLENGE -> onChallenge(item.getChallenge());
            case CHALLENGE_CLOSED -> onChallengeClosed(item.getChallengeClosed());
            case SEEK -> onSeek(item.getSeek());
            case TOURNAMENT -> onCall(item.getTournament());
            default -> { } // newer than this client
        }
    }

    private void onChallenge(Challenge challenge) {
        String id = challenge.getChallengeId();
        if (challenge.getChallenger().equals(player) || !asked.add(id)) {
            return;
        }
        Answer failed = Answer.decline("the bot failed to consider it");
        Consumer<ClientException> unanswered = error -> LOG.log(
                Level.WARNING,
                "the challenge of " + challenge.getChallenger() + " can't be answered: " + error.getMessage());
        rated(challenge, unanswered, rating -> caller.callback("challenged", () -> caller.bot.challenged(challenge), failed, answer -> {
            Answer decided = byProfile(answer) ? policy(challenge, rating) : answer;
            if (decided.kind() == Answer.Kind.ACCEPT) {
                accept(id, unanswered, () -> decline(id, NO_ROOM));
            } else {
                String reason = decided.reason() == null ? "" : decided.reason();
                String told = reason.codePointCount(0, reason.length()) <= LONGEST_REASON
                        ? reason
                        : reason.substring(0, reason.offsetByCodePoints(0, LONGEST_REASON));
                ask(id, () -> decline(id, told), nothing -> {}, unanswered);
            }
        }));
    }

    /** Goes on with the rating of a challenger in the game, null for none, if the profile has limits for it. */
    private void rated(Challenge challenge, Consumer<ClientException> failed, Consumer<Double> then) {
        if (!caller.profile.limitsRatings()) {
            then.accept(null);
            return;
        }
        Callable<GetRatingResponse> asking =
                () -> client.getRating(challenge.getChallenger(), challenge.getTerms().getGame());
        caller.call(asking, (answer, error) -> {
            if (error != null) {
                asked.remove(challenge.getChallengeId());
                failed.accept(Errors.of(error, client.server()));
                return;
            }
            then.accept(answer.getVersionsCount() == 0 ? null : answer.getVersions(0).getRating().getValue());
        });
    }

    private Answer policy(Challenge challenge, Double rating) {
        if (!caller.profile.acceptChallenges()) {
            return Answer.decline("this bot accepts no challenges");
        }
        String objection = objection(challenge, rating);
        return objection.isEmpty() ? Answer.ACCEPT : Answer.decline(objection);
    }

    private void onSeek(Challenge seek) {
        String id = seek.getChallengeId();
        boolean own = seek.getChallenger().equals(player);
        if (!caller.profile.acceptSeeks() || own || !asked.add(id)) {
            return;
        }
        Consumer<ClientException> failed = error -> {
            boolean faster = error instanceof ArbiterException no && no.reason() == Reason.CHALLENGE_NOT_FOUND;
            Level level = faster ? Level.DEBUG : Level.WARNING;
            LOG.log(level, "the seek of " + seek.getChallenger() + " can't be accepted: " + error.getMessage());
        };
        rated(seek, failed, rating -> caller.callback("sought", () -> caller.bot.sought(seek), Answer.decline(""), answer -> {
            boolean suits = objection(seek, rating).isEmpty();
            if (byProfile(answer) ? suits : answer.kind() == Answer.Kind.ACCEPT) {
                accept(id, failed, () -> null);
            } else {
                asked.remove(id);
            }
        }));
    }

    /** Accepts a challenge or seek, or calls {@code full} if there is no room for its match. */
    private void accept(String id, Consumer<ClientException> failed, Callable<Void> full) {
        int place = slots.holds(1) ? 1 : 0;
        slots.agreeing(place);
        Callable<Match> accepting = () -> {
            if (place == 1 && seeker.makeRoom()) {
                return client.acceptChallenge(id);
            }
            full.call();
            return null;
        };
        Consumer<Match> accepted = match -> {
            if (match != null) {
                slots.expect(match.getMatchId());
            }
            slots.agreeing(-place);
        };
        ask(id, accepting, accepted, error -> {
            slots.agreeing(-place);
            failed.accept(error);
        });
    }

    private Void decline(String id, String reason) {
        client.declineChallenge(id, reason);
        return null;
    }

    private void onChallengeClosed(ChallengeClosed closed) {
        seeker.closed(closed.getChallengeId(), closed.getMatchId());
        Callable<Void> telling = () -> {
            caller.bot.challengeClosed(closed);
            return null;
        };
        caller.callback("challengeClosed", telling, null, nothing -> {});
    }

    private void onCall(TournamentCall call) {
        String id = call.getTournamentId();
        boolean wanted = caller.profile.enterTournaments() && !call.getEntered() && !refused.contains(id);
        if (!wanted || !asked.add(id)) {
            return;
        }
        caller.callback("called", () -> caller.bot.called(call), Answer.decline(""), answer -> {
            boolean suits = caller.profile.suits(call);
            if (!(byProfile(answer) ? suits : answer.kind() == Answer.Kind.ACCEPT)) {
                asked.remove(id);
                return;
            }
            ask(id, () -> client.enterTournament(id), entered -> {}, error -> {
                if (!error.temporary()) {
                    refused.add(id);
                }
                String name = call.getName().isEmpty() ? id : call.getName();
                LOG.log(Level.WARNING, "the tournament " + name + " can't be entered: " + error.getMessage());
            });
        });
    }

    private String objection(Challenge challenge, Double rating) {
        return slots.left() <= 0
                ? "this bot has as many matches as it plays before it stops"
                : caller.profile.objection(challenge, rating, slots.playing());
    }

    private static boolean byProfile(Answer answer) {
        return answer == null || answer.kind() == Answer.Kind.BY_PROFILE;
    }

    /** Asks the server; afterwards the bot may be asked about the same id again. */
    private <T> void ask(String id, Callable<T> call, Consumer<T> done, Consumer<ClientException> failed) {
        caller.call(call, (value, error) -> {
            asked.remove(id);
            if (error == null) {
                done.accept(value);
            } else {
                failed.accept(Errors.of(error, client.server()));
            }
        });
    }
}
