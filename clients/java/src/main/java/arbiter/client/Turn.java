package arbiter.client;

import arbiter.v1.CellContent;
import arbiter.v1.Clock;
import arbiter.v1.LegalMove;
import arbiter.v1.RecentMove;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;

/** The bot is to move. */
public final class Turn {
    private final arbiter.v1.Turn message;
    private final LiveMatch match;
    private final List<String> moves;
    private final Client client;
    private final long receivedNs;
    private final BooleanSupplier over;
    private final ArbiterException refused;

    Turn(
            arbiter.v1.Turn message,
            LiveMatch match,
            List<String> moves,
            Client client,
            long receivedNs,
            BooleanSupplier over,
            ArbiterException refused) {
        this.message = message;
        this.match = match;
        this.moves = moves;
        this.client = client;
        this.receivedNs = receivedNs;
        this.over = over;
        this.refused = refused;
    }

    /** Returns the same turn after a choice for it was refused. */
    Turn after(ArbiterException refusal, BooleanSupplier overNow) {
        return new Turn(message, match, moves, client, receivedNs, overNow, refusal);
    }

    /** Returns the match. */
    public LiveMatch match() {
        return match;
    }

    /** Returns the canonical variant. */
    public String game() {
        return message.getGame();
    }

    /** Returns the bot's seat: the one to move. */
    public int seat() {
        return message.getSeat();
    }

    /** Returns how many moves have been played. */
    public int ply() {
        return message.getPly();
    }

    /** Returns the position's text. */
    public String position() {
        return message.getPosition();
    }

    /** Returns the opponent's name. */
    public String opponent() {
        return message.getOpponent();
    }

    /** Returns all moves up to this turn. */
    public List<String> moves() {
        return moves;
    }

    /** Returns the last moves: at least those since the bot's last turn. */
    public List<RecentMove> lastMoves() {
        return message.getLastMovesList();
    }

    /** Returns the line of play that leads to this turn, to ask the server about. */
    public Line line() {
        return new Line(game(), match.startPosition(), moves);
    }

    /** Returns the clocks, by seat; empty without a time control. */
    public List<Clock> clocks() {
        return message.getClocksList();
    }

    /** Returns the reason for which the bot may claim a draw; empty if it may not. */
    public String drawClaim() {
        return message.getDrawClaim();
    }

    /** Returns whether the opponent's draw offer stands. */
    public boolean drawOffered() {
        return message.getDrawOffered();
    }

    /** Returns the board, cell by cell, if the bot's extras ask for it. */
    public List<CellContent> board() {
        return message.getBoardList();
    }

    /** Returns the number of legal moves, if the bot's extras ask for it and it is known. */
    public OptionalLong legalMoveCount() {
        return message.hasLegalMoveCount() ? OptionalLong.of(message.getLegalMoveCount()) : OptionalLong.empty();
    }

    /**
     * Returns the legal moves in bytewise order: those in the turn, or else the server's answer.
     *
     * @throws ArbiterException if the server refuses
     * @throws ConnectionFailedException if it does not answer; the bot is asked for its choice again if it lets this pass
     */
    public List<LegalMove> legalMoves() {
        return message.getLegalMovesCount() > 0
                ? message.getLegalMovesList()
                : client.legalMoves(message.getMatchId(), message.getPly());
    }

    /** Returns how long the bot may still think, from now, before its flag falls; empty without a limit. */
    public Optional<Duration> timeLeft() {
        if (message.getAvailableMs() == 0) {
            return Optional.empty();
        }
        Duration thought = Duration.ofMillis(message.getNowMs() - message.getStartedMs())
                .plusNanos(System.nanoTime() - receivedNs);
        Duration left = Duration.ofMillis(message.getAvailableMs()).minus(thought);
        return Optional.of(left.isNegative() ? Duration.ZERO : left);
    }

    /** Returns how long to think for this move, as {@link #thinkTime(int, int)} does, where nothing else is known. */
    public Optional<Duration> thinkTime() {
        return thinkTime(ThinkTime.EXPECTED_PLIES, 1);
    }

    /**
     * Returns how long to think for this move from now; empty without a time limit. clients/README.md has the rules.
     *
     * @param expectedPlies to the end of the game, of both players
     * @param matches how many think in this process
     */
    public Optional<Duration> thinkTime(int expectedPlies, int matches) {
        return timeLeft().map(left -> {
            boolean known = clocks().size() >= seat();
            Clock clock = known ? clocks().get(seat() - 1) : Clock.getDefaultInstance();
            double leftMs = left.toNanos() / 1e6;
            double mainMs = known ? Math.min(leftMs, clock.getRemainingMs()) : leftMs;
            double ms = ThinkTime.thinkTimeMs(
                    match.timeControl(), leftMs, mainMs, clock.getMovesLeft(), expectedPlies, matches);
            return Duration.ofNanos((long) (ms * 1e6));
        });
    }

    /** Returns how long ago the turn arrived. */
    Duration age() {
        return Duration.ofNanos(System.nanoTime() - receivedNs);
    }

    /** Returns whether this choice is not needed any more, so that a long search may end; its thread is interrupted. */
    public boolean over() {
        return over.getAsBoolean();
    }

    /** Returns why the bot's first choice for this turn was refused, when it is asked again. */
    public Optional<ArbiterException> refused() {
        return Optional.ofNullable(refused);
    }

    /** Returns the client, for questions to the server. */
    public Client client() {
        return client;
    }

    /** Returns the turn as the protocol has it. */
    public arbiter.v1.Turn message() {
        return message;
    }
}
