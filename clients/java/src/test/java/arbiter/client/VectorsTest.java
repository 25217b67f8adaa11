package arbiter.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import arbiter.v1.PlayItem;
import arbiter.v1.PlayResponse;
import arbiter.v1.RecentMove;
import arbiter.v1.Refusal;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The vectors that the tests of all clients read. */
class VectorsTest {
    private static final Path VECTORS = Path.of("..", "vectors");
    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

    @TestFactory
    Stream<DynamicTest> refusalsInMessages() throws Exception {
        return cases(read("refusals.json").getAsJsonObject().getAsJsonArray("messages"), row ->
                check(row.getAsJsonObject("expected"), Errors.of(Refusal.parseFrom(bytes(row.get("refusal"))))));
    }

    @TestFactory
    Stream<DynamicTest> refusalsInStatuses() throws Exception {
        return cases(read("refusals.json").getAsJsonObject().getAsJsonArray("statuses"), row -> {
            Metadata trailers = new Metadata();
            if (!row.get("details").isJsonNull()) {
                trailers.put(DETAILS, bytes(row.get("details")));
            }
            Status status = Status.fromCode(Status.Code.valueOf(row.get("code").getAsString()))
                    .withDescription(row.get("status_message").getAsString());
            check(row.getAsJsonObject("expected"), Errors.of(status.asRuntimeException(trailers), "there:1"));
        });
    }

    private static void check(JsonObject expected, ClientException error) {
        if (expected.get("error").getAsString().equals("ConnectionFailed")) {
            assertInstanceOf(ConnectionFailedException.class, error);
            return;
        }
        ArbiterException refusal = assertInstanceOf(ArbiterException.class, error);
        assertEquals(expected.get("reason").getAsString(), refusal.reason().name());
        assertEquals(expected.get("code").getAsString(), refusal.code().name());
        assertEquals(expected.get("temporary").getAsBoolean(), refusal.temporary());
        assertEquals(expected.get("retry_after_ms").getAsLong(), refusal.retryAfterMs());
        if (!expected.get("message").isJsonNull()) {
            assertEquals(expected.get("message").getAsString(), refusal.getMessage());
        }
        Map<String, String> facts = new HashMap<>();
        expected.getAsJsonObject("facts").entrySet().forEach(fact -> facts.put(fact.getKey(), fact.getValue().getAsString()));
        assertEquals(facts, refusal.facts());
    }

    @TestFactory
    Stream<DynamicTest> timeControls() throws Exception {
        return cases(read("time_controls.json").getAsJsonArray(), row -> {
            String text = row.get("text").getAsString();
            if (row.get("canonical").isJsonNull()) {
                assertThrows(IllegalArgumentException.class, () -> TimeControl.canonical(text));
            } else {
                assertEquals(row.get("canonical").getAsString(), TimeControl.canonical(text));
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> timeOdds() throws Exception {
        return cases(read("time_odds.json").getAsJsonArray(), row -> {
            arbiter.v1.Match match = arbiter.v1.Match.newBuilder()
                    .setTimeControl(row.get("time_control").getAsString())
                    .addAllTimeControls(texts(row.getAsJsonArray("time_controls")))
                    .build();
            for (int seat = 1; seat <= 2; seat++) {
                LiveMatch live = new LiveMatch("m", "pods", seat, "bob");
                live.learn(match);
                assertEquals(row.getAsJsonArray("own").get(seat - 1).getAsString(), live.timeControl());
                assertEquals(match.getTimeControl(), live.matchTimeControl());
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> thinkTimes() throws Exception {
        return cases(read("think_times.json").getAsJsonArray(), row -> {
            double found = ThinkTime.thinkTimeMs(
                    row.get("time_control").getAsString(),
                    row.get("left_ms").getAsDouble(),
                    row.get("main_ms").getAsDouble(),
                    row.get("moves_left").getAsInt(),
                    row.get("expected_plies").getAsInt(),
                    row.get("matches").getAsInt());
            assertEquals(row.get("think_ms").getAsDouble(), found, 0.001);
        });
    }

    @TestFactory
    Stream<DynamicTest> plainTexts() throws Exception {
        return cases(read("plain_texts.json").getAsJsonArray(), row -> {
            String text = row.get("text").getAsString();
            assertEquals(row.get("plain").getAsString(), PlainText.of(text));
            for (String line : PlainText.lines(text).split("\n", -1)) {
                assertEquals(line, PlainText.of(line));
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> openingBooks() throws Exception {
        return cases(read("opening_books.json").getAsJsonArray(), row -> {
            String text = row.get("text").getAsString();
            if (row.get("moves").isJsonNull()) {
                ArbiterException error = assertThrows(ArbiterException.class, () -> OpeningBook.parse(text));
                assertEquals(Reason.PARAMETER_INVALID, error.reason());
                assertEquals("opening book, line " + row.get("line"), error.facts().get("where"));
            } else {
                List<String> played = texts(row.getAsJsonArray("played"));
                List<String> found = OpeningBook.parse(text).moves(row.get("game").getAsString(), played);
                assertEquals(texts(row.getAsJsonArray("moves")), found);
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> filters() throws Exception {
        return cases(read("filters.json").getAsJsonArray(), row -> {
            JsonObject settings = row.getAsJsonObject("settings");
            Profile.Builder profile = Profile.named("test")
                    .games(texts(settings.getAsJsonArray("games")).toArray(String[]::new))
                    .timeControls(texts(settings.getAsJsonArray("time_controls")).toArray(String[]::new))
                    .opponents(texts(settings.getAsJsonArray("opponents")).toArray(String[]::new))
                    .seat(settings.get("seat").getAsInt());
            if (!settings.get("rated").isJsonNull()) {
                profile.rated(settings.get("rated").getAsBoolean());
            }
            if (!settings.get("least_rating").isJsonNull()) {
                profile.leastRating(settings.get("least_rating").getAsDouble());
            }
            if (!settings.get("most_rating").isJsonNull()) {
                profile.mostRating(settings.get("most_rating").getAsDouble());
            }
            JsonObject said = row.getAsJsonObject("challenge");
            arbiter.v1.Terms terms = arbiter.v1.Terms.newBuilder()
                    .setGame(said.get("game").getAsString())
                    .setTimeControl(said.get("time_control").getAsString())
                    .setRated(said.get("rated").getAsBoolean())
                    .setSeat(said.get("seat").getAsInt())
                    .build();
            arbiter.v1.Challenge challenge = arbiter.v1.Challenge.newBuilder()
                    .setChallenger(said.get("challenger").getAsString())
                    .setTerms(terms)
                    .build();
            Double rating = said.get("rating").isJsonNull() ? null : said.get("rating").getAsDouble();
            assertEquals(row.get("objection").getAsString(), profile.build().objection(challenge, rating, 0));
        });
    }

    @TestFactory
    Stream<DynamicTest> boardArrays() throws Exception {
        return cases(read("board_arrays.json").getAsJsonArray(), row -> {
            arbiter.v1.Board.Builder board = arbiter.v1.Board.newBuilder();
            row.getAsJsonArray("lines").forEach(line ->
                    board.addLines(arbiter.v1.CellLine.newBuilder().addAllCells(texts(line.getAsJsonArray()))));
            List<arbiter.v1.CellContent> contents = row.getAsJsonArray("contents").asList().stream()
                    .map(JsonElement::getAsJsonObject)
                    .map(content -> arbiter.v1.CellContent.newBuilder()
                            .setCell(content.get("cell").getAsString())
                            .setOwner(content.get("owner").getAsInt())
                            .setPiece(content.get("piece").getAsString())
                            .build())
                    .toList();
            JsonArray found = new JsonArray();
            for (arbiter.v1.CellContent[] line : Boards.array(board.build(), contents)) {
                JsonArray cells = new JsonArray();
                for (arbiter.v1.CellContent cell : line) {
                    cells.add(cell == null ? null : "" + cell.getOwner() + cell.getPiece());
                }
                found.add(cells);
            }
            assertEquals(row.getAsJsonArray("array"), found);
        });
    }

    @TestFactory
    Stream<DynamicTest> credentials() throws Exception {
        return cases(read("credentials.json").getAsJsonArray(), row -> {
            String text = row.get("text").getAsString();
            if (row.get("entries").isJsonNull()) {
                assertThrows(IllegalArgumentException.class, () -> Credentials.parse(text));
            } else {
                assertEquals(row.get("entries"), new com.google.gson.Gson().toJsonTree(Credentials.parse(text)));
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> lines() throws Exception {
        return cases(read("lines.json").getAsJsonArray(), row -> {
            List<RecentMove> last = new ArrayList<>();
            for (JsonElement move : row.getAsJsonArray("last_moves")) {
                JsonObject said = move.getAsJsonObject();
                last.add(RecentMove.newBuilder()
                        .setPly(said.get("ply").getAsInt())
                        .setSeat(said.get("seat").getAsInt())
                        .setMove(said.get("move").getAsString())
                        .build());
            }
            List<String> known = texts(row.getAsJsonArray("known"));
            List<String> expected = row.get("gap").getAsBoolean() ? null : texts(row.getAsJsonArray("moves"));
            assertEquals(expected, Seat.joined(known, row.get("ply").getAsInt(), last));
        });
    }

    @TestFactory
    Stream<DynamicTest> items() throws Exception {
        return cases(read("items.json").getAsJsonArray(), row -> {
            List<PlayItem> known = PlayResponse.parseFrom(bytes(row.get("response"))).getItemsList().stream()
                    .filter(item -> item.getItemCase() != PlayItem.ItemCase.ITEM_NOT_SET)
                    .toList();
            JsonArray expected = row.getAsJsonArray("expected");
            assertEquals(expected.size(), known.size());
            for (int index = 0; index < known.size(); index++) {
                JsonObject said = expected.get(index).getAsJsonObject();
                PlayItem item = known.get(index);
                assertEquals(said.get("kind").getAsString(), item.getItemCase().name().toLowerCase(Locale.ROOT));
                FieldDescriptor arm = item.getDescriptorForType().findFieldByNumber(item.getItemCase().getNumber());
                same(said, (Message) item.getField(arm));
            }
        });
    }

    private static void same(JsonObject expected, Message message) {
        for (Map.Entry<String, JsonElement> entry : expected.entrySet()) {
            FieldDescriptor field = message.getDescriptorForType().findFieldByName(entry.getKey());
            if (field == null) {
                continue; // the kind, or the fact that stands for a group of fields
            }
            JsonElement said = entry.getValue();
            if (said.isJsonNull()) {
                assertFalse(message.hasField(field), field::getFullName);
            } else if (field.isMapField()) {
                Map<String, String> found = new HashMap<>();
                for (Object pair : (List<?>) message.getField(field)) {
                    MapEntry<?, ?> each = (MapEntry<?, ?>) pair;
                    found.put(each.getKey().toString(), each.getValue().toString());
                }
                Map<String, String> wanted = new HashMap<>();
                said.getAsJsonObject().entrySet().forEach(each -> wanted.put(each.getKey(), each.getValue().getAsString()));
                assertEquals(wanted, found);
            } else if (field.isRepeated()) {
                JsonArray items = said.getAsJsonArray();
                assertEquals(items.size(), message.getRepeatedFieldCount(field), field::getFullName);
                for (int index = 0; index < items.size(); index++) {
                    sameValue(items.get(index), field, message.getRepeatedField(field, index));
                }
            } else {
                sameValue(said, field, message.getField(field));
            }
        }
    }

    private static void sameValue(JsonElement said, FieldDescriptor field, Object found) {
        switch (field.getJavaType()) {
            case MESSAGE -> same(said.getAsJsonObject(), (Message) found);
            case ENUM -> {
                EnumValueDescriptor value = (EnumValueDescriptor) found;
                String name = value.getIndex() < 0 ? "UNSPECIFIED" : value.getName();
                assertEquals(true, name.equals(said.getAsString()) || name.endsWith("_" + said.getAsString()), name);
            }
            case BOOLEAN -> assertEquals(said.getAsBoolean(), found);
            case STRING -> assertEquals(said.getAsString(), found);
            case DOUBLE, FLOAT -> assertEquals(said.getAsDouble(), ((Number) found).doubleValue());
            default -> {
                JsonPrimitive number = said.getAsJsonPrimitive();
                assertEquals(number.getAsLong(), ((Number) found).longValue(), field::getFullName);
            }
        }
    }

    private interface Check {
        void run(JsonObject row) throws Exception;
    }

    private static Stream<DynamicTest> cases(JsonArray rows, Check check) {
        return rows.asList().stream()
                .map(JsonElement::getAsJsonObject)
                .map(row -> DynamicTest.dynamicTest(row.get("name").getAsString(), () -> check.run(row)));
    }

    private static JsonElement read(String name) throws Exception {
        return JsonParser.parseString(Files.readString(VECTORS.resolve(name)));
    }

    private static byte[] bytes(JsonElement text) {
        return Base64.getDecoder().decode(text.getAsString());
    }

    private static List<String> texts(JsonArray array) {
        return array.asList().stream().map(JsonElement::getAsString).toList();
    }
}
