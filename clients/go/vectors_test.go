package arbiter

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

func vectors[V any](t *testing.T, name string) V {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	var found V
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

type expectedError struct {
	Error        string            `json:"error"`
	Reason       string            `json:"reason"`
	Code         string            `json:"code"`
	Message      *string           `json:"message"`
	Facts        map[string]string `json:"facts"`
	Temporary    bool              `json:"temporary"`
	RetryAfterMs int64             `json:"retry_after_ms"`
}

// codeNames are the names of gRPC's status codes as the protocol writes them.
var codeNames = []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
	"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

func (e expectedError) check(t *testing.T, err error) {
	t.Helper()
	var refusal *ArbiterError
	if !errors.As(err, &refusal) {
		var lost *ConnectionError
		if e.Error != "ConnectionFailed" || !errors.As(err, &lost) {
			t.Errorf("expected %s, found %v", e.Error, err)
		}
		return
	}
	found := expectedError{"ArbiterError", string(refusal.Reason), codeNames[refusal.Code], e.Message, refusal.Facts,
		refusal.Temporary(), refusal.RetryAfter().Milliseconds()}
	if e.Message != nil && *e.Message != refusal.Message {
		t.Errorf("the message is %q, expected %q", refusal.Message, *e.Message)
	}
	if !maps.Equal(found.Facts, e.Facts) {
		t.Errorf("the facts are %v, expected %v", found.Facts, e.Facts)
	}
	found.Facts, e.Facts = nil, nil
	if found.Error != e.Error || found.Reason != e.Reason || found.Code != e.Code || found.Temporary != e.Temporary ||
		found.RetryAfterMs != e.RetryAfterMs {
		t.Errorf("found %+v, expected %+v", found, e)
	}
}

func TestRefusalVectors(t *testing.T) {
	cases := vectors[struct {
		Messages []struct {
			Name     string
			Refusal  string
			Expected expectedError
		}
		Statuses []struct {
			Name          string
			Code          string
			StatusMessage string `json:"status_message"`
			Details       *string
			Expected      expectedError
		}
	}](t, "refusals.json")
	if len(cases.Messages) == 0 || len(cases.Statuses) == 0 {
		t.Fatal("there are no cases")
	}
	for _, each := range cases.Messages {
		t.Run(each.Name, func(t *testing.T) {
			refusal := &pb.Refusal{}
			if err := proto.Unmarshal(bytesOf(t, each.Refusal), refusal); err != nil {
				t.Fatal(err)
			}
			each.Expected.check(t, fromRefusal(refusal))
		})
	}
	for _, each := range cases.Statuses {
		t.Run(each.Name, func(t *testing.T) {
			st := &spb.Status{}
			if each.Details != nil && proto.Unmarshal(bytesOf(t, *each.Details), st) != nil {
				st = &spb.Status{} // details that are no status say nothing
			}
			st.Code, st.Message = int32(slices.Index(codeNames, each.Code)), each.StatusMessage
			each.Expected.check(t, fromStatus(st, "here"))
		})
	}
}

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestItemVectors(t *testing.T) {
	cases := vectors[[]struct {
		Name     string
		Response string
		Expected []map[string]any
	}](t, "items.json")
	if len(cases) == 0 {
		t.Fatal("there are no cases")
	}
	for _, each := range cases {
		t.Run(each.Name, func(t *testing.T) {
			response := &pb.PlayResponse{}
			if err := proto.Unmarshal(bytesOf(t, each.Response), response); err != nil {
				t.Fatal(err)
			}
			var known []protoreflect.Message
			var kinds []string
			for _, item := range response.GetItems() {
				message := item.ProtoReflect()
				if which := message.WhichOneof(message.Descriptor().Oneofs().ByName("item")); which != nil {
					known = append(known, message.Get(which).Message())
					kinds = append(kinds, string(which.Name()))
				}
			}
			if len(known) != len(each.Expected) {
				t.Fatalf("found %v, expected %d items", kinds, len(each.Expected))
			}
			for at, expected := range each.Expected {
				if expected["kind"] != kinds[at] {
					t.Errorf("item %d is a %s, expected %v", at, kinds[at], expected["kind"])
				}
				delete(expected, "kind")
				checkMessage(t, kinds[at], known[at], expected)
			}
		})
	}
}

// checkMessage compares the texts, numbers and flags of a message, and its enumerations by name; and so within.
func checkMessage(t *testing.T, where string, message protoreflect.Message, expected map[string]any) {
	t.Helper()
	fields := message.Descriptor().Fields()
	for name, value := range expected {
		field := fields.ByName(protoreflect.Name(name))
		if field == nil {
			t.Errorf("%s has no field %s", where, name)
			continue
		}
		if field.IsList() || field.IsMap() || value == nil {
			continue
		}
		found := message.Get(field)
		switch inner, isMessage := value.(map[string]any); {
		case isMessage:
			checkMessage(t, where+"."+name, found.Message(), inner)
		case field.Enum() != nil:
			known := field.Enum().Values().ByNumber(found.Enum())
			if known == nil {
				known = field.Enum().Values().ByNumber(0)
			}
			if !strings.HasSuffix(string(known.Name()), "_"+value.(string)) {
				t.Errorf("%s.%s is %s, expected %v", where, name, known.Name(), value)
			}
		default:
			if number, isNumber := value.(float64); isNumber && field.Kind() != protoreflect.StringKind {
				value = int64(number)
			}
			if said := found.Interface(); asInt(said) != value && said != value {
				t.Errorf("%s.%s is %v, expected %v", where, name, said, value)
			}
		}
	}
}

func asInt(value any) any {
	switch number := value.(type) {
	case int32:
		return int64(number)
	case uint64:
		return int64(number)
	case uint32:
		return int64(number)
	}
	return value
}

func TestLineVectors(t *testing.T) {
	cases := vectors[[]struct {
		Name      string
		Known     []string
		LastMoves []struct {
			Ply, Seat int32
			Move      string
		} `json:"last_moves"`
		Ply   int32
		Gap   bool
		Moves []string
	}](t, "lines.json")
	if len(cases) == 0 {
		t.Fatal("there are no cases")
	}
	for _, each := range cases {
		t.Run(each.Name, func(t *testing.T) {
			turn := &pb.Turn{Ply: each.Ply}
			for _, last := range each.LastMoves {
				turn.LastMoves = append(turn.LastMoves, &pb.RecentMove{Ply: last.Ply, Seat: last.Seat, Move: last.Move})
			}
			moves, whole := joined(each.Known, turn)
			if whole == each.Gap || whole && !slices.Equal(moves, each.Moves) {
				t.Errorf("found %v, %v", moves, whole)
			}
		})
	}
}

func TestTimeControlVectors(t *testing.T) {
	for _, each := range some(t, vectors[[]struct {
		Name, Text string
		Canonical  *string
	}](t, "time_controls.json")) {
		t.Run(each.Name, func(t *testing.T) {
			found, err := canonicalControl(each.Text)
			if each.Canonical == nil {
				var refusal *ArbiterError
				if !errors.As(err, &refusal) || refusal.Reason != ReasonParameterInvalid || sameControl(each.Text, "5m") {
					t.Errorf("found %q, %v", found, err)
				}
			} else if err != nil || found != *each.Canonical || !sameControl(each.Text, *each.Canonical) {
				t.Errorf("found %q, %v", found, err)
			}
			if !sameControl(each.Text, each.Text) {
				t.Error("it is not itself")
			}
		})
	}
}

func TestTimeOddsVectors(t *testing.T) {
	for _, each := range some(t, vectors[[]struct {
		Name         string
		TimeControl  string   `json:"time_control"`
		TimeControls []string `json:"time_controls"`
		Own          []string
	}](t, "time_odds.json")) {
		for at, expected := range each.Own {
			if own := ownControl(each.TimeControl, each.TimeControls, at+1); own != expected {
				t.Errorf("%s: seat %d has %q, expected %q", each.Name, at+1, own, expected)
			}
		}
	}
}

func TestThinkTimeVectors(t *testing.T) {
	for _, each := range some(t, vectors[[]struct {
		Name          string
		TimeControl   string  `json:"time_control"`
		LeftMs        float64 `json:"left_ms"`
		MainMs        float64 `json:"main_ms"`
		MovesLeft     int     `json:"moves_left"`
		ExpectedPlies int     `json:"expected_plies"`
		Matches       int
		ThinkMs       float64 `json:"think_ms"`
	}](t, "think_times.json")) {
		span := func(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
		found := Thinking{each.TimeControl, span(each.LeftMs), span(each.MainMs), each.MovesLeft, each.ExpectedPlies, each.Matches}.ThinkTime()
		if math.Abs(inMs(found)-each.ThinkMs) > 0.001 {
			t.Errorf("%s: %v, expected %v ms", each.Name, found, each.ThinkMs)
		}
	}
}

func TestPlainTextVectors(t *testing.T) {
	for _, each := range some(t, vectors[[]struct{ Name, Text, Plain string }](t, "plain_texts.json")) {
		if found := PlainText(each.Text); found != each.Plain {
			t.Errorf("%s: %q, expected %q", each.Name, found, each.Plain)
		}
		written := &strings.Builder{}
		newLog(written, slog.LevelInfo).Warn(each.Text, stackKey, each.Text)
		for _, line := range strings.Split(written.String(), "\n") {
			if plainLines(line) != line {
				t.Errorf("%s: the log has %q", each.Name, line)
			}
		}
	}
	if found := PlainText("a\xffb"); found != `a\xffb` {
		t.Errorf("what is no UTF-8 became %q", found)
	}
}

func TestOpeningBookVectors(t *testing.T) {
	for _, each := range some(t, vectors[[]struct {
		Name, Text, Game string
		Played, Moves    []string
		Line             int
	}](t, "opening_books.json")) {
		book, err := ParseOpeningBook(each.Text)
		if each.Moves == nil {
			where := fmt.Sprintf("line %d of the opening book", each.Line)
			var refusal *ArbiterError
			if !errors.As(err, &refusal) || refusal.Reason != ReasonParameterInvalid || !strings.HasPrefix(refusal.Message, where) {
				t.Errorf("%s: found %v", each.Name, err)
			}
		} else if err != nil || !slices.Equal(book.Moves(each.Game, each.Played), each.Moves) {
			t.Errorf("%s: found %v, %v", each.Name, book.Moves(each.Game, each.Played), err)
		}
	}
}

func TestFilterVectors(t *testing.T) {
	for _, each := range some(t, vectors[[]struct {
		Name     string
		Settings struct {
			Games        []string
			TimeControls []string `json:"time_controls"`
			Rated        *bool
			Seat         int
			Opponents    []string
			LeastRating  *float64 `json:"least_rating"`
			MostRating   *float64 `json:"most_rating"`
		}
		Challenge struct {
			Game        string
			TimeControl string `json:"time_control"`
			Rated       bool
			Seat        int
			Challenger  string
			Rating      *float64
		}
		Objection string
	}](t, "filters.json")) {
		set, told := each.Settings, each.Challenge
		profile := Profile{Games: set.Games, TimeControls: set.TimeControls, Seat: set.Seat, Opponents: set.Opponents,
			LeastRating: set.LeastRating, MostRating: set.MostRating}
		if set.Rated != nil {
			profile.Rated = map[bool]Rated{true: RatedOnly, false: UnratedOnly}[*set.Rated]
		}
		terms := Terms{Game: told.Game, TimeControl: told.TimeControl, Rated: told.Rated, Seat: told.Seat}
		if found := profile.Objection(&Challenge{Challenger: told.Challenger, Terms: terms, Rating: told.Rating}); found != each.Objection {
			t.Errorf("%s: %q, expected %q", each.Name, found, each.Objection)
		}
	}
}

func TestBoardArrayVectors(t *testing.T) {
	for _, each := range some(t, vectors[[]struct {
		Name     string
		Lines    [][]string
		Contents []Cell
		Array    [][]*string
	}](t, "board_arrays.json")) {
		board := &pb.Board{}
		for _, line := range each.Lines {
			board.Lines = append(board.Lines, &pb.CellLine{Cells: line})
		}
		rows := BoardArray(board, each.Contents)
		for at, row := range rows {
			for column, cell := range row {
				expected := each.Array[at][column]
				if (cell == nil) != (expected == nil) || cell != nil && fmt.Sprintf("%d%s", cell.Owner, cell.Piece) != *expected {
					t.Errorf("%s: row %d, cell %d is %v", each.Name, at, column, cell)
				}
			}
		}
		if len(rows) != len(each.Array) {
			t.Errorf("%s: there are %d rows", each.Name, len(rows))
		}
	}
}

func TestCredentialsVectors(t *testing.T) {
	for _, each := range some(t, vectors[[]struct {
		Name, Text string
		Entries    tokens
	}](t, "credentials.json")) {
		found, err := parseCredentials(each.Text)
		if (err != nil) != (each.Entries == nil) || err == nil && !maps.EqualFunc(found, each.Entries, maps.Equal[map[string]string, map[string]string]) {
			t.Errorf("%s: found %v, %v", each.Name, found, err)
		}
	}
}

// some returns vectors, of which there must be one.
func some[V any](t *testing.T, found []V) []V {
	t.Helper()
	if len(found) == 0 {
		t.Fatal("there are no cases")
	}
	return found
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	pauses := newBackoff()
	pauses.chance = func() float64 { return 0 }
	for _, expected := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		if pause := pauses.next(0); pause != expected*time.Millisecond {
			t.Errorf("the pause is %v, expected %v ms", pause, int(expected))
		}
	}
	pauses.reset()
	pauses.chance = func() float64 { return 1 }
	if pause := pauses.next(time.Second); pause != 1050*time.Millisecond {
		t.Errorf("the pause is %v", pause)
	}
}

func TestCredentials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "credentials.json")
	t.Setenv("ARBITER_CREDENTIALS", path)
	for _, player := range []string{"alice", "bob"} {
		if err := SaveToken("127.0.0.1:7400", player, "token of "+player); err != nil {
			t.Fatal(err)
		}
	}
	if token, err := FindToken("127.0.0.1:7400", "alice"); token != "token of alice" || err != nil {
		t.Errorf("found %q, %v", token, err)
	}
	if token, err := FindToken("127.0.0.1:7401", "alice"); token != "" || err != nil {
		t.Errorf("found %q, %v", token, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("alice = "), 0o600); err != nil {
		t.Fatal(err)
	}
	var wrong *CredentialsError
	if _, err := FindToken("127.0.0.1:7400", "alice"); !errors.As(err, &wrong) {
		t.Errorf("found %v", err)
	}
	p := newPeer(t)
	p.plays(always("a"), Options{Name: "alice"}) // with a token the file is not read
	p.meet()
}

func TestAnEarlierCredentialsFileIsRewritten(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ARBITER_CREDENTIALS", "")
	t.Setenv("XDG_CONFIG_HOME", home)
	earlier := filepath.Join(home, "arbiter", "credentials.toml")
	if err := os.MkdirAll(filepath.Dir(earlier), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(earlier, []byte("[\"here:1\"]\nalice = \"TOKEN\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if token, err := FindToken("here:1", "alice"); token != "TOKEN" || err != nil {
			t.Fatalf("found %q, %v", token, err)
		}
		if _, err := os.Stat(earlier); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the earlier file is still there: %v", err)
		}
	}
	var kept tokens
	text, err := os.ReadFile(filepath.Join(home, "arbiter", "credentials.json"))
	if err = errors.Join(err, json.Unmarshal(text, &kept)); err != nil || kept["here:1"]["alice"] != "TOKEN" {
		t.Errorf("kept %s, %v", text, err)
	}
}

func TestCommandLine(t *testing.T) {
	profile, options, err := parse(Profile{Name: "b"}, []string{"--games", "pods(size=5,x=1), hop-it", "--seek", "pods 1m+1s rated seat=2",
		"--most-matches=3", "--server", "h:1", "--accept-seeks"})
	if err != nil || !slices.Equal(profile.Games, []string{"pods(size=5,x=1)", "hop-it"}) || profile.MostMatches != 3 ||
		!profile.AcceptSeeks || options.Server != "h:1" {
		t.Errorf("read %+v, %+v, %v", profile, options, err)
	}
	expected := Terms{Game: "pods", TimeControl: "1m+1s", Rated: true, Seat: 2}
	if len(profile.Seeks) != 1 || profile.Seeks[0] != expected {
		t.Errorf("it seeks %v", profile.Seeks)
	}
	for _, wrong := range [][]string{{"--seek", "pods seat=3"}, {"--seek", " "}, {"--matches", "many"}, {"--matches", "-1"}, {"--nonsense"}} {
		if _, _, err := parse(Profile{}, wrong); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v is read as %v", wrong, err)
		}
	}
}

func TestACommentThatDoesNotFitCostsNothing(t *testing.T) {
	for _, move := range []Move{{Text: "a"}, {Text: "a", Evaluation: Permille(1001)}, {Text: "a", Evaluation: Permille(-1), Line: []string{"é"}},
		{Text: "a", Line: []string{strings.Repeat("x", 501)}}} {
		if comment := move.comment(); comment != nil {
			t.Errorf("%v says %v", move, comment)
		}
	}
	if comment := (Move{Text: "a", Evaluation: Permille(612), Line: []string{"a", "é"}}).comment(); comment.GetEvaluation() != 612 || len(comment.GetLine()) != 1 {
		t.Errorf("it says %v", comment)
	}
}

func TestObservingResumes(t *testing.T) {
	p := newPeer(t)
	event := func(revision int64) *pb.ObserveItem {
		return &pb.ObserveItem{Item: &pb.ObserveItem_Event{Event: &pb.MatchEvent{MatchId: "m1", Revision: revision}}}
	}
	calls := 0
	p.observing = func(_ *pb.ObserveRequest, stream observeStream) error {
		calls++
		if calls == 1 {
			_ = stream.Send(&pb.ObserveResponse{Items: []*pb.ObserveItem{event(1), event(2)}})
			return refusing(pb.RefusalReason_REFUSAL_REASON_READER_TOO_SLOW, codes.Aborted)
		}
		return stream.Send(&pb.ObserveResponse{Items: []*pb.ObserveItem{event(2), event(3)}})
	}
	client, err := NewClient(ClientOptions{Server: p.address, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var revisions []int64
	for event, err := range client.Observe(t.Context(), "m1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, event.GetRevision())
	}
	if !slices.Equal(revisions, []int64{1, 2, 3}) {
		t.Errorf("saw %v", revisions)
	}
	next(t, "call", p.observed)
	if after := next(t, "call", p.observed).GetMatch().GetAfterRevision(); after != 2 {
		t.Errorf("resumed after %d", after)
	}
}
