package arbiter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// Bot is a bot: who it is, and what it does at its turn. A bot that wants more implements some of the interfaces below;
// the client looks for them. A line such as `var _ arbiter.Ender = (*MyBot)(nil)` has the compiler check that.
//
// Methods are called in goroutines of their own, so that the stream stays alive while the bot thinks. Several matches
// may be under way at once: keep what belongs to one of them in LiveMatch.Memory. Nothing of a run is kept in the bot: one
// bot may be played by several runs, one after the other or at once.
type Bot interface {
	// Profile says who the bot is and what it wants to play. It is asked once, at the start of a run.
	Profile() Profile
	// Choose returns what to do at a turn: a Move, OfferDraw, ClaimDraw or Resign. The context ends when the match does,
	// or a later turn begins. An error, or a panic, costs the match (see Options.OnError).
	Choose(ctx context.Context, turn *Turn) (Choice, error)
}

// Refuser is a bot that deals with refusals of its choices.
type Refuser interface {
	// Refused returns another choice for a turn after the first one was refused, or nil to be asked through Choose once
	// more, with turn.Refused set, as bots without this method are. If that is refused too, the match is resigned.
	Refused(ctx context.Context, turn *Turn, refusal *ArbiterError) (Choice, error)
}

// Starter is a bot that is told of the beginnings of its matches.
type Starter interface {
	// Started is told that a match has started, or that one under way was taken up. It comes before its first turn. Of a
	// match against itself the bot is told twice, once a seat.
	Started(match *LiveMatch)
}

// Ender is a bot that is told of the ends of its matches.
type Ender interface {
	// Ended is told that a match has ended; once it returns, the server is told that the result was seen.
	Ended(finished *FinishedMatch)
}

// DrawAnswerer is a bot that answers draw offers; the others decline.
type DrawAnswerer interface {
	// DrawOffered returns whether to accept the opponent's draw offer.
	DrawOffered(match *LiveMatch) bool
}

// ChallengeAnswerer is a bot that answers challenges; for the others the profile does.
type ChallengeAnswerer interface {
	// Challenged answers a challenge. Where there is no room for one more match it is declined, whatever the answer.
	Challenged(challenge *Challenge) Answer
}

// SeekAnswerer is a bot that answers open seeks of other players; for the others the profile does. Only a bot whose
// profile accepts seeks is told of them.
type SeekAnswerer interface {
	Sought(seek *Challenge) Answer
}

// TournamentAnswerer is a bot that answers calls of tournaments; for the others the profile does. Only a bot whose
// profile enters tournaments is told of them.
type TournamentAnswerer interface {
	Called(tournament *TournamentCall) Answer
}

// ChallengeWatcher is a bot that is told of the ends of its own challenges and seeks.
type ChallengeWatcher interface {
	// ChallengeClosed is told that a challenge or seek of the bot's own is no longer open.
	ChallengeClosed(closed *ChallengeClosed)
}

// Profile is who a bot is and what it wants to play. The zero value of each field means what its comment says.
type Profile struct {
	Name         string   // for people; also the player, where nothing else names it
	Version      string   // "1"; versions are rated apart
	Games        []string // games or variants: `pods` stands for all its variants; empty: all
	TimeControls []string // what it accepts in challenges, seeks and tournaments; empty: all
	Opponents    []string // whom it plays by challenge and seek; empty: everybody
	MostMatches  int      // at once; 0: no limit
	Capabilities []string // what it can do beyond the protocol's first version, by name

	DeclineChallenges bool    // whether it declines every challenge
	AcceptSeeks       bool    // whether it accepts open seeks of others that suit
	Seeks             []Terms // seeks to keep open while there is room for a match
	EnterTournaments  bool    // whether it enters every tournament that suits

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
func (p *Profile) unsuited(terms Terms, player string) string {
	switch {
	case !p.Plays(terms.Game):
		return "this bot plays " + strings.Join(p.Games, ", ")
	case len(p.TimeControls) > 0 && !slices.Contains(p.TimeControls, terms.TimeControl):
		return "this bot plays at " + strings.Join(p.TimeControls, ", ")
	case len(p.Opponents) > 0 && !slices.Contains(p.Opponents, player):
		return "this bot chooses whom it plays"
	default:
		return ""
	}
}

// suits says whether a tournament suits the bot: it plays all its games, at its time control.
func (p *Profile) suits(call *TournamentCall) bool {
	for _, game := range call.Games {
		if !p.Plays(game) {
			return false
		}
	}
	return len(p.TimeControls) == 0 || slices.Contains(p.TimeControls, call.TimeControl)
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
