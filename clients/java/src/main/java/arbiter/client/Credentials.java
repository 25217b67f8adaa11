package arbiter.client;

import java.io.IOException;
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

/**
 * Tokens of players that were registered, in a file that only its owner may read: a TOML table a server, {@code
 * ["HOST:PORT"]}, with lines {@code NAME = "TOKEN"}.
 */
public final class Credentials {
    private static final Object ONE_AT_A_TIME = new Object(); // a lock of a file is the whole process's
    private final Path file;

    /** Takes a file, which need not be there. */
    public Credentials(Path file) {
        this.file = file.toAbsolutePath();
    }

    /** Takes {@code ARBITER_CREDENTIALS}, or {@code arbiter/credentials.toml} in XDG_CONFIG_HOME or ~/.config. */
    public static Credentials ofEnvironment() {
        String given = Environment.get("ARBITER_CREDENTIALS");
        if (given != null) {
            return new Credentials(Path.of(given));
        }
        String configuration = Environment.get("XDG_CONFIG_HOME");
        Path home = configuration == null ? Path.of(System.getProperty("user.home"), ".config") : Path.of(configuration);
        return new Credentials(home.resolve("arbiter").resolve("credentials.toml"));
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
        synchronized (ONE_AT_A_TIME) {
            try {
                Files.createDirectories(file.getParent(), only("rwx------"));
                // Bots that start together register at the same time: each must see the entries of the others.
                Path lock = file.resolveSibling(file.getFileName() + ".lock");
                try (FileChannel channel =
                        FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                    channel.lock(); // released as the channel is closed
                    Map<String, Map<String, String>> entries = entries();
                    for (String address : server.split(",")) {
                        entries.computeIfAbsent(address, any -> new LinkedHashMap<>()).put(name, token);
                    }
                    write(entries);
                }
            } catch (IOException error) {
                throw new CredentialsException("can't write the credentials file " + file + ": " + error.getMessage());
            }
        }
    }

    private Map<String, Map<String, String>> entries() {
        try {
            return Toml.read(Files.readString(file));
        } catch (NoSuchFileException error) {
            return new LinkedHashMap<>();
        } catch (CharacterCodingException error) {
            throw unusable("it is no text");
        } catch (IOException error) {
            throw unusable(error.getMessage());
        } catch (IllegalArgumentException error) {
            throw unusable(error.getMessage());
        }
    }

    private CredentialsException unusable(String why) {
        return new CredentialsException(
                "can't use the credentials file " + file + ": " + why + "; mend it or move it away");
    }

    /** Replaces the file atomically: a reader sees the old one or the new one. */
    private void write(Map<String, Map<String, String>> entries) throws IOException {
        Path draft = Files.createTempFile(file.getParent(), file.getFileName().toString(), "", only("rw-------"));
        Files.writeString(draft, Toml.write(entries));
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static FileAttribute<?>[] only(String permissions) {
        boolean posix = FileSystems.getDefault().supportedFileAttributeViews().contains("posix");
        return posix
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))}
                : new FileAttribute<?>[0];
    }
}
