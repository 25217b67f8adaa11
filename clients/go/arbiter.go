// Package arbiter writes bots for an Arbiter server: a bot is one method, from a turn to a move.
//
//	type FirstMove struct{}
//
//	func (FirstMove) Profile() arbiter.Profile { return arbiter.Profile{Name: "first-move"} }
//
//	func (FirstMove) Choose(ctx context.Context, turn *arbiter.Turn) (arbiter.Choice, error) {
//		moves, err := turn.Moves(ctx)
//		if err != nil {
//			return nil, err
//		}
//		return arbiter.Move{Text: moves[0].Text}, nil
//	}
//
//	func main() { arbiter.Main(FirstMove{}) }
//
// Client makes every other call of a server. What all clients do alike is in clients/README.md.
package arbiter

//go:generate ../../.venv/bin/python generate.py

// Software and Version describe the client in its hello.
const (
	Software = "arbiter-client-go"
	Version  = "0.1.0"
	// ProtocolVersion is the version of the protocol that it speaks.
	ProtocolVersion = "1.0"
)
