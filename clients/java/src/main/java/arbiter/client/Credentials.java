package arbiter.client;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.StringReader;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * Tokens of players that were registered, in a file that only its owner may read: {@code {"HOST:PORT": {"NAME":
 * "TOKEN"}}}. Earlier versions wrote TOML, and credentials.toml: such a file is read, and rewritten.
 */
public final class Credentials {
    private static final String EXPECTED =
            "it is no credentials file: expected {\"HOST:PORT\": {\"NAME\": \"TOKEN\"}}";
    private static final Object ONE_AT_A_TIME = new Object(); // a lock of a file is the whole process's
    private final Path file;
    private final Path earlier; // is read where there is no file; or null

    /** The entries, and the file of an earlier version that holds them, or null. */
    private record Content(Map<String, Map<String, String>> entries, Path old) {}

    /** Takes a file, which need not be there. */
    public Credentials(Path file) {
        this(file, null);
    }

    private Credentials(Path file, Path earlier) {
        this.file = file.toAbsolutePath();
        this.earlier = earlier;
    }

    /** Takes {@code ARBITER_CREDENTIALS}, or {@code arbiter/credentials.json} in XDG_CONFIG_HOME or ~/.config. */
    public static Credentials ofEnvironment() {
        return of(Environment::get);
    }

    static Credentials of(UnaryOperator<String> environment) {
        String given = environment.apply("ARBITER_CREDENTIALS");
        if (given != null) {
            return new Credentials(Path.of(given));
        }
        String configuration = environment.apply("XDG_CONFIG_HOME");
        Path home = configuration == null ? Path.of(System.getProperty("user.home"), ".config") : Path.of(configuration);
        Path folder = home.resolve("arbiter").toAbsolutePath();
        return new Credentials(folder.resolve("credentials.json"), folder.resolve("credentials.toml"));
    }

    /** Returns the path of the file, which need not exist. */
    public Path path() {
        return file;
    }

    /**
     * Returns the token of a player on a server; of several addresses, with commas between them, the first with an entry
     * counts. Throws CredentialsException if the file can't be read.
     */
    public Optional<String> find(String server, String name) {
        Map<String, Map<String, String>> entries = entries();
        return Arrays.stream(server.split(","))
                .map(address -> entries.getOrDefault(address, Map.of()).get(name))
                .filter(Objects::nonNull)
                .findFirst();
    }

    /**
     * Stores a player's token for each address of the server, in place of an earlier one. Throws CredentialsException.
     */
    public void save(String server, String name, String token) {
        change(entries -> {
            for (String address : server.split(",")) {
                entries.computeIfAbsent(address, any -> new LinkedHashMap<>()).put(name, token);
            }
        });
    }

    private void change(Consumer<Map<String, Map<String, String>>> work) {
        synchronized (ONE_AT_A_TIME) {
            try {
                Files.createDirectories(file.getParent(), only("rwx------"));
                // Bots that start together register at the same time: each must see the entries of the others.
                Path lock = file.resolveSibling(file.getFileName() + ".lock");
                try (FileChannel channel =
                        FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                    channel.lock(); // released as the channel is closed
                    Content content = read();
                    work.accept(content.entries());
                    write(content.entries());
                    if (content.old() != null && !content.old().equals(file)) {
                        Files.delete(content.old());
                    }
                }
            } catch (IOException error) {
                throw new CredentialsException("can't write the credentials file " + file + ": " + error.getMessage());
            }
        }
    }

    private Map<String, Map<String, String>> entries() {
        Content content = read();
        if (content.old() != null) {
            try {
                change(entries -> {}); // writes it as JSON
            } catch (CredentialsException error) {
                return content.entries(); // a file that can't be written is only read
            }
        }
        return content.entries();
    }

    private Content read() {
        Path found = earlier != null && !Files.exists(file) && Files.exists(earlier) ? earlier : file;
        try {
            String text = Files.readString(found);
            return new Content(parse(text), isOld(text) ? found : null);
        } catch (NoSuchFileException error) {
            return new Content(new LinkedHashMap<>(), null);
        } catch (CharacterCodingException error) {
            throw unusable(found, "it is no text");
        } catch (IOException | IllegalArgumentException error) {
            throw unusable(found, error.getMessage());
        }
    }

    private static CredentialsException unusable(Path found, String why) {
        return new CredentialsException(
                "can't use the credentials file " + found + ": " + why + "; mend it or move it away");
    }

    private static String withoutMark(String text) {
        return text.startsWith("\uFEFF") ? text.substring(1) : text;
    }

    /** Returns whether a text is a file of an earlier version, in TOML. */
    private static boolean isOld(String text) {
        String content = withoutMark(text).strip();
        return !content.isEmpty() && !content.startsWith("{");
    }

    /** Returns the entries of a text, in JSON or in the older TOML. Throws IllegalArgumentException for another one. */
    static Map<String, Map<String, String>> parse(String text) {
        String content = withoutMark(text);
        if (isOld(text)) {
            return Toml.read(content);
        }
        Map<String, Map<String, String>> entries = new LinkedHashMap<>();
        if (content.isBlank()) {
            return entries;
        }
        try (JsonReader in = new JsonReader(new StringReader(content))) {
            in.setStrictness(Strictness.STRICT);
            in.beginObject();
            while (in.hasNext()) {
                Map<String, String> players = entries.computeIfAbsent(in.nextName(), any -> new LinkedHashMap<>());
                in.beginObject();
                while (in.hasNext()) {
                    String name = in.nextName();
                    if (in.peek() != JsonToken.STRING) {
                        throw new IllegalArgumentException(EXPECTED);
                    }
                    players.put(name, in.nextString());
                }
                in.endObject();
            }
            in.endObject();
            if (in.peek() == JsonToken.END_DOCUMENT) {
                return entries;
            }
        } catch (IOException | IllegalStateException error) {
            throw new IllegalArgumentException(EXPECTED, error);
        }
        throw new IllegalArgumentException(EXPECTED);
    }

    /** Replaces the file atomically: a reader sees the old one or the new one. */
    private void write(Map<String, Map<String, String>> entries) throws IOException {
        Path draft = Files.createTempFile(file.getParent(), file.getFileName().toString(), "", only("rw-------"));
        try (JsonWriter out = new JsonWriter(Files.newBufferedWriter(draft))) {
            out.setIndent(" ");
            out.beginObject();
            for (Map.Entry<String, Map<String, String>> server : entries.entrySet()) {
                if (!server.getValue().isEmpty()) {
                    out.name(server.getKey()).beginObject();
                    for (Map.Entry<String, String> player : server.getValue().entrySet()) {
                        out.name(player.getKey()).value(player.getValue());
                    }
                    out.endObject();
                }
            }
            out.endObject();
        }
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static FileAttribute<?>[] only(String permissions) {
        boolean posix = FileSystems.getDefault().supportedFileAttributeViews().contains("posix");
        return posix
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))}
                : new FileAttribute<?>[0];
    }
}
