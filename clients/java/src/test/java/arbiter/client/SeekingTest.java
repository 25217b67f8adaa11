package arbiter.client;

import static arbiter.client.Peer.closed;
import static arbiter.client.Peer.ended;
import static arbiter.client.Peer.match;
import static arbiter.client.Peer.soon;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import arbiter.v1.Challenge;
import arbiter.v1.ChallengeClosed;
import arbiter.v1.PlayItem;
import arbiter.v1.Terms;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The bot's own seeks, and the terms that it accepts. */
@Timeout(value = 1_200, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SeekingTest {
    private final BlockingQueue<String> noted = new LinkedBlockingQueue<>();
    private Peer peer;
    private Playing playing;

    @BeforeEach
    void start() throws Exception {
        peer = new Peer();
    }

    @AfterEach
    void stop() {
        playing.stop();
        peer.close();
    }

    private Peer.Stream play(Profile.Builder profile, long matches) throws Exception {
        Bot bot = new Bot() {
            @Override
            public Choice choose(Turn turn) {
                return new Choice.Resign();
            }

            @Override
            public void challengeClosed(ChallengeClosed closed) {
                noted.add(closed.getChallengeId());
            }
        };
        playing = Playing.start(bot, peer.options().profile(profile.build()).matches(matches));
        Peer.Stream stream = peer.stream();
        stream.meet();
        return stream;
    }

    private static Profile.Builder seeking(String time, String... games) {
        return Profile.named("test").seeks(Stream.of(games).map(game -> terms(game, time)).toList());
    }

    private static Terms terms(String game, String time) {
        return Terms.newBuilder().setGame(game).setTimeControl(time).build();
    }

    private static Challenge challenge(String id, String from, Terms terms) {
        return Challenge.newBuilder().setChallengeId(id).setChallenger(from).setTerms(terms).build();
    }

    /** Takes what is made first, in whatever order. */
    private Set<String> asked(int count) throws Exception {
        Set<String> all = new java.util.TreeSet<>();
        for (int call = 0; call < count; call++) {
            all.add(soon(peer.asked));
        }
        return all;
    }

    @Test
    void noMoreSeeksAreMadeThanMatchesAreLeft() throws Exception {
        Peer.Stream stream = play(seeking("", "pods", "hop-it", "pondlife"), 2);
        assertEquals(Set.of("CreateSeek pods", "CreateSeek hop-it"), asked(2));
        stream.say(closed("seek-1", "m1"), match("m1")); // the second seek may become the last match
        assertEquals("seek-1", soon(noted));
        stream.say(closed("seek-2", "m2"), match("m2"));
        assertEquals("seek-2", soon(noted));
        stream.say(ended("m1", "c1"), ended("m2", "c2"));
        assertEquals("completed", soon(stream.ended));
        playing.await();
        assertTrue(peer.asked.isEmpty(), "no third seek was made");
    }

    @Test
    void aChallengeIsAcceptedOnceTheSeekForTheLastMatchIsWithdrawn() throws Exception {
        String no = "DeclineChallenge c1 this bot has agreed to as many matches as it plays";
        for (String[] told : new String[][] {{"", "AcceptChallenge c1"}, {"seek-1", no}}) {
            if (playing != null) {
                stop();
                start();
            }
            peer.taken = told[0];
            Peer.Stream stream = play(seeking("", "pods"), 1);
            assertEquals("CreateSeek pods", soon(peer.asked));
            stream.say(PlayItem.newBuilder().setChallenge(challenge("c1", "bob", terms("pods", ""))));
            String asked = soon(peer.asked);
            assertEquals("DeclineChallenge seek-1", asked);
            while (asked.equals("DeclineChallenge seek-1")) {
                asked = soon(peer.asked); // the seek may be withdrawn in vain once more
            }
            assertEquals(told[1], asked);
        }
    }

    @Test
    void aSeekThatWasClosedWithoutAMatchIsMadeAgain() throws Exception {
        Peer.Stream stream = play(seeking("", "pods"), 1);
        assertEquals("CreateSeek pods", soon(peer.asked));
        stream.say(closed("seek-1", ""));
        assertEquals("CreateSeek pods", soon(peer.asked));
    }

    @Test
    void aSeekInAnotherFormIsFoundAgainAfterAKill() throws Exception {
        peer.open = List.of(challenge("own", "alice", terms("pods", "1m"))); // as the arbiter writes it
        play(seeking("60s", "pods", "hop-it"), 0);
        assertEquals("CreateSeek hop-it", soon(peer.asked));
    }

    @Test
    void aBotPlaysAtTheSameTimeControlInAnotherForm() throws Exception {
        Peer.Stream stream = play(Profile.named("test").timeControls("60s+2s", "120s"), 0);
        String[][] answers = {
            {"1m+2s", "AcceptChallenge 1m+2s"},
            {"2m", "AcceptChallenge 2m"},
            {"1m+2sd", "DeclineChallenge 1m+2sd this bot plays at 60s+2s, 120s"},
            {"of a newer one", "DeclineChallenge of a newer one this bot plays at 60s+2s, 120s"},
        };
        for (String[] answer : answers) {
            stream.say(PlayItem.newBuilder().setChallenge(challenge(answer[0], "bob", terms("pods", answer[0]))));
            assertEquals(answer[1], soon(peer.asked));
        }
    }

    @Test
    void aBotWithLimitsForRatingsAsksForTheChallengers() throws Exception {
        Peer.Stream stream = play(Profile.named("test").leastRating(1500), 0);
        String why = "this bot plays against ratings of at least 1500";
        String[][] answers = {{"carol", "AcceptChallenge carol"}, {"bob", "DeclineChallenge bob " + why}};
        for (String[] answer : answers) {
            stream.say(PlayItem.newBuilder().setChallenge(challenge(answer[0], answer[0], terms("pods", "1m"))));
            assertEquals("GetRating " + answer[0] + " pods", soon(peer.asked));
            assertEquals(answer[1], soon(peer.asked));
        }
    }

    @Test
    void whatIsNoTimeControlIsRefusedAtTheStart() {
        Object[][] mistakes = {
            {Profile.named("test").timeControls("1m", "5 min"), "test: '5 min' is no time control: expected 5m, 5m+3s"},
            {Profile.named("test").timeControls("200h"), "test: 200h in the time control '200h' is more than 168h"},
            {seeking("60", "pods"), "test: '60' is no time control"},
        };
        for (Object[] mistake : mistakes) {
            Profile profile = ((Profile.Builder) mistake[0]).build();
            playing = Playing.start(turn -> new Choice.Resign(), peer.options().profile(profile));
            ArbiterException error = assertThrows(ArbiterException.class, playing::await);
            assertTrue(error.getMessage().startsWith((String) mistake[1]), error.getMessage());
            assertEquals(Reason.PARAMETER_INVALID, error.reason());
        }
        assertTrue(peer.streams.isEmpty() && peer.asked.isEmpty());
    }
}
