package arbiter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// Bot is a bot: it describes itself and chooses moves. A bot may also implement any of the interfaces below; the client
// looks for them. With a line such as `var _ arbiter.Ender = (*MyBot)(nil)` the compiler checks that.
//
// Methods are called in goroutines of their own, so that the stream stays alive while the bot thinks. Several matches
// may be under way at once: keep the data of a match in LiveMatch.Memory. The client keeps no data in the bot, so
// several runs may play one bot, one after the other or at once. The contexts of the optional methods end with the run.
type Bot interface {
	// Profile describes the bot and the matches that it wants. It is called once, at the start of a run.
	Profile() Profile
	// Choose returns the choice for a turn: a Move, OfferDraw, ClaimDraw or Resign. The context ends when the match does,
	// or a later turn begins. An error, or a panic, costs the match (see Options.OnError).
	Choose(ctx context.Context, turn *Turn) (Choice, error)
}

// Refuser is a bot that reacts to refusals of its choices.
type Refuser interface {
	// Refused returns another choice for a turn after the first one was refused, or nil: then Choose is called once more,
	// with turn.Refused set, as for bots without this method. If that choice is refused too, the bot resigns the match.
	Refused(ctx context.Context, turn *Turn, refusal *ArbiterError) (Choice, error)
}

// Starter is a bot that reacts to the beginning of its matches.
type Starter interface {
	// Started is called when a match has started, or when the bot continues one after a restart; before its first turn.
	// No clock of the match starts before it has returned, or at most Policy.ready_ms later.
	// For a match of the bot against itself it is called twice, once for each seat.
	Started(ctx context.Context, match *LiveMatch)
}

// Ender is a bot that reacts to the end of its matches.
type Ender interface {
	// Ended is called when a match has ended. After it returns, the client acknowledges the result to the server.
	Ended(ctx context.Context, finished *FinishedMatch)
}

// DrawAnswerer is a bot that answers draw offers; the others decline.
type DrawAnswerer interface {
	// DrawOffered returns whether to accept the opponent's draw offer.
	DrawOffered(ctx context.Context, match *LiveMatch) bool
}

// ChallengeAnswerer is a bot that answers challenges; for other bots the profile decides.
type ChallengeAnswerer interface {
	// Challenged answers a challenge. If there is no room for one more match, the challenge is declined in any case.
	Challenged(ctx context.Context, challenge *Challenge) Answer
}

// SeekAnswerer is a bot that answers open seeks of other players; for other bots the profile decides. Only a bot whose
// profile accepts seeks receives them.
type SeekAnswerer interface {
	Sought(ctx context.Context, seek *Challenge) Answer
}

// TournamentAnswerer is a bot that answers calls of tournaments; for other bots the profile decides. Only a bot whose
// profile enters tournaments receives them.
type TournamentAnswerer interface {
	Called(ctx context.Context, tournament *TournamentCall) Answer
}

// ChallengeWatcher is a bot that reacts to the end of its own challenges and seeks.
type ChallengeWatcher interface {
	// ChallengeClosed is called when a challenge or seek of the bot's own is no longer open.
	ChallengeClosed(ctx context.Context, closed *ChallengeClosed)
}

// Profile describes a bot and the matches that it wants. The zero value of each field means what its comment says.
type Profile struct {
	Name         string   // for people; also the player, if nothing else names it
	Version      string   // "1"; versions are rated apart
	Games        []string // games or variants: `pods` stands for all its variants; empty: all
	TimeControls []string // time controls that it accepts; empty: all
	Opponents    []string // players whose challenges and seeks it accepts; empty: all
	Rated        Rated    // whether it plays only rated matches, or only unrated ones; 0: both
	Seat         int      // the seat that challenges and seeks must give it: 1 or 2; 0: any, and the lot
	LeastRating  *float64 // the lowest rating of a challenger in the game, as Limit(1500); nil: no limit
	MostRating   *float64 // the highest one
	MostMatches  int      // at once; 0: no limit
	Capabilities []string // its capabilities beyond the first version of the protocol, by name

	DeclineChallenges bool    // whether it declines every challenge
	AcceptSeeks       bool    // whether it accepts open seeks of others that suit
	Seeks             []Terms // seeks to keep open while there is room for a match
	EnterTournaments  bool    // whether it enters every tournament that suits

	Extras Extras // the optional content of its turns
}

// Extras are the optional content of each turn; they cost time on both sides.
type Extras struct {
	Board          bool
	LegalMoveCount bool
	LegalMovesUpTo int // the legal moves, if there are at most this many
	Steps          bool
}

// Plays returns whether a bot plays a variant: it, or its game, is among the games, or there are none.
func (p *Profile) Plays(variant string) bool {
	game, _, _ := strings.Cut(variant, "(")
	return len(p.Games) == 0 || slices.Contains(p.Games, variant) || slices.Contains(p.Games, game)
}

// Rated says which matches a bot plays.
type Rated int

// The matches that a bot plays.
const (
	RatedOrNot Rated = iota
	RatedOnly
	UnratedOnly
)

// suits returns whether a match may be rated, or unrated.
func (r Rated) suits(rated bool) bool {
	return r == RatedOrNot || (r == RatedOnly) == rated
}

// Limit returns a limit of ratings, for a profile.
func Limit(rating float64) *float64 { return &rating }

// PlaysAt returns whether a bot plays at a time control: `60s` in TimeControls stands for `1m` too.
func (p *Profile) PlaysAt(control string) bool {
	return len(p.TimeControls) == 0 || slices.ContainsFunc(p.TimeControls, func(own string) bool { return sameControl(own, control) })
}

// Objection returns why the profile excludes a challenge or seek, or "".
func (p *Profile) Objection(challenge *Challenge) string {
	terms := challenge.Terms
	switch {
	case !p.Plays(terms.Game):
		return "this bot plays " + strings.Join(p.Games, ", ")
	case !p.PlaysAt(terms.TimeControl):
		return "this bot plays at " + strings.Join(p.TimeControls, ", ")
	case !p.Rated.suits(terms.Rated) && p.Rated == RatedOnly:
		return "this bot plays rated matches only"
	case !p.Rated.suits(terms.Rated):
		return "this bot plays unrated matches only"
	case p.Seat != 0 && terms.Seat != 3-p.Seat:
		return fmt.Sprintf("this bot plays as seat %d only", p.Seat)
	case len(p.Opponents) > 0 && !slices.Contains(p.Opponents, challenge.Challenger):
		return "this bot plays against " + strings.Join(p.Opponents, ", ")
	case p.LeastRating != nil && (challenge.Rating == nil || *challenge.Rating < *p.LeastRating):
		return fmt.Sprintf("this bot plays against ratings of at least %g", *p.LeastRating)
	case p.MostRating != nil && (challenge.Rating == nil || *challenge.Rating > *p.MostRating):
		return fmt.Sprintf("this bot plays against ratings of at most %g", *p.MostRating)
	default:
		return ""
	}
}

// suits returns whether a tournament suits the bot: it plays all its games, at its time control, rated or not.
func (p *Profile) suits(call *TournamentCall) bool {
	for _, game := range call.Games {
		if !p.Plays(game) {
			return false
		}
	}
	return p.PlaysAt(call.TimeControl) && p.Rated.suits(call.Rated)
}

// readyCapability is that of a client that says when its bot is ready for a match.
const readyCapability = "ready"

func (p *Profile) hello() *pb.ClientHello {
	return &pb.ClientHello{
		ProtocolVersion: ProtocolVersion,
		Software:        Software,
		SoftwareVersion: Version,
		BotName:         p.Name,
		BotVersion:      p.Version,
		Capabilities:    append([]string{readyCapability}, p.Capabilities...),
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

// Choice is what Choose may return: Move, OfferDraw, ClaimDraw or Resign.
type Choice interface{ acts() []*pb.PlayAct }

// Move plays a move with the bot's comment, which opponents see after the end of the match.
type Move struct {
	Text string
	// Evaluation is the score that the bot expects, as Permille(612); its zero value says nothing.
	Evaluation Evaluation
	// Line are the moves that it expects, beginning with its own. The server cuts it after 32 moves or 500 characters.
	Line []string
}

// Evaluation is a score that a bot expects, or none.
type Evaluation struct {
	permille int
	given    bool
}

// Permille returns an evaluation: 0 lost, 500 even, 1000 won.
func Permille(score int) Evaluation { return Evaluation{score, true} }

// OfferDraw offers a draw, and plays a move.
type OfferDraw struct{ Move Move }

// ClaimDraw claims the draw that the turn's draw claim names.
type ClaimDraw struct{}

// Resign resigns the match.
type Resign struct{}

const (
	mostLineMoves = 32
	longestLine   = 500
)

func (m Move) acts() []*pb.PlayAct {
	return []*pb.PlayAct{{Act: &pb.PlayAct_Move{Move: &pb.MoveAct{Move: m.Text, Comment: m.comment()}}}}
}

// comment returns the comment on a move, without the parts that do not fit: a comment must not cost the move.
func (m Move) comment() *pb.MoveComment {
	comment := &pb.MoveComment{}
	if m.Evaluation.given && m.Evaluation.permille >= 0 && m.Evaluation.permille <= 1000 {
		score := int32(m.Evaluation.permille)
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

// Answer is the answer to a challenge, a seek or a tournament's call: ByProfile, Accept or Decline.
type Answer struct {
	accept, decide bool
	reason         string
}

// ByProfile lets the profile decide.
func ByProfile() Answer { return Answer{decide: true} }

// Accept accepts, or enters.
func Accept() Answer { return Answer{accept: true} }

// Decline declines a challenge, with a reason for its challenger; a seek or a tournament is ignored.
func Decline(format string, values ...any) Answer {
	return Answer{reason: fmt.Sprintf(format, values...)}
}
