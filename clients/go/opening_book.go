package arbiter

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

const bookForm = "GAME MOVE MOVE …"

// OpeningBook holds lines of moves by variant, from the start of the game. clients/README.md describes its file.
type OpeningBook struct {
	lines map[string][][]string
}

// ParseOpeningBook returns the book in a text. It returns an *ArbiterError (PARAMETER_INVALID) for a line without moves.
func ParseOpeningBook(text string) (*OpeningBook, error) {
	book := &OpeningBook{map[string][][]string{}}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\ufeff"))
	for at, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case len(words) == 1:
			where := fmt.Sprintf("line %d of the opening book", at+1)
			return nil, invalidSetting(words[0], where, bookForm, fmt.Sprintf("%s has no move after %q: expected %s", where, words[0], bookForm))
		default:
			book.lines[words[0]] = append(book.lines[words[0]], words[1:])
		}
	}
	return book, nil
}

// LoadOpeningBook returns the book in a file. It returns the error of reading it, and what ParseOpeningBook returns.
func LoadOpeningBook(path string) (*OpeningBook, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, invalidSetting(path, "opening book", "text in UTF-8", path+" is not UTF-8: save it as UTF-8")
	}
	return ParseOpeningBook(string(text))
}

// Moves returns the moves that the book has after those played, each once, in the order of the book.
func (b *OpeningBook) Moves(game string, played []string) []string {
	var moves []string
	for _, line := range b.lines[game] {
		if len(line) > len(played) && slices.Equal(line[:len(played)], played) && !slices.Contains(moves, line[len(played)]) {
			moves = append(moves, line[len(played)])
		}
	}
	return moves
}

// Move returns one of the moves for a turn by lot, or "" if the book has none. A match from a position of its own is in
// no book.
func (b *OpeningBook) Move(turn *Turn) string {
	if turn.Match.StartPosition != "" {
		return ""
	}
	moves := b.Moves(turn.Game, turn.Match.Moves())
	if len(moves) == 0 {
		return ""
	}
	return moves[rand.IntN(len(moves))]
}
