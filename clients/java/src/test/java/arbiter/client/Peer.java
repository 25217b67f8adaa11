package arbiter.client;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import arbiter.v1.AcceptChallengeRequest;
import arbiter.v1.AcceptChallengeResponse;
import arbiter.v1.Challenge;
import arbiter.v1.ChallengeClosed;
import arbiter.v1.CreateSeekRequest;
import arbiter.v1.CreateSeekResponse;
import arbiter.v1.DeclineChallengeRequest;
import arbiter.v1.DeclineChallengeResponse;
import arbiter.v1.Estimate;
import arbiter.v1.GetMatchRequest;
import arbiter.v1.GetMatchResponse;
import arbiter.v1.GetRatingRequest;
import arbiter.v1.GetRatingResponse;
import arbiter.v1.LeaderboardRow;
import arbiter.v1.ListChallengesRequest;
import arbiter.v1.ListChallengesResponse;
import arbiter.v1.Match;
import arbiter.v1.MatchEnded;
import arbiter.v1.MatchServiceGrpc.MatchServiceImplBase;
import arbiter.v1.ObserveRequest;
import arbiter.v1.ObserveResponse;
import arbiter.v1.Phase;
import arbiter.v1.PlayAct;
import arbiter.v1.PlayItem;
import arbiter.v1.PlayRequest;
import arbiter.v1.PlayResponse;
import arbiter.v1.PlayServiceGrpc.PlayServiceImplBase;
import arbiter.v1.PlayerServiceGrpc.PlayerServiceImplBase;
import arbiter.v1.RatingServiceGrpc.RatingServiceImplBase;
import arbiter.v1.Refusal;
import arbiter.v1.RefusalReason;
import arbiter.v1.ServerHello;
import arbiter.v1.Turn;
import com.google.protobuf.Any;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;

/** A server that says what the test has it say, where a real arbiter can't be made to. */
final class Peer implements AutoCloseable {
    static final long SOON_S = 600; // only a test that hangs takes that long, however busy the machine

    /** A Play stream that a bot has opened. */
    static final class Stream implements StreamObserver<PlayRequest> {
        private final StreamObserver<PlayResponse> said;
        private final BlockingQueue<PlayAct> received = new LinkedBlockingQueue<>();
        final BlockingQueue<String> ended = new LinkedBlockingQueue<>();

        Stream(StreamObserver<PlayResponse> said) {
            this.said = said;
        }

        @Override
        public void onNext(PlayRequest request) {
            received.addAll(request.getActsList());
        }

        @Override
        public void onError(Throwable error) {
            ended.add("lost");
        }

        @Override
        public void onCompleted() {
            ended.add("completed");
            said.onCompleted();
        }

        void say(PlayItem.Builder... items) {
            PlayResponse.Builder response = PlayResponse.newBuilder();
            List.of(items).forEach(response::addItems);
            said.onNext(response.build());
        }

        /** Reads the bot's hello, and answers. */
        PlayAct meet() throws InterruptedException {
            PlayAct hello = read();
            say(PlayItem.newBuilder()
                    .setHello(ServerHello.newBuilder().setPlayer("alice").setSilenceMostMs(20_000)));
            return hello;
        }

        PlayAct read() throws InterruptedException {
            return soon(received);
        }

        void end(Throwable error) {
            said.onError(error);
        }

        boolean isSilent() {
            return received.isEmpty();
        }
    }

    private static final RuntimeException GONE = StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
            .setCode(Status.Code.NOT_FOUND.value())
            .addDetails(Any.pack(Refusal.newBuilder()
                    .setReason(RefusalReason.REFUSAL_REASON_CHALLENGE_NOT_FOUND)
                    .setCode(Status.Code.NOT_FOUND.value())
                    .build()))
            .build());

    final BlockingQueue<Stream> streams = new LinkedBlockingQueue<>();
    final BlockingQueue<ObserveRequest> observed = new LinkedBlockingQueue<>();
    volatile Match match = Match.getDefaultInstance(); // null: a call for one gets no answer
    volatile BiConsumer<ObserveRequest, StreamObserver<ObserveResponse>> observing = (request, answer) -> {};
    /** What the bot asks about challenges and seeks, in order. */
    final BlockingQueue<String> asked = new LinkedBlockingQueue<>();
    /** The challenges and seeks that are listed. */
    volatile List<Challenge> open = List.of();
    /** A seek that another player has accepted. */
    volatile String taken = "";
    private final AtomicInteger seeks = new AtomicInteger();
    private final Server server;

    Peer() throws IOException {
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(new PlayServiceImplBase() {
                    @Override
                    public StreamObserver<PlayRequest> play(StreamObserver<PlayResponse> answer) {
                        Stream stream = new Stream(answer);
                        streams.add(stream);
                        return stream;
                    }
                })
                .addService(new PlayerServiceImplBase() {
                    @Override
                    public void listChallenges(
                            ListChallengesRequest request, StreamObserver<ListChallengesResponse> answer) {
                        reply(answer, ListChallengesResponse.newBuilder().addAllChallenges(open).build());
                    }

                    @Override
                    public void createSeek(CreateSeekRequest request, StreamObserver<CreateSeekResponse> answer) {
                        asked.add("CreateSeek " + request.getTerms().getGame());
                        Challenge seek = Challenge.newBuilder()
                                .setChallengeId("seek-" + seeks.incrementAndGet())
                                .setChallenger("alice")
                                .setTerms(request.getTerms())
                                .build();
                        reply(answer, CreateSeekResponse.newBuilder().setSeek(seek).build());
                    }

                    @Override
                    public void acceptChallenge(
                            AcceptChallengeRequest request, StreamObserver<AcceptChallengeResponse> answer) {
                        asked.add("AcceptChallenge " + request.getChallengeId());
                        Match agreed = Match.newBuilder()
                                .setMatchId("match of " + request.getChallengeId())
                                .build();
                        reply(answer, AcceptChallengeResponse.newBuilder().setMatch(agreed).build());
                    }

                    @Override
                    public void declineChallenge(
                            DeclineChallengeRequest request, StreamObserver<DeclineChallengeResponse> answer) {
                        String about = request.getChallengeId() + " " + request.getReason();
                        asked.add("DeclineChallenge " + about.strip());
                        if (request.getChallengeId().equals(taken)) {
                            answer.onError(GONE);
                            return;
                        }
                        reply(answer, DeclineChallengeResponse.getDefaultInstance());
                    }
                })
                .addService(new RatingServiceImplBase() {
                    @Override
                    public void getRating(GetRatingRequest request, StreamObserver<GetRatingResponse> answer) {
                        asked.add("GetRating " + request.getPlayer() + " " + request.getGame());
                        GetRatingResponse.Builder rating = GetRatingResponse.newBuilder();
                        if (request.getPlayer().equals("carol")) { // the others have none
                            rating.addVersions(LeaderboardRow.newBuilder()
                                    .setRating(Estimate.newBuilder().setValue(1600)));
                        }
                        reply(answer, rating.build());
                    }
                })
                .addService(new MatchServiceImplBase() {
                    @Override
                    public void getMatch(GetMatchRequest request, StreamObserver<GetMatchResponse> answer) {
                        if (match != null) {
                            answer.onNext(GetMatchResponse.newBuilder().setMatch(match).build());
                            answer.onCompleted();
                        }
                    }

                    @Override
                    public void observe(ObserveRequest request, StreamObserver<ObserveResponse> answer) {
                        observed.add(request);
                        observing.accept(request, answer);
                    }
                })
                .build()
                .start();
    }

    Options options() {
        return new Options().server("127.0.0.1:" + server.getPort()).name("alice").token("secret");
    }

    Stream stream() throws InterruptedException {
        return soon(streams);
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    static <V> V soon(BlockingQueue<V> queue) throws InterruptedException {
        V value = queue.poll(SOON_S, TimeUnit.SECONDS);
        assertNotNull(value, "it never came");
        return value;
    }

    static PlayItem.Builder match(String matchId) {
        return PlayItem.newBuilder()
                .setMatch(Match.newBuilder()
                        .setMatchId(matchId)
                        .setGame("pods")
                        .addPlayers("alice")
                        .addPlayers("bob")
                        .setPhase(Phase.PHASE_ACTIVE));
    }

    static PlayItem.Builder turn(String matchId, int ply) {
        Turn.Builder turn = Turn.newBuilder()
                .setMatchId(matchId)
                .setGame("pods")
                .setSeat(1)
                .setOpponent("bob")
                .setPly(ply);
        return PlayItem.newBuilder().setTurn(turn);
    }

    static PlayItem.Builder ended(String matchId, String cursor) {
        return PlayItem.newBuilder()
                .setEnded(MatchEnded.newBuilder().setMatchId(matchId).setSeat(1).setCursor(cursor));
    }

    static PlayItem.Builder closed(String challengeId, String matchId) {
        return PlayItem.newBuilder()
                .setChallengeClosed(ChallengeClosed.newBuilder().setChallengeId(challengeId).setMatchId(matchId));
    }

    private static <T> void reply(StreamObserver<T> answer, T message) {
        answer.onNext(message);
        answer.onCompleted();
    }

    static Throwable lost() {
        return Status.UNAVAILABLE.asRuntimeException();
    }
}
