package arbiter.client;

import arbiter.v1.Acknowledgement;
import arbiter.v1.AnswerDrawAct;
import arbiter.v1.Match;
import arbiter.v1.MatchEnded;
import arbiter.v1.MoveAnswer;
import arbiter.v1.Phase;
import arbiter.v1.PlayAct;
import arbiter.v1.PlayItem;
import arbiter.v1.ReadyAct;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The bot's side of its stream: items of the server become calls of the bot, and their results become acts. In the
 * loop.
 */
final class Runner {
    private static final Logger LOG = System.getLogger("arbiter.client");
    private static final long REPEAT_MS = 500; // after a refusal that passes and does not say when
    private static final int SEATS = 2;
    private static final Set<Reason> STALE =
            Set.of(Reason.PLY_MISMATCH, Reason.NOT_YOUR_TURN, Reason.MATCH_NOT_ACTIVE);

    /** The end of a match, to be acknowledged once the bot has handled it. */
    private static final class End {
        final String cursor;
        final boolean news;
        boolean told;

        End(String cursor, boolean news) {
            this.cursor = cursor;
            this.news = news;
            this.told = !news;
        }
    }

    private final Caller caller;
    private final Outbox outbox;
    private final Slots slots;
    private final Policies policies;
    private final Thinking thinking;
    private final long mostEnded;
    private final Consumer<FinishedMatch> atEnd;
    private final Map<String, Map<Integer, Seat>> seats = new HashMap<>(); // by match and number
    private final Map<String, Seat> asked = new HashMap<>(); // by the id of the request that the seat waits for
    private final Deque<End> ends = new ArrayDeque<>();
    private String player = "";
    private long countEnded;

    /** The run is done after as many matches as the options say. */
    Runner(Caller caller, Client client, Outbox outbox, Slots slots, Policies policies, Options options) {
        this.caller = caller;
        this.outbox = outbox;
        this.slots = slots;
        this.policies = policies;
        this.mostEnded = options.matches;
        this.atEnd = options.atEnd;
        this.thinking = new Thinking(caller, client, options.thinkers, this::act);
        slots.onChange(this::endIfDone);
    }

    /** Begins a new stream of a player. */
    void greeted(String name) {
        player = name;
        policies.greeted(name);
    }

    /** Handles an item of the stream; unknown items are ignored. */
    void take(PlayItem item) {
        switch (item.getItemCase()) {
            case MATCH -> onMatch(item.getMatch());
            case TURN -> onTurn(item.getTurn());
            case ANSWER -> onAnswer(item.getAnswer());
            case ENDED -> onEnded(item.getEnded());
            case DRAW_OFFERED ->
                    List.copyOf(seats.getOrDefault(item.getDrawOffered().getMatchId(), Map.of()).values())
                            .forEach(this::answerOffer);
            default -> policies.take(item);
        }
    }

    /** Tells the running choices of all matches that their results are not needed any more. */
    void stopThinking() {
        seats.values().forEach(ofMatch -> ofMatch.values().forEach(seat -> {
            seat.match.end();
            thinking.drop(seat);
        }));
    }

    // ---- matches ---------------------------------------------------------------------------------------------------

    private void onMatch(Match match) {
        boolean over = match.getPhase() == Phase.PHASE_ENDED || slots.isOver(match.getMatchId());
        if (over || match.getPlayersCount() != SEATS) {
            return;
        }
        List<CompletableFuture<Void>> begun = new ArrayList<>();
        for (int number = 1; number <= SEATS; number++) {
            if (!match.getPlayers(number - 1).equals(player)) {
                continue;
            }
            Seat seat = sit(match.getMatchId(), match.getGame(), number, match.getPlayers(SEATS - number));
            seat.match.learn(match);
            int played = match.getPly() - match.getOpeningPlies();
            seat.goesOn = played > 1 || (played == 1 && match.getTurn() != number); // the bot has moved in it
            begun.add(begin(seat));
            if (match.getDrawOfferedBy() != 0 && match.getDrawOfferedBy() != number) {
                answerOffer(seat);
            }
        }
        if (!begun.isEmpty() && (match.getPhase() == Phase.PHASE_PENDING || match.getPhase() == Phase.PHASE_PAUSED)) {
            CompletableFuture.allOf(begun.toArray(CompletableFuture[]::new))
                    .thenRun(() -> sayReady(match.getMatchId()));
        }
    }

    /** Says that the bot is ready for a match, after {@code started}: no clock of the match starts before. */
    private void sayReady(String matchId) {
        if (seats.containsKey(matchId)) {
            outbox.say(PlayAct.newBuilder()
                    .setMatchId(matchId)
                    .setReady(ReadyAct.getDefaultInstance())
                    .build());
        }
    }

    private Seat sit(String matchId, String game, int number, String opponent) {
        Map<Integer, Seat> ofMatch = seats.computeIfAbsent(matchId, any -> new TreeMap<>());
        Seat seat = ofMatch.get(number);
        if (seat == null) {
            seat = new Seat(new LiveMatch(matchId, game, number, opponent));
            ofMatch.put(number, seat);
            slots.begun(matchId);
        }
        return seat;
    }

    /** Tells the bot that a match has started, if it does not know; the returned future is done after that. */
    private CompletableFuture<Void> begin(Seat seat) {
        if (seat.begun == null) {
            CompletableFuture<Void> begun = new CompletableFuture<>();
            seat.begun = begun;
            LiveMatch match = seat.match;
            String how = seat.goesOn ? " goes on: " : " begins: ";
            LOG.log(Level.INFO, match.matchId() + how + match.game() + " as seat " + match.seat() + " against "
                    + match.opponent());
            Callable<Void> telling = () -> {
                caller.bot.started(seat.match);
                return null;
            };
            caller.callback("started", telling, null, begun::complete);
        }
        return seat.begun;
    }

    private void onEnded(MatchEnded message) {
        Map<Integer, Seat> gone = seats.remove(message.getMatchId());
        Map<Integer, Seat> own = gone == null ? Map.of() : gone;
        for (Seat seat : own.values()) {
            seat.match.end();
            thinking.drop(seat);
        }
        List<String> obsolete = new ArrayList<>();
        asked.forEach((id, seat) -> {
            if (own.containsValue(seat)) {
                obsolete.add(id);
            }
        });
        obsolete.forEach(this::settled);
        End end = new End(message.getCursor(), slots.ended(message.getMatchId()));
        ends.add(end);
        if (end.news) {
            Seat seat = own.get(message.getSeat());
            FinishedMatch finished = FinishedMatch.of(message, seat == null ? null : seat.match);
            LOG.log(Level.INFO, finished.matchId() + " has ended: " + told(finished));
            Callable<Void> telling = () -> {
                caller.bot.ended(finished);
                atEnd.accept(finished);
                return null;
            };
            caller.callback("ended", telling, null, nothing -> {
                end.told = true;
                acknowledge();
            });
        }
        acknowledge();
    }

    private static String told(FinishedMatch finished) {
        double score = finished.score().orElse(-1);
        String how = score < 0 ? "it does not count" : score == 1 ? "won" : score == 0 ? "lost" : "drawn";
        return how + ", by " + finished.result().getReason();
    }

    /** Acknowledges results in their order, each once the bot has handled it and all before it. */
    private void acknowledge() {
        while (!ends.isEmpty() && ends.peek().told) {
            End end = ends.remove();
            outbox.say(PlayAct.newBuilder()
                    .setAcknowledge(Acknowledgement.newBuilder().setCursor(end.cursor))
                    .build());
            countEnded += end.news ? 1 : 0;
        }
        endIfDone();
    }

    /** Ends the run if enough matches have ended, and the bot has agreed to no others. */
    private void endIfDone() {
        if (mostEnded > 0 && countEnded >= mostEnded && ends.isEmpty() && slots.playing() == 0) {
            caller.outcome.complete(null);
        }
    }

    // ---- turns -----------------------------------------------------------------------------------------------------

    private void onTurn(arbiter.v1.Turn message) {
        if (slots.isOver(message.getMatchId())) {
            return;
        }
        Seat seat = sit(message.getMatchId(), message.getGame(), message.getSeat(), message.getOpponent());
        if (message.getDrawOffered()) {
            answerOffer(seat);
        }
        if (message.getPly() < seat.nextPly || isDealtWith(seat, message.getPly())) {
            return; // a repeated turn: its choice exists, and has been or will be sent again
        }
        if (seat.thought != null && message.getPly() <= seat.thought.ply) {
            return; // a repeated turn: its choice is under way
        }
        thinking.think(seat, message, begin(seat));
    }

    /**
     * Returns whether the unanswered act of a seat answers the turn at a ply. A move for an earlier ply does not: that
     * move has been played, since otherwise this turn would not exist, and its answer is on the way.
     */
    private boolean isDealtWith(Seat seat, int ply) {
        PlayAct act = outbox.unanswered(seat.requestId);
        return act != null && !(act.hasMove() && act.getMove().getPly() < ply);
    }

    /** Sends the choice of a bot for a turn; {@code turn} may be null for a resignation. */
    private void act(Seat seat, Turn turn, Acts acts) {
        for (PlayAct.Builder before : acts.before()) {
            request(seat, before);
        }
        seat.turn = turn;
        seat.requestId = request(seat, acts.answer());
    }

    private String request(Seat seat, PlayAct.Builder act) {
        String id = outbox.request(act.setMatchId(seat.match.matchId()));
        asked.put(id, seat);
        return id;
    }

    // ---- answers ---------------------------------------------------------------------------------------------------

    private void onAnswer(MoveAnswer answer) {
        PlayAct act = outbox.unanswered(answer.getRequestId());
        if (act == null) {
            return; // answered before
        }
        if (answer.hasRefusal()) {
            onRefusal(act, Errors.of(answer.getRefusal()));
            return;
        }
        Seat seat = settled(answer.getRequestId());
        if (seat == null || !act.hasMove()) {
            return;
        }
        int ply = act.getMove().getPly();
        seat.nextPly = Math.max(seat.nextPly, ply + 1);
        seat.offerAnswered = false; // a move ends the opponent's offer
        if (seat.match.moves().size() == ply && answer.getReceipt().getPly() == ply + 1) {
            List<String> moves = new ArrayList<>(seat.match.moves());
            moves.add(act.getMove().getMove());
            seat.match.moved(List.copyOf(moves));
        }
    }

    /** Marks a request as answered; returns the seat that made it, or null if its match is over. */
    private Seat settled(String requestId) {
        outbox.answered(requestId);
        Seat seat = asked.remove(requestId);
        return seat == null || seat.match.over() ? null : seat;
    }

    private void onRefusal(PlayAct act, ArbiterException refusal) {
        if (refusal.temporary()) {
            long pauseMs = refusal.retryAfterMs() > 0 ? refusal.retryAfterMs() : REPEAT_MS;
            caller.later(pauseMs, () -> outbox.again(act.getRequestId()));
            return;
        }
        Seat seat = settled(act.getRequestId());
        String what = act.getActCase().name().toLowerCase(java.util.Locale.ROOT);
        if (seat == null || STALE.contains(refusal.reason())) {
            LOG.log(Level.DEBUG, what + " came too late: " + refusal.getMessage());
            return;
        }
        LOG.log(Level.WARNING, what + " refused in match " + act.getMatchId() + ": " + refusal.getMessage());
        boolean answersTurn = act.hasMove() || act.hasClaimDraw();
        if (answersTurn && seat.turn != null && seat.requestId.equals(act.getRequestId())) {
            caller.hook(hooks -> hooks.refused(seat.turn, refusal));
            thinking.thinkAgain(seat, seat.turn, refusal);
        }
    }

    // ---- draws -----------------------------------------------------------------------------------------------------

    private void answerOffer(Seat seat) {
        if (seat.offerAnswered) {
            return;
        }
        seat.offerAnswered = true;
        DrawOffer offer = new DrawOffer(seat.match);
        caller.callback("drawOffered", () -> caller.bot.drawOffered(offer), false, accept -> {
            if (!seat.match.over()) {
                request(seat, PlayAct.newBuilder().setAnswerDraw(AnswerDrawAct.newBuilder().setAccept(accept)));
            }
        });
    }
}
