package arbiter.client;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The lines of the log while it is open, each with its level. */
final class Logged implements AutoCloseable {
    private static final Logger LOGGER = Logger.getLogger("arbiter.client"); // held, so that its level is kept

    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final List<String> read = new ArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord line) {
            lines.add(line.getLevel() + " " + line.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    Logged() {
        LOGGER.setLevel(Level.ALL);
        LOGGER.addHandler(handler);
    }

    /** Returns all lines up to the first one, read or not yet, that matches a pattern. */
    List<String> until(String pattern) throws InterruptedException {
        while (read.stream().noneMatch(line -> line.matches("(\\w+ )?" + pattern))) {
            read.add(Peer.soon(lines));
        }
        return read;
    }

    @Override
    public void close() {
        LOGGER.removeHandler(handler);
        LOGGER.setLevel(null);
    }
}
