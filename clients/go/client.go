package arbiter

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

const largestPage = 1000 // items of an answer

// ClientOptions are the server and the player of a client.
type ClientOptions struct {
	Server   string        // HOST:PORT, or several addresses of one arbiter with commas; default $ARBITER_SERVER, or DefaultServer
	Token    string        // default $ARBITER_TOKEN, or the credentials file's entry for Name
	Name     string        // the player; default $ARBITER_NAME
	TLS      *TLS          // default $ARBITER_ROOT_CERTIFICATE and so on, or none
	Timeout  time.Duration // of one call; default 10 s
	Patience time.Duration // how long to try where no arbiter answers; default 10 s
}

// Client makes unary calls of a server, and watches matches. Methods return *ArbiterError, *ConnectionError, or the
// context's error. Calls that it has no method for are made with stubs of Channel.
type Client struct {
	*connection
}

// NewClient returns a client; it connects with its first call. It returns *ConnectionError for a malformed address, and
// *CredentialsError.
func NewClient(options ClientOptions) (*Client, error) {
	listed, err := checkedAddresses(either(options.Server, os.Getenv("ARBITER_SERVER"), DefaultServer))
	if err != nil {
		return nil, err
	}
	token := either(options.Token, os.Getenv("ARBITER_TOKEN"))
	if name := either(options.Name, os.Getenv("ARBITER_NAME")); token == "" && name != "" {
		if token, err = FindToken(strings.Join(listed, ","), name); err != nil {
			return nil, err
		}
	}
	security := options.TLS
	if security == nil {
		security = tlsOfEnvironment()
	}
	c, err := newConnection(listed, token, security, orDefault(options.Timeout), orDefault(options.Patience))
	if err != nil {
		return nil, err
	}
	return &Client{c}, nil
}

func either(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func orDefault(given time.Duration) time.Duration {
	if given == 0 {
		return 10 * time.Second
	}
	return given
}

// Close closes the connection.
func (c *Client) Close() {
	for _, channel := range c.channels {
		channel.Close()
	}
}

// Server returns the address that the client asks now.
func (c *Client) Server() string { return c.now() }

// servers returns all addresses, with commas between them.
func (c *Client) servers() string { return strings.Join(c.listed, ",") }

// Channel returns the channel, on which every call carries the token, for stubs of arbiterpb.
func (c *Client) Channel() grpc.ClientConnInterface { return c.channel }

// ServerInfo returns versions, capabilities, limits and public keys.
func (c *Client) ServerInfo(ctx context.Context) (*pb.GetServerInfoResponse, error) {
	return ask(ctx, c.connection, true, func(ctx context.Context) (*pb.GetServerInfoResponse, error) {
		return pb.NewServerServiceClient(c.channel).GetServerInfo(ctx, &pb.GetServerInfoRequest{})
	})
}

// Games returns the games of the server.
func (c *Client) Games(ctx context.Context) ([]*pb.GameSummary, error) {
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.ListGamesResponse, error) {
		return pb.NewGameServiceClient(c.channel).ListGames(ctx, &pb.ListGamesRequest{})
	})
	return answer.GetGames(), err
}

// Game returns everything about a game or variant.
func (c *Client) Game(ctx context.Context, game string) (*pb.GetGameResponse, error) {
	return ask(ctx, c.connection, true, func(ctx context.Context) (*pb.GetGameResponse, error) {
		return pb.NewGameServiceClient(c.channel).GetGame(ctx, &pb.GetGameRequest{Game: game})
	})
}

// LegalMovesOfMatch returns the legal moves of a match at a ply, in bytewise order.
func (c *Client) LegalMovesOfMatch(ctx context.Context, matchID string, ply int) ([]LegalMove, error) {
	at := &pb.MatchPly{MatchId: matchID, Ply: proto.Int32(int32(ply))}
	return c.legalMoves(ctx, &pb.LegalMovesRequest{At: &pb.LegalMovesRequest_Match{Match: at}})
}

// LegalMoves returns the legal moves after a line of play, in bytewise order.
func (c *Client) LegalMoves(ctx context.Context, line Line) ([]LegalMove, error) {
	return c.legalMoves(ctx, &pb.LegalMovesRequest{At: &pb.LegalMovesRequest_Line{Line: line.message()}})
}

func (c *Client) legalMoves(ctx context.Context, request *pb.LegalMovesRequest) ([]LegalMove, error) {
	return ask(ctx, c.connection, true, func(ctx context.Context) ([]LegalMove, error) {
		stream, err := pb.NewGameServiceClient(c.channel).LegalMoves(ctx, request)
		if err != nil {
			return nil, err
		}
		var moves []LegalMove
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return moves, nil
			}
			if err != nil {
				return nil, err
			}
			moves = append(moves, each(chunk.GetMoves(), legalMoveOf)...)
		}
	})
}

// PlayMoves plays a line of play and returns its positions from a ply on (0 for all; the last one is at its end), each
// with its board if that is wanted, and the outcome if the line reaches it.
func (c *Client) PlayMoves(ctx context.Context, line Line, fromPly int, withBoard bool) (*PlayedLine, error) {
	request := &pb.PlayMovesRequest{Line: line.message(), FromPly: int32(fromPly), WithBoard: withBoard}
	played, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.PlayMovesResponse, error) {
		return pb.NewGameServiceClient(c.channel).PlayMoves(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	return playedLineOf(played), nil
}

// Match returns a match, with its moves if they are wanted.
func (c *Client) Match(ctx context.Context, matchID string, withMoves bool) (*pb.Match, error) {
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.GetMatchResponse, error) {
		return pb.NewMatchServiceClient(c.channel).GetMatch(ctx, &pb.GetMatchRequest{MatchId: matchID, WithMoves: withMoves})
	})
	return answer.GetMatch(), err
}

// CreateMatch makes a match; seat 1 comes first in the request's players. It needs the scope organise. A request without
// an id gets one.
func (c *Client) CreateMatch(ctx context.Context, request *pb.CreateMatchRequest) (*pb.Match, error) {
	if request.GetRequestId() == "" {
		request = proto.Clone(request).(*pb.CreateMatchRequest)
		request.RequestId = newRequestID()
	}
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.CreateMatchResponse, error) {
		return pb.NewMatchServiceClient(c.channel).CreateMatch(ctx, request)
	})
	return answer.GetMatch(), err
}

// ListMatches returns the newest matches that pass the filters of a request, at most so many; without position, moves
// and clocks.
func (c *Client) ListMatches(ctx context.Context, filters *pb.ListMatchesRequest, most int) ([]*pb.Match, error) {
	request := proto.Clone(filters).(*pb.ListMatchesRequest)
	found, err := pages(func(token string, count int) ([]*pb.Match, string, error) {
		request.PageToken, request.PageSize = token, int32(min(most-count, largestPage))
		answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.ListMatchesResponse, error) {
			return pb.NewMatchServiceClient(c.channel).ListMatches(ctx, request)
		})
		next := answer.GetNextPageToken()
		if count+len(answer.GetMatches()) >= most {
			next = ""
		}
		return answer.GetMatches(), next, err
	})
	return found[:min(len(found), most)], err
}

// Transcript returns the record of a match: one canonical JSON text a line.
func (c *Client) Transcript(ctx context.Context, matchID string) ([]byte, error) {
	return ask(ctx, c.connection, true, func(ctx context.Context) ([]byte, error) {
		stream, err := pb.NewMatchServiceClient(c.channel).GetTranscript(ctx, &pb.GetTranscriptRequest{MatchId: matchID})
		if err != nil {
			return nil, err
		}
		var lines []byte
		for {
			part, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return lines, nil
			}
			if err != nil {
				return nil, err
			}
			lines = append(lines, part.GetLines()...)
		}
	})
}

// Rating returns the ratings of a player's versions in a game, the newest version first; "" stands for all games
// together.
func (c *Client) Rating(ctx context.Context, player, game string) (*pb.GetRatingResponse, error) {
	return ask(ctx, c.connection, true, func(ctx context.Context) (*pb.GetRatingResponse, error) {
		return pb.NewRatingServiceClient(c.channel).GetRating(ctx, &pb.GetRatingRequest{Player: player, Game: game})
	})
}

// Register makes a player and returns its first token, which is shown only now.
func (c *Client) Register(ctx context.Context, name, invitation string) (string, error) {
	answer, err := ask(ctx, c.connection, false, func(ctx context.Context) (*pb.RegisterPlayerResponse, error) {
		request := &pb.RegisterPlayerRequest{Name: name, Invitation: invitation}
		// Registration is not repeated, so this call waits for a server that answers.
		return pb.NewPlayerServiceClient(c.channel).RegisterPlayer(ctx, request, grpc.WaitForReady(true))
	})
	return answer.GetToken(), err
}

// Myself returns the player whose token the client has, and the scopes of that.
func (c *Client) Myself(ctx context.Context) (*pb.GetPlayerResponse, error) {
	return ask(ctx, c.connection, true, func(ctx context.Context) (*pb.GetPlayerResponse, error) {
		return pb.NewPlayerServiceClient(c.channel).GetPlayer(ctx, &pb.GetPlayerRequest{})
	})
}

// Challenge challenges a player.
func (c *Client) Challenge(ctx context.Context, opponent string, terms Terms) (Challenge, error) {
	request := &pb.CreateChallengeRequest{RequestId: newRequestID(), Opponent: opponent, Terms: terms.message()}
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.CreateChallengeResponse, error) {
		return pb.NewPlayerServiceClient(c.channel).CreateChallenge(ctx, request)
	})
	return challengeOf(answer.GetChallenge()), err
}

// Seek makes a seek: a challenge that any player may accept; the first gets the match.
func (c *Client) Seek(ctx context.Context, terms Terms) (Challenge, error) {
	request := &pb.CreateSeekRequest{RequestId: newRequestID(), Terms: terms.message()}
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.CreateSeekResponse, error) {
		return pb.NewPlayerServiceClient(c.channel).CreateSeek(ctx, request)
	})
	return challengeOf(answer.GetSeek()), err
}

// AcceptChallenge accepts a challenge or a seek, and returns its match.
func (c *Client) AcceptChallenge(ctx context.Context, challengeID string) (*pb.Match, error) {
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.AcceptChallengeResponse, error) {
		return pb.NewPlayerServiceClient(c.channel).AcceptChallenge(ctx, &pb.AcceptChallengeRequest{ChallengeId: challengeID})
	})
	return answer.GetMatch(), err
}

// DeclineChallenge declines a challenge, or withdraws one's own challenge or seek.
func (c *Client) DeclineChallenge(ctx context.Context, challengeID, reason string) error {
	_, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.DeclineChallengeResponse, error) {
		request := &pb.DeclineChallengeRequest{ChallengeId: challengeID, Reason: reason}
		return pb.NewPlayerServiceClient(c.channel).DeclineChallenge(ctx, request)
	})
	return err
}

// Challenges returns the open challenges to and by the caller, and all open seeks, oldest first.
func (c *Client) Challenges(ctx context.Context) ([]Challenge, error) {
	return pages(func(token string, _ int) ([]Challenge, string, error) {
		answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.ListChallengesResponse, error) {
			return pb.NewPlayerServiceClient(c.channel).ListChallenges(ctx, &pb.ListChallengesRequest{PageToken: token})
		})
		return each(answer.GetChallenges(), challengeOf), answer.GetNextPageToken(), err
	})
}

// Tournaments returns all tournaments, newest first.
func (c *Client) Tournaments(ctx context.Context) ([]*pb.TournamentSummary, error) {
	return pages(func(token string, _ int) ([]*pb.TournamentSummary, string, error) {
		answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.ListTournamentsResponse, error) {
			return pb.NewTournamentServiceClient(c.channel).ListTournaments(ctx, &pb.ListTournamentsRequest{PageToken: token})
		})
		return answer.GetTournaments(), answer.GetNextPageToken(), err
	})
}

func pages[I any](page func(token string, count int) ([]I, string, error)) ([]I, error) {
	var all []I
	for token := ""; ; {
		items, next, err := page(token, len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if token = next; token == "" {
			return all, nil
		}
	}
}

// Tournament returns the current state of a tournament.
func (c *Client) Tournament(ctx context.Context, tournamentID string) (*pb.Tournament, error) {
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.GetTournamentResponse, error) {
		return pb.NewTournamentServiceClient(c.channel).GetTournament(ctx, &pb.GetTournamentRequest{TournamentId: tournamentID})
	})
	return answer.GetTournament(), err
}

// EnterTournament enters the caller.
func (c *Client) EnterTournament(ctx context.Context, tournamentID string) (*pb.Entrant, error) {
	request := &pb.EnterTournamentRequest{RequestId: newRequestID(), TournamentId: tournamentID}
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.EnterTournamentResponse, error) {
		return pb.NewTournamentServiceClient(c.channel).EnterTournament(ctx, request)
	})
	return answer.GetEntrant(), err
}

// WithdrawFromTournament withdraws the caller.
func (c *Client) WithdrawFromTournament(ctx context.Context, tournamentID string) (*pb.Entrant, error) {
	request := &pb.WithdrawFromTournamentRequest{RequestId: newRequestID(), TournamentId: tournamentID}
	answer, err := ask(ctx, c.connection, true, func(ctx context.Context) (*pb.WithdrawFromTournamentResponse, error) {
		return pb.NewTournamentServiceClient(c.channel).WithdrawFromTournament(ctx, request)
	})
	return answer.GetEntrant(), err
}

// Standings returns the standings of a tournament.
func (c *Client) Standings(ctx context.Context, tournamentID string) (*pb.GetStandingsResponse, error) {
	return ask(ctx, c.connection, true, func(ctx context.Context) (*pb.GetStandingsResponse, error) {
		return pb.NewTournamentServiceClient(c.channel).GetStandings(ctx, &pb.GetStandingsRequest{TournamentId: tournamentID})
	})
}

func newRequestID() string {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	return hex.EncodeToString(random)
}
