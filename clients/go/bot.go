package arbiter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// Bot is a bot. Embed Defaults, and write Profile and Choose; every other method has a default there.
//
// Methods are called in goroutines of their own, so that the stream stays alive while the bot thinks. Several matches
// may be under way at once: keep what belongs to one of them in LiveMatch.Memory.
type Bot interface {
	// Profile says who the bot is and what it wants to play. It is asked once, at the start of a run.
	Profile() Profile
	// Choose returns what to do at a turn: a Move, OfferDraw, ClaimDraw or Resign. The context ends when the match does,
	// or a later turn begins. An error, or a panic, costs the match (see Options.OnError).
	Choose(ctx context.Context, turn *Turn) (Choice, error)
	// Refused returns another choice for a turn after the first one was refused, or nil to be asked through Choose once
	// more, with turn.Refused set. If that is refused too, the match is resigned.
	Refused(ctx context.Context, turn *Turn, refusal *ArbiterError) (Choice, error)
	// Started is told that a match has started, or that one under way was taken up. It comes before its first turn. Of a
	// match against itself the bot is told twice, once a seat.
	Started(match *LiveMatch)
	// Ended is told that a match has ended; once it returns, the server is told that the result was seen.
	Ended(finished *FinishedMatch)
	// DrawOffered returns whether to accept the opponent's draw offer.
	DrawOffered(match *LiveMatch) bool
	// Challenged answers a challenge.
	Challenged(challenge *pb.Challenge) Answer
	// Sought answers the open seek of another player; only a profile that accepts seeks is told of them.
	Sought(seek *pb.Challenge) Answer
	// Called answers the call of a tournament; only a profile that enters tournaments is told of them.
	Called(tournament *pb.TournamentCall) Answer
	// ChallengeClosed is told that a challenge or seek of the bot's own is no longer open.
	ChallengeClosed(closed *pb.ChallengeClosed)
}

// Defaults has the default of every method of a Bot but Profile and Choose. It is to be embedded.
type Defaults struct{}

// Refused has Choose asked once more.
func (Defaults) Refused(context.Context, *Turn, *ArbiterError) (Choice, error) { return nil, nil }

// Started does nothing.
func (Defaults) Started(*LiveMatch) {}

// Ended does nothing.
func (Defaults) Ended(*FinishedMatch) {}

// DrawOffered declines.
func (Defaults) DrawOffered(*LiveMatch) bool { return false }

// Challenged leaves it to the profile.
func (Defaults) Challenged(*pb.Challenge) Answer { return ByProfile() }

// Sought leaves it to the profile.
func (Defaults) Sought(*pb.Challenge) Answer { return ByProfile() }

// Called leaves it to the profile.
func (Defaults) Called(*pb.TournamentCall) Answer { return ByProfile() }

// ChallengeClosed does nothing.
func (Defaults) ChallengeClosed(*pb.ChallengeClosed) {}

// Profile is who a bot is and what it wants to play. The zero value of each field means what its comment says.
type Profile struct {
	Name         string   // for people; also the player, where nothing else names it
	Version      string   // "1"; versions are rated apart
	Games        []string // games or variants: `pods` stands for all its variants; empty: all
	TimeControls []string // what it accepts in challenges, seeks and tournaments; empty: all
	Opponents    []string // whom it plays by challenge and seek; empty: everybody
	MostMatches  int      // at once; 0: no limit
	Capabilities []string // what it can do beyond the protocol's first version, by name

	DeclineChallenges bool        // whether it declines every challenge
	AcceptSeeks       bool        // whether it accepts open seeks of others that suit
	Seeks             []*pb.Terms // seeks to keep open while there is room for a match
	EnterTournaments  bool        // whether it enters every tournament that suits

	Extras Extras // what turns carry beyond the minimum
}

// Extras are what each turn shall carry beyond the minimum; they cost time on both sides.
type Extras struct {
	Board          bool
	LegalMoveCount bool
	LegalMovesUpTo int // the legal moves, where there are at most so many
	Steps          bool
}

// Plays says whether a bot plays a variant: it, or its game, is among the games, or there are none.
func (p *Profile) Plays(variant string) bool {
	game, _, _ := strings.Cut(variant, "(")
	return len(p.Games) == 0 || slices.Contains(p.Games, variant) || slices.Contains(p.Games, game)
}

// unsuited returns why terms of somebody's do not suit the bot, or "".
func (p *Profile) unsuited(terms *pb.Terms, player string) string {
	switch {
	case !p.Plays(terms.GetGame()):
		return "this bot plays " + strings.Join(p.Games, ", ")
	case len(p.TimeControls) > 0 && !slices.Contains(p.TimeControls, terms.GetTimeControl()):
		return "this bot plays at " + strings.Join(p.TimeControls, ", ")
	case len(p.Opponents) > 0 && !slices.Contains(p.Opponents, player):
		return "this bot chooses whom it plays"
	default:
		return ""
	}
}

// suits says whether a tournament suits the bot: it plays all its games, at its time control.
func (p *Profile) suits(call *pb.TournamentCall) bool {
	for _, game := range call.GetGames() {
		if !p.Plays(game) {
			return false
		}
	}
	return len(p.TimeControls) == 0 || slices.Contains(p.TimeControls, call.GetTimeControl())
}

func (p *Profile) hello() *pb.ClientHello {
	return &pb.ClientHello{
		ProtocolVersion: ProtocolVersion,
		Software:        Software,
		SoftwareVersion: Version,
		BotName:         p.Name,
		BotVersion:      p.Version,
		Capabilities:    p.Capabilities,
		Games:           p.Games,
		MostMatches:     int32(p.MostMatches),
		Seeks:           p.AcceptSeeks,
		Tournaments:     p.EnterTournaments,
		Extras: &pb.TurnExtras{
			Board:          p.Extras.Board,
			LegalMoveCount: p.Extras.LegalMoveCount,
			LegalMovesUpTo: int32(p.Extras.LegalMovesUpTo),
			Steps:          p.Extras.Steps,
		},
	}
}

// Choice is what a bot does at its turn: Move, OfferDraw, ClaimDraw or Resign.
type Choice interface{ acts() []*pb.PlayAct }

// Move plays a move, and says what the bot thinks of it; opponents see that after the end of the match.
type Move struct {
	Text string
	// Evaluation is the score that the bot expects, in permille: 0 lost, 500 even, 1000 won; nil for nothing.
	Evaluation *int
	// Line are the moves that it expects from this one on, its own move first. What goes beyond 32 moves or 500
	// characters is cut off by the server.
	Line []string
}

// OfferDraw offers a draw, and plays a move.
type OfferDraw struct{ Move Move }

// ClaimDraw claims the draw that the turn's draw claim names.
type ClaimDraw struct{}

// Resign gives the match up.
type Resign struct{}

const (
	mostLineMoves = 32
	longestLine   = 500
)

func (m Move) acts() []*pb.PlayAct {
	return []*pb.PlayAct{{Act: &pb.PlayAct_Move{Move: &pb.MoveAct{Move: m.Text, Comment: m.comment()}}}}
}

// comment returns what is said with a move, without what does not fit: a comment must not cost the move.
func (m Move) comment() *pb.MoveComment {
	comment := &pb.MoveComment{}
	if m.Evaluation != nil && *m.Evaluation >= 0 && *m.Evaluation <= 1000 {
		score := int32(*m.Evaluation)
		comment.Evaluation = &score
	}
	for _, move := range m.Line[:min(len(m.Line), mostLineMoves)] {
		if len(move) > longestLine || strings.IndexFunc(move, func(letter rune) bool { return letter > 126 }) >= 0 {
			break
		}
		comment.Line = append(comment.Line, move)
	}
	if comment.Evaluation == nil && len(comment.Line) == 0 {
		return nil
	}
	return comment
}

func (o OfferDraw) acts() []*pb.PlayAct {
	offer := &pb.PlayAct{Act: &pb.PlayAct_OfferDraw{OfferDraw: &pb.OfferDrawAct{}}}
	return append([]*pb.PlayAct{offer}, o.Move.acts()...)
}

func (ClaimDraw) acts() []*pb.PlayAct {
	return []*pb.PlayAct{{Act: &pb.PlayAct_ClaimDraw{ClaimDraw: &pb.ClaimDrawAct{}}}}
}

func (Resign) acts() []*pb.PlayAct {
	return []*pb.PlayAct{{Act: &pb.PlayAct_Resign{Resign: &pb.ResignAct{}}}}
}

// Answer is what becomes of a challenge, a seek or a tournament's call: ByProfile, Accept or Decline.
type Answer struct {
	accept, decide bool
	reason         string
}

// ByProfile lets the profile decide.
func ByProfile() Answer { return Answer{decide: true} }

// Accept accepts, or enters.
func Accept() Answer { return Answer{accept: true} }

// Decline declines a challenge for a reason that its challenger is told; it leaves a seek or a tournament alone.
func Decline(format string, values ...any) Answer {
	return Answer{reason: fmt.Sprintf(format, values...)}
}
