package arbiter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// realArbiter is an arbiter process on a folder of its own: it can be killed, and started again on the same record.
type realArbiter struct {
	t       *testing.T
	folder  string
	address string
	more    []string // options of `arbiter serve`
	admin   string
	process *exec.Cmd
}

func newArbiter(t *testing.T, more ...string) *realArbiter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	a := &realArbiter{t: t, folder: t.TempDir(), address: listener.Addr().String(), more: more}
	t.Setenv("ARBITER_CREDENTIALS", filepath.Join(a.folder, "credentials.json"))
	a.start()
	t.Cleanup(a.kill)
	return a
}

// start starts it, and waits until it says that it listens.
func (a *realArbiter) start() {
	a.t.Helper()
	program := either(os.Getenv("ARBITER_COMMAND"), "../../.venv/bin/arbiter")
	words := append([]string{"serve", "--listen", a.address, "--store", "sqlite:///" + filepath.Join(a.folder, "arbiter.db")}, a.more...)
	a.process = exec.Command(program, words...)
	a.process.Env = append(os.Environ(), "PYTHONUNBUFFERED=1", "NO_COLOR=1")
	said, err := a.process.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	a.process.Stderr = os.Stderr
	if err := a.process.Start(); err != nil {
		a.t.Fatalf("%v: set up the arbiter with `make setup`, or name it in ARBITER_COMMAND", err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, token, found := strings.Cut(lines.Text(), "shown only now: "); found {
			a.admin = strings.TrimSpace(token)
		}
		if strings.HasPrefix(lines.Text(), "Next:") {
			go func() {
				for lines.Scan() { // what it says must not fill its pipe
				}
			}()
			return
		}
	}
	a.t.Fatal("the arbiter did not start")
}

func (a *realArbiter) kill() {
	_ = a.process.Process.Kill()
	_ = a.process.Wait()
}

// create makes a match between two players that have registered.
func (a *realArbiter) create(security *TLS, game string, players ...string) string {
	a.t.Helper()
	client, err := NewClient(ClientOptions{Server: a.address, Token: a.admin, TLS: security})
	if err != nil {
		a.t.Fatal(err)
	}
	defer client.Close()
	deadline := time.Now().Add(wait)
	for {
		request := &pb.CreateMatchRequest{RequestId: newRequestID(), Game: game, Players: players, TimeControl: "1m+1s"}
		made, err := pb.NewMatchServiceClient(client.Channel()).CreateMatch(a.t.Context(), request)
		if err == nil {
			return made.GetMatch().GetMatchId()
		}
		var refusal *ArbiterError
		if !errors.As(fromRPC(err, a.address), &refusal) || refusal.Reason != "PLAYER_NOT_FOUND" || time.Now().After(deadline) {
			a.t.Fatal(err)
		}
		rest(a.t.Context(), 20*time.Millisecond, nil, nil) // its bot is about to register
	}
}

// firstLegal plays the first legal move, and tells of the plies that it is asked about and of ended matches.
type firstLegal struct {
	scripted
	turns chan int
}

func newFirstLegal(name string) *firstLegal {
	bot := &firstLegal{turns: make(chan int, 10_000)}
	bot.profile = Profile{Name: name, Extras: Extras{LegalMovesUpTo: 5}}
	bot.ended = make(chan *FinishedMatch, 8)
	bot.choose = func(ctx context.Context, turn *Turn) (Choice, error) {
		bot.turns <- int(turn.Ply)
		moves, err := turn.Moves(ctx)
		if err != nil {
			return nil, err
		}
		return Move{Text: moves[0].Text}, nil
	}
	return bot
}

func (a *realArbiter) plays(bot Bot, security *TLS) <-chan error {
	outcome := make(chan error, 1)
	go func() { outcome <- Play(a.t.Context(), bot, Options{Server: a.address, TLS: security, Matches: 1}) }()
	return outcome
}

func TestAMatchSurvivesTheDeathOfTheArbiter(t *testing.T) {
	a := newArbiter(t)
	alice, bob := newFirstLegal("alice"), newFirstLegal("bob")
	outcomes := []<-chan error{a.plays(alice, nil), a.plays(bob, nil)}
	match := a.create(nil, "hop-it", "alice", "bob")
	for next(t, "turn", alice.turns) < 4 {
	}
	a.kill()
	a.start()
	finished := next(t, "end", alice.ended)
	if finished.ID != match || finished.Result.Cause != "RULES" {
		t.Errorf("the match ended with %v", finished)
	}
	mine, _ := finished.Score()
	theirs, _ := next(t, "end", bob.ended).Score()
	if mine+theirs != 1 {
		t.Errorf("the scores are %v and %v", mine, theirs)
	}
	for _, outcome := range outcomes {
		if err := next(t, "outcome", outcome); err != nil {
			t.Errorf("a run ended with %v", err)
		}
	}
	client, err := NewClient(ClientOptions{Server: a.address, Name: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	last := int64(0)
	for event, err := range client.Observe(t.Context(), match, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if last++; event.GetRevision() != last {
			t.Errorf("event %d has revision %d", last, event.GetRevision())
		}
	}
	if told, err := client.Match(t.Context(), match, true); err != nil || len(told.GetMoves()) < 4 {
		t.Errorf("the match is told as %v, %v", told, err)
	}
}

func TestTheNewestSessionOfAPlayerWins(t *testing.T) {
	a := newArbiter(t)
	older := a.plays(newFirstLegal("alice"), nil)
	newer := newFirstLegal("alice")
	a.create(nil, "hop-it", "alice", "alice")
	a.plays(newer, nil)
	var refusal *ArbiterError
	err := next(t, "outcome", older)
	if err != nil && (!errors.As(err, &refusal) || refusal.Reason != ReasonSessionSuperseded) {
		t.Errorf("the older run ended with %v", err)
	}
}

func TestCallsOfARealArbiter(t *testing.T) {
	a := newArbiter(t)
	client, err := NewClient(ClientOptions{Server: a.address, Token: a.admin})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	games, err := client.Games(t.Context())
	if err != nil || len(games) < 5 {
		t.Fatalf("there are %v, %v", games, err)
	}
	line := Line{Game: "elevation"}
	legal, err := client.LegalMoves(t.Context(), line)
	if err != nil || len(legal) < 1000 {
		t.Fatalf("there are %d moves, %v", len(legal), err)
	}
	line = line.Then(legal[0].Text)
	if played, err := client.PlayMoves(t.Context(), line, 0, false); err != nil || len(played.Positions) != 2 {
		t.Errorf("played %v, %v", played, err)
	}
	if info, err := client.ServerInfo(t.Context()); err != nil || len(info.GetPublicKeys()) == 0 {
		t.Errorf("the server says %v, %v", info, err)
	}
	if _, err := client.Game(t.Context(), "pods"); err != nil {
		t.Error(err)
	}
	var refusal *ArbiterError
	if _, err := client.Match(t.Context(), "nothing", false); !errors.As(err, &refusal) || refusal.Reason != ReasonMatchNotFound {
		t.Errorf("found %v", err)
	}
	two := &pb.CreateMatchRequest{Game: "pods", Players: []string{"admin", "admin"}, Label: "go", TimeControl: "5m:2m"}
	var made []string
	for range 3 {
		match, err := client.CreateMatch(t.Context(), two)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, match.GetMatchId())
	}
	listed, err := client.ListMatches(t.Context(), &pb.ListMatchesRequest{Label: "go"}, 2)
	if err != nil || len(listed) != 2 || listed[0].GetMatchId() != made[2] || ownControl("", listed[0].GetTimeControls(), 2) != "2m" {
		t.Errorf("found %v, %v", listed, err)
	}
	if record, err := client.Transcript(t.Context(), made[0]); err != nil || !strings.Contains(string(record), made[0]) {
		t.Errorf("the record is %s, %v", record, err)
	}
	if rating, err := client.Rating(t.Context(), "admin", "pods"); err != nil || len(rating.GetVersions()) != 0 {
		t.Errorf("found %v, %v", rating, err)
	}
	if tournaments, err := client.Tournaments(t.Context()); err != nil || len(tournaments) != 0 {
		t.Errorf("found %v, %v", tournaments, err)
	}
	if myself, err := client.Myself(t.Context()); err != nil || myself.GetPlayer().GetName() != "admin" {
		t.Errorf("found %v, %v", myself, err)
	}
}

func TestTLS(t *testing.T) {
	folder := t.TempDir()
	openssl(t, folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=root", "-keyout", "root.key", "-out", "root.pem",
		"-addext", "basicConstraints=critical,CA:TRUE")
	openssl(t, folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
	if err := os.WriteFile(filepath.Join(folder, "names"), []byte("subjectAltName=IP:127.0.0.1,DNS:localhost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	openssl(t, folder, "x509", "-req", "-in", "server.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-days", "2",
		"-extfile", "names", "-out", "server.pem")
	a := newArbiter(t, "--tls-certificate", filepath.Join(folder, "server.pem"), "--tls-key", filepath.Join(folder, "server.key"))
	security := &TLS{RootCertificate: filepath.Join(folder, "root.pem")}
	bot := newFirstLegal("alice")
	a.plays(bot, security)
	a.create(security, "hop-it", "alice", "alice")
	next(t, "end", bot.ended)

	var lost *ConnectionError
	stranger, err := NewClient(ClientOptions{Server: a.address, Token: a.admin, TLS: &TLS{}, Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Games(t.Context()); !errors.As(err, &lost) {
		t.Errorf("a server that nothing vouches for is trusted: %v", err)
	}
	var wrong *CredentialsError
	for _, security := range []*TLS{{RootCertificate: "nowhere"}, {RootCertificate: filepath.Join(folder, "names")}, {ClientKey: "half"}} {
		if _, err := NewClient(ClientOptions{Server: a.address, Token: "t", TLS: security}); !errors.As(err, &wrong) {
			t.Errorf("%+v is taken: %v", *security, err)
		}
	}
}

func openssl(t *testing.T, folder string, words ...string) {
	t.Helper()
	command := exec.Command("openssl", words...)
	command.Dir = folder
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("openssl %s: %w\n%s", words[0], err, said))
	}
}
