package arbiter.client;

import arbiter.v1.CreateMatchRequest;
import arbiter.v1.GetPlayerRequest;
import arbiter.v1.Match;
import arbiter.v1.MatchServiceGrpc;
import arbiter.v1.PlayerServiceGrpc;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** A real arbiter, in a process of its own: it can be killed, and started again on the same record and port. */
final class Arbiter implements AutoCloseable {
    private static final int PRESENCE_MS = 50;
    private static final int PRESENCE_TRIES = 12_000; // ten minutes: only a test that hangs takes that long

    private final Path folder;
    private final List<String> arguments;
    private String address = "127.0.0.1:0";
    private String adminToken = "";
    private Process process;

    Arbiter(Path folder, String... arguments) throws IOException {
        this.folder = folder;
        this.arguments = List.of(arguments);
        run();
    }

    /** Kills the server the hard way, and starts it again. */
    void restart() throws IOException {
        close();
        run();
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }

    private void run() throws IOException {
        String given = Environment.get("ARBITER_COMMAND");
        String command = given == null ? new File("../../.venv/bin/arbiter").getCanonicalPath() : given;
        List<String> words = new ArrayList<>(List.of(
                command, "serve", "--no-save-token", "--listen", address, "--store", "sqlite:///" + folder + "/arbiter.db"));
        words.addAll(arguments);
        File log = folder.resolve("server.log").toFile();
        process = new ProcessBuilder(words)
                .redirectError(ProcessBuilder.Redirect.appendTo(log))
                .start();
        BufferedReader said = process.inputReader(StandardCharsets.UTF_8);
        for (String line = said.readLine(); line != null; line = said.readLine()) {
            if (line.contains(" listens on ")) {
                address = line.split(" listens on ", 2)[1].split(",")[0].strip();
            }
            if (line.contains("shown only now: ")) {
                adminToken = line.split("shown only now: ", 2)[1].strip();
            }
            if (line.startsWith("Next:")) {
                return;
            }
        }
        throw new IOException("the server did not start: " + Files.readString(log.toPath()));
    }

    /** Returns options for a player that registers by itself. */
    Options player(String name) {
        return new Options()
                .server(address)
                .name(name)
                .credentials(new Credentials(folder.resolve("credentials.json")));
    }

    Client admin(Tls tls) {
        return new Client(player("admin").token(adminToken).tls(tls));
    }

    /** Waits until players have streams. */
    void present(String... names) throws InterruptedException {
        present(null, names);
    }

    void present(Tls tls, String... names) throws InterruptedException {
        try (Client admin = admin(tls)) {
            for (String name : names) {
                int tries = 0;
                while (!isOnline(admin, name)) {
                    if (++tries > PRESENCE_TRIES) {
                        throw new IllegalStateException(name + " never came");
                    }
                    Thread.sleep(PRESENCE_MS); // a condition that nothing tells of
                }
            }
        }
    }

    private static boolean isOnline(Client admin, String name) {
        GetPlayerRequest request = GetPlayerRequest.newBuilder().setName(name).build();
        try {
            return admin.ask(PlayerServiceGrpc::newBlockingStub, stub -> stub.getPlayer(request))
                    .getPlayer()
                    .getOnline();
        } catch (ArbiterException notYet) {
            return false;
        }
    }

    /** Makes a match between two players that have registered. */
    Match pair(String game, String first, String second, Tls tls) {
        CreateMatchRequest request = CreateMatchRequest.newBuilder()
                .setRequestId(UUID.randomUUID().toString())
                .setGame(game)
                .addPlayers(first)
                .addPlayers(second)
                .setTimeControl("1m+1s")
                .build();
        try (Client admin = admin(tls)) {
            return admin.ask(MatchServiceGrpc::newBlockingStub, stub -> stub.createMatch(request))
                    .getMatch();
        }
    }
}
