package arbiter.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import arbiter.v1.MoveComment;
import arbiter.v1.Terms;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The parts that need no server: pauses, the credentials file, the command line, moves. */
class PartsTest {
    @TempDir
    Path folder;

    @Test
    void pausesDoubleAndAreCutByUpToAHalf() {
        Backoff whole = new Backoff(100, 5_000, () -> 0);
        for (long pause : new long[] {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
            assertEquals(pause, whole.nextMs(0));
        }
        whole.reset();
        assertEquals(1100, whole.nextMs(1000));
        assertEquals(50, new Backoff(100, 5_000, () -> 1).nextMs(0));
    }

    @Test
    void tokensAreKeptForTheirOwnerAlone() throws Exception {
        Path file = folder.resolve("new").resolve("credentials.json");
        Credentials credentials = new Credentials(file);
        assertEquals(Optional.empty(), credentials.find("there:1", "alice"));
        credentials.save("there:1", "alice", "first");
        credentials.save("there:1", "bob.b", "se\"c\\ret");
        credentials.save("there:1", "alice", "second");
        assertEquals(Optional.of("second"), credentials.find("there:1", "alice"));
        assertEquals(Optional.of("se\"c\\ret"), credentials.find("there:1", "bob.b"));
        assertEquals(Optional.empty(), credentials.find("there:2", "alice"));
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    }

    @Test
    void aCredentialsFileMayBeWrittenByHandAndIsNeverOverwrittenWhereItIsWrong() throws Exception {
        Path file = folder.resolve("credentials.json");
        Credentials credentials = new Credentials(file);
        Files.writeString(file, "# mine\n['h:1'] # here\nalice = 'a'\n\"b\\u006fb\" = \"b\" # his\n");
        assertEquals(Optional.of("a"), credentials.find("h:1", "alice"));
        assertEquals(Optional.of("b"), credentials.find("h:1", "bob"));
        for (String wrong : new String[] {"alice = 'a'", "[\"h:1\"]\nalice = 7", "{\"h:1\": 7}", "nonsense"}) {
            Files.writeString(file, wrong);
            assertThrows(CredentialsException.class, () -> credentials.save("h:1", "x", "y"), wrong);
            assertEquals(wrong, Files.readString(file));
        }
    }

    @Test
    void aFileOfAnEarlierVersionIsReadAndRewritten() throws Exception {
        Credentials usual = Credentials.of(name -> name.equals("XDG_CONFIG_HOME") ? folder.toString() : null);
        Path earlier = usual.path().resolveSibling("credentials.toml");
        Files.createDirectory(earlier.getParent());
        for (Credentials credentials : List.of(usual, new Credentials(earlier))) {
            Files.writeString(earlier, "[\"there:1\"]\nalice = \"kept\"\n");
            for (int reading = 0; reading < 2; reading++) {
                assertEquals(Optional.of("kept"), credentials.find("there:1", "alice"));
                String expected = "{\n \"there:1\": {\n  \"alice\": \"kept\"\n }\n}";
                assertEquals(expected, Files.readString(credentials.path()));
            }
            assertEquals(credentials != usual, Files.exists(earlier));
            Files.delete(credentials.path());
        }
    }

    @Test
    void everyOptionHasItsPlace() throws Exception {
        Options options = Cli.parse(
                        Profile.named("test").build(),
                        "--server=there:1", "--name", "alice", "--token", "t=1", "--invitation", "i", "--matches", "3",
                        "--most-matches", "2", "--games", "pods(size=5,x=1), hop-it", "--seek",
                        "pods 1m+1s rated seat=2", "--seek=hop-it", "--accept-seeks", "--enter-tournaments",
                        "--root-certificate", "root.pem", "--verbose")
                .options;
        Profile profile = options.profile;
        assertEquals(List.of("there:1"), options.addresses());
        assertEquals("alice", options.player());
        assertEquals("t=1", options.givenToken());
        assertEquals(3, options.matches);
        assertEquals(Path.of("root.pem"), options.tls.rootCertificate());
        assertEquals(List.of("pods(size=5,x=1)", "hop-it"), profile.games());
        assertEquals(2, profile.mostMatches());
        assertTrue(profile.acceptSeeks() && profile.enterTournaments());
        Terms first = Terms.newBuilder().setGame("pods").setTimeControl("1m+1s").setRated(true).setSeat(2).build();
        assertEquals(List.of(first, Terms.newBuilder().setGame("hop-it").build()), profile.seeks());
    }

    @Test
    void aMistakeIsOneSentence() {
        String[][] mistakes = {
            {"--nonsense", "there is no option --nonsense"},
            {"--name", "--name needs a value: NAME"},
            {"--verbose=1", "--verbose takes no value"},
            {"--matches=many", "--matches many: expected a number"},
            {"--seek= ", "a seek is for a game: expected GAME [TIME] [rated] [seat=1|2]"},
            {"--seek=pods 1m 2m", "'2m' does not belong into a seek: expected GAME [TIME] [rated] [seat=1|2]"},
        };
        for (String[] mistake : mistakes) {
            Profile profile = Profile.named("test").build();
            Cli.Mistake error = assertThrows(Cli.Mistake.class, () -> Cli.parse(profile, mistake[0]));
            assertEquals(mistake[1], error.getMessage());
        }
    }

    @Test
    void anAddressIsHostAndPort() {
        for (String wrong : new String[] {"nowhere", "h:", ":1", "h:0", "h:65536", "h:x"}) {
            assertThrows(ConnectionFailedException.class, () -> new Options().server(wrong).addresses(), wrong);
        }
        assertEquals(List.of("[::1]:7400"), new Options().server("[::1]:7400").addresses());
    }

    @Test
    void aCommentNeverCostsTheMove() {
        assertNull(new Move("e5").comment());
        assertNull(new Move("e5", 1001, List.of("é")).comment());
        assertNull(new Move("e5", -1, null).comment());
        MoveComment comment = new Move("e5", 500, Collections.nCopies(40, "e5")).comment();
        assertEquals(500, comment.getEvaluation());
        assertEquals(32, comment.getLineCount());
    }

    @Test
    void aProfilePlaysWhatItNames() {
        Profile profile = Profile.named("x").games("pods", "hop-it(a=1)").timeControls("1m").build();
        assertTrue(profile.plays("pods(size=5)") && profile.plays("hop-it(a=1)") && profile.playsAt("1m"));
        assertFalse(profile.plays("hop-it") || profile.playsAt("2m"));
    }
}
