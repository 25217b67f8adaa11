package arbiter.client;

import arbiter.v1.AcceptChallengeRequest;
import arbiter.v1.Challenge;
import arbiter.v1.CreateChallengeRequest;
import arbiter.v1.CreateSeekRequest;
import arbiter.v1.DeclineChallengeRequest;
import arbiter.v1.EnterTournamentRequest;
import arbiter.v1.Entrant;
import arbiter.v1.GameServiceGrpc;
import arbiter.v1.GameSummary;
import arbiter.v1.GetGameRequest;
import arbiter.v1.GetGameResponse;
import arbiter.v1.GetMatchRequest;
import arbiter.v1.GetPlayerRequest;
import arbiter.v1.GetPlayerResponse;
import arbiter.v1.GetRatingRequest;
import arbiter.v1.GetRatingResponse;
import arbiter.v1.GetServerInfoRequest;
import arbiter.v1.GetServerInfoResponse;
import arbiter.v1.GetStandingsRequest;
import arbiter.v1.GetStandingsResponse;
import arbiter.v1.GetTournamentRequest;
import arbiter.v1.LegalMove;
import arbiter.v1.LegalMovesRequest;
import arbiter.v1.ListChallengesRequest;
import arbiter.v1.ListGamesRequest;
import arbiter.v1.ListTournamentsRequest;
import arbiter.v1.Match;
import arbiter.v1.MatchPly;
import arbiter.v1.MatchServiceGrpc;
import arbiter.v1.ObserveAll;
import arbiter.v1.ObserveMatch;
import arbiter.v1.ObserveRequest;
import arbiter.v1.PlayMovesRequest;
import arbiter.v1.PlayMovesResponse;
import arbiter.v1.PlayerServiceGrpc;
import arbiter.v1.RatingServiceGrpc;
import arbiter.v1.RegisterPlayerRequest;
import arbiter.v1.RegisterPlayerResponse;
import arbiter.v1.ServerServiceGrpc;
import arbiter.v1.Terms;
import arbiter.v1.Tournament;
import arbiter.v1.TournamentServiceGrpc;
import arbiter.v1.TournamentSummary;
import arbiter.v1.WithdrawFromTournamentRequest;
import io.grpc.Channel;
import io.grpc.stub.AbstractBlockingStub;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * A client of one arbiter, for any number of threads: every call but the Play stream. A call blocks; it throws
 * ArbiterException where the server refuses, and ConnectionFailedException where none answers. A list has at most as many
 * items as the caller says. For calls that have no method here, {@link #ask} has the stubs of the protocol.
 */
public final class Client implements AutoCloseable {
    private static final int LONGEST_PAGE = 1_000;
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private final Connection connection;

    /** Connects, at the first call. Throws ConnectionFailedException for a wrong address, CredentialsException. */
    public Client(Options options) {
        List<String> addresses = options.addresses();
        String token = options.givenToken();
        if (token == null && !options.player().isEmpty()) {
            token = options.file().find(String.join(",", addresses), options.player()).orElse(null);
        }
        Tls tls = options.tls == null ? Tls.fromEnvironment() : options.tls;
        Duration patience = options.patience == null ? PATIENCE : options.patience;
        connection = new Connection(addresses, token == null ? "" : token, tls, options.timeout, patience);
    }

    Connection connection() {
        return connection;
    }

    /** Returns the address in use, HOST:PORT. */
    public String server() {
        return connection.addresses.current();
    }

    /** Returns all addresses, with commas between them. */
    String servers() {
        return String.join(",", connection.addresses.listed);
    }

    /** Returns the channel, which carries the token; for stubs of one's own. It is another one after a lost connection. */
    public Channel channel() {
        return connection.way().channel();
    }

    /** Closes the connection; calls under way end. */
    @Override
    public void close() {
        connection.close();
    }

    /**
     * Makes any call of the protocol, such as {@code ask(RatingServiceGrpc::newBlockingStub, stub ->
     * stub.getLeaderboard(request))}, and repeats it if the server could not be reached, so the request must be
     * repeatable.
     */
    public <S extends AbstractBlockingStub<S>, A> A ask(Function<Channel, S> stub, Function<S, A> call) {
        return connection.ask(stub, true, call);
    }

    // ---- the server, games and their rules -------------------------------------------------------------------------

    /** Returns the server's versions, capabilities, limits and public keys. */
    public GetServerInfoResponse serverInfo() {
        return ask(
                ServerServiceGrpc::newBlockingStub,
                stub -> stub.getServerInfo(GetServerInfoRequest.getDefaultInstance()));
    }

    /** Returns the games, in the server's order. */
    public List<GameSummary> listGames() {
        return collect(Integer.MAX_VALUE, (size, token) -> {
            var request = ListGamesRequest.newBuilder().setPageSize(size).setPageToken(token).build();
            var page = ask(GameServiceGrpc::newBlockingStub, stub -> stub.listGames(request));
            return new Page<>(page.getGamesList(), page.getNextPageToken());
        });
    }

    /** Returns everything about one variant, such as {@code pods(size=5)}. Refusals: GAME_UNKNOWN, PARAMETER_INVALID. */
    public GetGameResponse getGame(String game) {
        var request = GetGameRequest.newBuilder().setGame(game).build();
        return ask(GameServiceGrpc::newBlockingStub, stub -> stub.getGame(request));
    }

    /**
     * Returns the legal moves at the end of a line of play, in bytewise order. Refusals: GAME_UNKNOWN, PARAMETER_INVALID,
     * POSITION_MALFORMED, MOVE_MALFORMED, MOVE_ILLEGAL (fact ply: which move of the line), BUDGET_SPENT.
     */
    public List<LegalMove> legalMoves(Line line) {
        return legalMoves(LegalMovesRequest.newBuilder().setLine(line.message()).build());
    }

    /** Returns the legal moves in a match at a ply, in bytewise order. Refusals: MATCH_NOT_FOUND, PLY_MISMATCH. */
    public List<LegalMove> legalMoves(String matchId, int ply) {
        var at = MatchPly.newBuilder().setMatchId(matchId).setPly(ply);
        return legalMoves(LegalMovesRequest.newBuilder().setMatch(at).build());
    }

    /** Returns the legal moves that a request asks for, of all chunks of the answer. */
    public List<LegalMove> legalMoves(LegalMovesRequest request) {
        return ask(GameServiceGrpc::newBlockingStub, stub -> {
            List<LegalMove> moves = new ArrayList<>();
            stub.legalMoves(request).forEachRemaining(chunk -> moves.addAll(chunk.getMovesList()));
            return moves;
        });
    }

    /** Plays a line; returns the positions from a ply on, and the outcome. Refusals: as for legalMoves of a line. */
    public PlayMovesResponse playMoves(Line line, int fromPly, boolean withBoard) {
        var request = PlayMovesRequest.newBuilder()
                .setLine(line.message())
                .setFromPly(fromPly)
                .setWithBoard(withBoard)
                .build();
        return ask(GameServiceGrpc::newBlockingStub, stub -> stub.playMoves(request));
    }

    // ---- matches ---------------------------------------------------------------------------------------------------

    /** Returns the current state of a match. Refusals: MATCH_NOT_FOUND. */
    public Match getMatch(String matchId, boolean withMoves) {
        var request = GetMatchRequest.newBuilder().setMatchId(matchId).setWithMoves(withMoves).build();
        return ask(MatchServiceGrpc::newBlockingStub, stub -> stub.getMatch(request)).getMatch();
    }

    /** Watches a match after a revision, up to its end. Refusals, at its items: MATCH_NOT_FOUND. */
    public Observation observe(String matchId, long afterRevision) {
        var match = ObserveMatch.newBuilder().setMatchId(matchId).setAfterRevision(afterRevision);
        return new Observation(connection, ObserveRequest.newBuilder().setMatch(match).build());
    }

    /**
     * Watches every match and tournament after a token; an empty one starts now, "0" at the beginning of the record. A
     * label that is not empty leaves only what bears it; the id of a tournament leaves that and its matches.
     */
    public Observation observeAll(String afterToken, String label) {
        var all = ObserveAll.newBuilder().setAfterToken(afterToken).setLabel(label);
        return new Observation(connection, ObserveRequest.newBuilder().setAll(all).build());
    }

    // ---- players and challenges ------------------------------------------------------------------------------------

    /** Makes a player and its first token. Refusals: PLAYER_EXISTS, REGISTRATION_CLOSED, ARGUMENT_INVALID. */
    public RegisterPlayerResponse registerPlayer(String name, String about, String invitation) {
        var request = RegisterPlayerRequest.newBuilder()
                .setName(name)
                .setAbout(about)
                .setInvitation(invitation)
                .build();
        return connection.ask(PlayerServiceGrpc::newBlockingStub, false, stub -> stub.registerPlayer(request));
    }

    /** Returns the caller, and the rights of its token. Refusals: TOKEN_INVALID. */
    public GetPlayerResponse myself() {
        return ask(PlayerServiceGrpc::newBlockingStub, stub -> stub.getPlayer(GetPlayerRequest.getDefaultInstance()));
    }

    /**
     * Returns the ratings of a player's versions, the newest first, in a variant; with an empty one, in all games together.
     * A player without rated games has none. Refusals: PLAYER_NOT_FOUND, GAME_UNKNOWN, PARAMETER_INVALID.
     */
    public GetRatingResponse getRating(String player, String game) {
        var request = GetRatingRequest.newBuilder().setPlayer(player).setGame(game).build();
        return ask(RatingServiceGrpc::newBlockingStub, stub -> stub.getRating(request));
    }

    /** Challenges a player. Refusals: PLAYER_NOT_FOUND, PLAYER_SUSPENDED, GAME_UNKNOWN, PARAMETER_INVALID. */
    public Challenge createChallenge(String opponent, Terms terms) {
        var request = CreateChallengeRequest.newBuilder()
                .setRequestId(newRequestId())
                .setOpponent(opponent)
                .setTerms(terms)
                .build();
        return ask(PlayerServiceGrpc::newBlockingStub, stub -> stub.createChallenge(request)).getChallenge();
    }

    /** Accepts a challenge to the caller, or any seek; returns the match. Refusals: CHALLENGE_NOT_FOUND. */
    public Match acceptChallenge(String challengeId) {
        var request = AcceptChallengeRequest.newBuilder().setChallengeId(challengeId).build();
        return ask(PlayerServiceGrpc::newBlockingStub, stub -> stub.acceptChallenge(request)).getMatch();
    }

    /** Declines a challenge, or withdraws the caller's own challenge or seek. Refusals: CHALLENGE_NOT_FOUND. */
    public void declineChallenge(String challengeId, String reason) {
        var request = DeclineChallengeRequest.newBuilder()
                .setChallengeId(challengeId)
                .setReason(reason)
                .build();
        ask(PlayerServiceGrpc::newBlockingStub, stub -> stub.declineChallenge(request));
    }

    /**
     * Makes a challenge that any player may accept; the first gets the match. Refusals: GAME_UNKNOWN,
     * PARAMETER_INVALID.
     */
    public Challenge createSeek(Terms terms) {
        var request = CreateSeekRequest.newBuilder().setRequestId(newRequestId()).setTerms(terms).build();
        return ask(PlayerServiceGrpc::newBlockingStub, stub -> stub.createSeek(request)).getSeek();
    }

    /** Returns the open challenges to and by the caller, and all open seeks, oldest first. */
    public List<Challenge> listChallenges(int most) {
        return collect(most, (size, token) -> {
            var request = ListChallengesRequest.newBuilder().setPageSize(size).setPageToken(token).build();
            var page = ask(PlayerServiceGrpc::newBlockingStub, stub -> stub.listChallenges(request));
            return new Page<>(page.getChallengesList(), page.getNextPageToken());
        });
    }

    // ---- tournaments -----------------------------------------------------------------------------------------------

    /** Returns the newest tournaments. */
    public List<TournamentSummary> listTournaments(int most) {
        return collect(most, (size, token) -> {
            var request = ListTournamentsRequest.newBuilder().setPageSize(size).setPageToken(token).build();
            var page = ask(TournamentServiceGrpc::newBlockingStub, stub -> stub.listTournaments(request));
            return new Page<>(page.getTournamentsList(), page.getNextPageToken());
        });
    }

    /** Returns the current state of a tournament. Refusals: TOURNAMENT_NOT_FOUND. */
    public Tournament getTournament(String tournamentId) {
        var request = GetTournamentRequest.newBuilder().setTournamentId(tournamentId).build();
        return ask(TournamentServiceGrpc::newBlockingStub, stub -> stub.getTournament(request)).getTournament();
    }

    /** Enters a tournament. Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED. */
    public Entrant enterTournament(String tournamentId) {
        var request = EnterTournamentRequest.newBuilder()
                .setRequestId(newRequestId())
                .setTournamentId(tournamentId)
                .build();
        return ask(TournamentServiceGrpc::newBlockingStub, stub -> stub.enterTournament(request)).getEntrant();
    }

    /** Withdraws from a tournament. Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED. */
    public Entrant withdrawFromTournament(String tournamentId) {
        var request = WithdrawFromTournamentRequest.newBuilder()
                .setRequestId(newRequestId())
                .setTournamentId(tournamentId)
                .build();
        return ask(TournamentServiceGrpc::newBlockingStub, stub -> stub.withdrawFromTournament(request))
                .getEntrant();
    }

    /** Returns the current standings of a tournament. Refusals: TOURNAMENT_NOT_FOUND. */
    public GetStandingsResponse getStandings(String tournamentId) {
        var request = GetStandingsRequest.newBuilder().setTournamentId(tournamentId).build();
        return ask(TournamentServiceGrpc::newBlockingStub, stub -> stub.getStandings(request));
    }

    // ---- pages -----------------------------------------------------------------------------------------------------

    private record Page<V>(List<V> values, String next) {}

    /** Returns up to {@code most} values from as many pages as necessary; {@code ask} takes a page's size and token. */
    private static <V> List<V> collect(int most, BiFunction<Integer, String, Page<V>> ask) {
        List<V> found = new ArrayList<>();
        String token = "";
        while (found.size() < most) {
            Page<V> page = ask.apply(Math.min(most - found.size(), LONGEST_PAGE), token);
            found.addAll(page.values());
            token = page.next();
            if (token.isEmpty()) {
                break;
            }
        }
        return found.size() > most ? List.copyOf(found.subList(0, most)) : found;
    }

    private static String newRequestId() {
        return UUID.randomUUID().toString();
    }
}
