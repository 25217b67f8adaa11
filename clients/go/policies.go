package arbiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

const longestReason = 200 // characters of the reason for declining a challenge

// policies handles the items of the stream that ask whether the bot wants to play: it asks the bot, or its profile, and
// carries out the decision. The bot is never asked twice at once about the same item. A tournament that has refused the
// bot is not entered again.
type policies struct {
	bot     Bot
	profile *Profile
	client  *Client
	slots   *matchSlots
	seeker  *seeker
	log     *slog.Logger
	spawn   func(func(ctx context.Context))
	guard   func(what string, call func()) // calls the bot

	mu      sync.Mutex
	player  string
	asked   map[string]bool // ids of the challenges and seeks under consideration
	refused map[string]bool // ids of tournaments
}

func newPolicies(bot Bot, profile *Profile, client *Client, slots *matchSlots, log *slog.Logger, spawn func(func(ctx context.Context)), guard func(what string, call func())) *policies {
	p := &policies{bot: bot, profile: profile, client: client, slots: slots, log: log, spawn: spawn, guard: guard,
		asked: map[string]bool{}, refused: map[string]bool{}}
	p.seeker = newSeeker(profile.Seeks, client, slots, log)
	slots.changed = p.seeker.look
	if len(profile.Seeks) > 0 {
		spawn(p.seeker.run)
	}
	return p
}

// greeted begins a new stream of a player.
func (p *policies) greeted(player string) {
	p.mu.Lock()
	p.player = player
	p.mu.Unlock()
	p.seeker.onGreeting(player)
}

// consider asks the bot about a proposal, unless that is under way already or the proposal is the player's own.
func (p *policies) consider(id, from string, how func(ctx context.Context)) {
	p.mu.Lock()
	known := p.asked[id] || p.refused[id] || from == p.player
	p.asked[id] = p.asked[id] || !known
	p.mu.Unlock()
	if known {
		return
	}
	p.spawn(func(ctx context.Context) {
		defer func() {
			p.mu.Lock()
			delete(p.asked, id)
			p.mu.Unlock()
		}()
		how(ctx)
	})
}

func (p *policies) onChallenge(message *pb.Challenge) {
	challenge := challengeOf(message)
	p.consider(challenge.ID, challenge.Challenger, func(ctx context.Context) {
		if err := p.rate(ctx, &challenge); err != nil {
			p.complain(ctx, "the challenge of "+challenge.Challenger+" can't be answered", err)
			return
		}
		answer := ByProfile()
		if bot, answers := p.bot.(ChallengeAnswerer); answers {
			answer = Decline("the bot failed to consider it")
			p.guard("challenged", func() { answer = bot.Challenged(ctx, &challenge) })
		}
		if answer.decide {
			answer = p.judge(&challenge, !p.profile.DeclineChallenges)
		}
		if full := p.fullBecause(); answer.accept && full != "" {
			answer = Decline("%s", full)
		}
		var err error
		if answer.accept {
			var room bool
			if room, err = p.accept(ctx, challenge); err == nil && !room {
				answer = Decline("this bot has agreed to as many matches as it plays")
			}
		}
		if !answer.accept {
			reason := []rune(answer.reason)
			err = p.client.DeclineChallenge(ctx, challenge.ID, string(reason[:min(len(reason), longestReason)]))
		}
		p.complain(ctx, "the challenge of "+challenge.Challenger+" can't be answered", err)
	})
}

// judge returns the answer of the profile to a challenge or seek.
func (p *policies) judge(challenge *Challenge, willing bool) Answer {
	why := p.profile.Objection(challenge)
	switch {
	case !willing:
		return Decline("this bot accepts no challenges")
	case why != "":
		return Decline("%s", why)
	default:
		return Accept()
	}
}

// rate finds the challenger's rating in the game, if the bot has limits for it.
func (p *policies) rate(ctx context.Context, challenge *Challenge) error {
	if p.profile.LeastRating == nil && p.profile.MostRating == nil {
		return nil
	}
	rating, err := p.client.Rating(ctx, challenge.Challenger, challenge.Terms.Game)
	var refusal *ArbiterError
	if errors.As(err, &refusal) && refusal.Reason == ReasonPlayerNotFound {
		return nil
	}
	if versions := rating.GetVersions(); err == nil && len(versions) > 0 {
		challenge.Rating = Limit(versions[0].GetRating().GetValue())
	}
	return err
}

// complain logs why something can't be done. That the arbiter is away is said once, by the session.
func (p *policies) complain(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	p.log.Log(ctx, p.client.severity(err), fmt.Sprintf("%s: %v", what, err))
}

// fullBecause returns the reason why there is no room for one more match, or "".
func (p *policies) fullBecause() string {
	switch {
	case p.slots.left() == 0:
		return "this bot has as many matches as it plays before it stops"
	case !p.slots.holds(1):
		return fmt.Sprintf("this bot plays %d matches at once, and is playing them", p.profile.MostMatches)
	default:
		return ""
	}
}

func (p *policies) onSeek(message *pb.Challenge) {
	if !p.profile.AcceptSeeks {
		return
	}
	seek := challengeOf(message)
	p.consider(seek.ID, seek.Challenger, func(ctx context.Context) {
		if p.fullBecause() != "" {
			return
		}
		if err := p.rate(ctx, &seek); err != nil {
			p.complain(ctx, "the seek of "+seek.Challenger+" can't be accepted", err)
			return
		}
		answer := ByProfile()
		if bot, answers := p.bot.(SeekAnswerer); answers {
			answer = Decline("")
			p.guard("sought", func() { answer = bot.Sought(ctx, &seek) })
		}
		if answer.decide {
			answer = p.judge(&seek, true)
		}
		if !answer.accept {
			return
		}
		_, err := p.accept(ctx, seek)
		var refusal *ArbiterError
		if errors.As(err, &refusal) && refusal.Reason == ReasonChallengeNotFound {
			p.log.Debug("another bot was faster to accept the seek of " + seek.Challenger)
			return
		}
		p.complain(ctx, "the seek of "+seek.Challenger+" can't be accepted", err)
	})
}

// accept accepts a challenge or seek if there is room for its match; it returns whether there was.
func (p *policies) accept(ctx context.Context, challenge Challenge) (room bool, err error) {
	free := p.slots.agreeing(func() {
		if room, err = p.seeker.makeRoom(ctx); err != nil || !room {
			return
		}
		var match *pb.Match
		if match, err = p.client.AcceptChallenge(ctx, challenge.ID); err == nil {
			p.slots.expect(match.GetMatchId())
		}
	})
	return free && room, err
}

func (p *policies) onChallengeClosed(closed *pb.ChallengeClosed) {
	p.seeker.closed(closed.GetChallengeId(), closed.GetMatchId())
	if bot, watches := p.bot.(ChallengeWatcher); watches {
		p.spawn(func(ctx context.Context) {
			p.guard("challenge closed", func() { bot.ChallengeClosed(ctx, challengeClosedOf(closed)) })
		})
	}
}

func (p *policies) onCall(message *pb.TournamentCall) {
	call := callOf(message)
	if !p.profile.EnterTournaments || call.Entered {
		return
	}
	p.consider(call.ID, "", func(ctx context.Context) {
		answer := ByProfile()
		if bot, answers := p.bot.(TournamentAnswerer); answers {
			answer = Decline("")
			p.guard("called", func() { answer = bot.Called(ctx, call) })
		}
		if answer.decide && p.profile.suits(call) {
			answer = Accept()
		}
		if !answer.accept {
			return
		}
		_, err := p.client.EnterTournament(ctx, call.ID)
		if err == nil || ctx.Err() != nil {
			return
		}
		var refusal *ArbiterError
		if errors.As(err, &refusal) && !refusal.Temporary() {
			p.mu.Lock()
			p.refused[call.ID] = true
			p.mu.Unlock()
		}
		p.complain(ctx, "the tournament "+either(call.Name, call.ID)+" can't be entered", err)
	})
}
