package arbiter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// Reason says why a request was refused: the names of RefusalReason in refusal.proto, without their prefix. The facts
// of each are described there.
type Reason string

// Reasons that a bot may want to act on. All others have the name that the protocol gives them.
const (
	ReasonUnknown           Reason = "UNKNOWN" // newer than this client, or not the arbiter's own: act on the code
	ReasonMoveMalformed     Reason = "MOVE_MALFORMED"
	ReasonMoveIllegal       Reason = "MOVE_ILLEGAL"
	ReasonNotYourTurn       Reason = "NOT_YOUR_TURN"
	ReasonPlyMismatch       Reason = "PLY_MISMATCH"
	ReasonMatchNotActive    Reason = "MATCH_NOT_ACTIVE"
	ReasonMatchNotFound     Reason = "MATCH_NOT_FOUND"
	ReasonPlayerExists      Reason = "PLAYER_EXISTS"
	ReasonTokenInvalid      Reason = "TOKEN_INVALID"
	ReasonChallengeNotFound Reason = "CHALLENGE_NOT_FOUND"
	ReasonSessionSuperseded Reason = "SESSION_SUPERSEDED"
	ReasonMessageTooLarge   Reason = "MESSAGE_TOO_LARGE"
	ReasonReaderTooSlow     Reason = "READER_TOO_SLOW"
	ReasonPlayerNotFound    Reason = "PLAYER_NOT_FOUND"
	ReasonParameterInvalid  Reason = "PARAMETER_INVALID"
)

// ArbiterError is a refusal of the arbiter: a reason, a sentence for people, and facts for programs. Decide by Code if
// the reason is ReasonUnknown.
type ArbiterError struct {
	Reason  Reason
	Message string
	Code    codes.Code
	Facts   map[string]string
	Cause   error // gRPC's error, where there was one
}

// Error returns the sentence for people.
func (e *ArbiterError) Error() string { return e.Message }

// Unwrap returns gRPC's error, where there was one.
func (e *ArbiterError) Unwrap() error { return e.Cause }

// Temporary returns whether the same request may succeed later.
func (e *ArbiterError) Temporary() bool {
	return e.Code == codes.Unavailable || e.Code == codes.ResourceExhausted
}

// RetryAfter returns the pause that the arbiter asks for before the same request again; 0 if it asks for none.
func (e *ArbiterError) RetryAfter() time.Duration {
	text := e.Facts["retry_after_ms"]
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms > int64(1<<53) {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// ConnectionError means that no arbiter answers; the text says where, why, and what to do. The same request may succeed
// later.
type ConnectionError struct {
	Message string
	Cause   error // gRPC's error, where there was one
}

// Unwrap returns gRPC's error, where there was one.
func (e *ConnectionError) Unwrap() error { return e.Cause }

// Error returns the sentence for people.
func (e *ConnectionError) Error() string { return e.Message }

// CredentialsError means that a token, a certificate or the credentials file can't be used.
type CredentialsError struct{ Message string }

// Error returns the sentence for people.
func (e *CredentialsError) Error() string { return e.Message }

// BotError means that a bot returned an error, panicked, or chose nothing, in a run with OnErrorRaise.
type BotError struct {
	Message string
	Cause   error
}

// Error returns the sentence for people.
func (e *BotError) Error() string { return e.Message }

// Unwrap returns the bot's own error.
func (e *BotError) Unwrap() error { return e.Cause }

// PanicError is a panic of a bot.
type PanicError struct {
	Value any    // what it panicked with
	Stack string // of the goroutine, as debug.Stack writes it: many lines
}

// Error returns one line, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the error that the bot panicked with, if it was one.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// invalidSetting returns the arbiter's refusal for a setting that can't be used.
func invalidSetting(what, where, allowed, message string) *ArbiterError {
	facts := map[string]string{"what": what, "where": where, "allowed": allowed}
	return &ArbiterError{Reason: ReasonParameterInvalid, Message: message, Code: codes.InvalidArgument, Facts: facts}
}

func fromRefusal(refusal *pb.Refusal) *ArbiterError {
	code := codes.Code(refusal.GetCode())
	if refusal.GetCode() <= 0 || code > codes.Unauthenticated {
		code = codes.Unknown
	}
	facts := make(map[string]string, len(refusal.GetFacts()))
	for name, fact := range refusal.GetFacts() {
		facts[name] = fact
	}
	return &ArbiterError{Reason: reasonOf(refusal.GetReason()), Message: refusal.GetMessage(), Code: code, Facts: facts}
}

func reasonOf(number pb.RefusalReason) Reason {
	name, known := pb.RefusalReason_name[int32(number)]
	if !known || number == pb.RefusalReason_REFUSAL_REASON_UNSPECIFIED {
		return ReasonUnknown
	}
	return Reason(strings.TrimPrefix(name, "REFUSAL_REASON_"))
}

// fromRPC returns the error behind a failed call to the server at an address: *ArbiterError or *ConnectionError.
func fromRPC(err error, address string) error {
	st, _ := status.FromError(err)
	switch failure := fromStatus(st.Proto(), address).(type) {
	case *ArbiterError:
		failure.Cause = err
		return failure
	case *ConnectionError:
		failure.Cause = err
		return failure
	default:
		return failure
	}
}

// wasAway returns whether an error, or one that it wraps, shows that the arbiter was away or busy. So does a temporary
// status without a reason: an arbiter names one.
func wasAway(err error) bool {
	var refusal *ArbiterError
	unnamed := errors.As(err, &refusal) && refusal.Reason == ReasonUnknown && passes(refusal)
	return mayPass(err) || unnamed
}

func fromStatus(st *spb.Status, address string) error {
	for _, detail := range st.GetDetails() {
		refusal := &pb.Refusal{}
		if detail.MessageIs(refusal) && detail.UnmarshalTo(refusal) == nil {
			return fromRefusal(refusal)
		}
	}
	said := st.GetMessage()
	if said == "" {
		said = "no further word"
	}
	code := codes.Code(st.GetCode())
	// A call whose time was over before there was a connection ends with its deadline, and says how connecting failed.
	unconnected := code == codes.DeadlineExceeded && strings.Contains(said, "connection error")
	switch {
	case code == codes.Unavailable || unconnected:
		return &ConnectionError{Message: fmt.Sprintf("no arbiter answers at %s: is it running there, are host and port right, "+
			"and does it speak TLS or not as you do? (%s)", address, said)}
	case code == codes.DeadlineExceeded:
		return &ConnectionError{Message: fmt.Sprintf("the arbiter at %s did not answer in time: try again (%s)", address, said)}
	case code == codes.Unimplemented:
		return &ArbiterError{Reason: ReasonUnknown, Code: code, Message: fmt.Sprintf("what answers at %s is no arbiter, "+
			"or one of another version: is the port right? (%s)", address, said)}
	default:
		return &ArbiterError{Reason: ReasonUnknown, Code: code, Message: said}
	}
}
