package arbiter.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** A process of {@code arbiter rules serve}, with the address and the tokens that it says. */
final class Rules implements AutoCloseable {
    private static final long END_WAIT_S = 10; // time limit for the process to end after its match

    private final String command;
    private final Process process;
    private final String server;
    private final Map<String, String> tokens; // by player
    private volatile String last = "";
    private final Thread errors;

    /** Starts it. Throws ConnectionFailedException. */
    Rules(String program) {
        command = "`" + program + " rules serve`";
        try {
            process = new ProcessBuilder(program, "rules", "serve").start();
        } catch (IOException error) {
            String hint = ": install game-arbiter, or name its command in ARBITER_COMMAND";
            throw new ConnectionFailedException("can't start " + command + ": " + error.getMessage() + hint, error);
        }
        errors = Caller.daemons("arbiter-rules").newThread(this::readErrors);
        errors.start();
        String line;
        try {
            line = process.inputReader(StandardCharsets.UTF_8).readLine();
        } catch (IOException error) {
            line = null;
        }
        if (line == null) {
            close();
            throw lost();
        }
        Map.Entry<String, Map<String, String>> said = // in the form of a credentials file
                Credentials.parse(line).entrySet().iterator().next();
        server = said.getKey();
        tokens = said.getValue();
    }

    private void readErrors() {
        try (BufferedReader said = process.errorReader(StandardCharsets.UTF_8)) {
            for (String line = said.readLine(); line != null; line = said.readLine()) {
                last = line;
            }
        } catch (IOException closed) {
            return; // with the process
        }
    }

    /** Returns options for a player. */
    Options options(String player) {
        return new Options().server(server).name(player).token(tokens.get(player)).tls(Tls.NONE);
    }

    /** Begins to play a bot in a seat, from 0; end gets the end of its match. */
    Playing start(Bot bot, int seat, AtomicReference<FinishedMatch> end) {
        Options options = options(LocalMatch.player(seat))
                .profile(bot.profile().atHome())
                .matches(1)
                .onError(Options.OnError.RAISE);
        options.atEnd = end::set;
        return Playing.start(bot, options);
    }

    /** Is done once the process is over. */
    CompletableFuture<Process> over() {
        return process.onExit();
    }

    /** Returns the exception for a process that has ended before its match. */
    ConnectionFailedException lost() {
        try {
            process.waitFor();
            errors.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        String how = command + " has ended before the match: exit code " + process.exitValue();
        return new ConnectionFailedException(last.isEmpty() ? how : how + ": " + last);
    }

    /** Ends the process. */
    @Override
    public void close() {
        try {
            process.getOutputStream().close();
        } catch (IOException gone) {
            return; // it has ended
        }
        try {
            if (!process.waitFor(END_WAIT_S, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException interrupted) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
