package arbiter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PlainText returns a text of somebody else (a name, a note, a refusal's sentence) as it is safe to show: each character
// that can't be printed is escaped, since a terminal obeys some of them, and others forge lines or turn their direction.
func PlainText(text string) string {
	shown := &strings.Builder{}
	for rest := text; rest != ""; {
		character, size := utf8.DecodeRuneInString(rest)
		switch {
		case character == utf8.RuneError && size == 1:
			fmt.Fprintf(shown, `\x%02x`, rest[0])
		case unicode.IsPrint(character):
			shown.WriteString(rest[:size])
		case character == '\n':
			shown.WriteString(`\n`)
		case character == '\r':
			shown.WriteString(`\r`)
		case character == '\t':
			shown.WriteString(`\t`)
		case character <= 0xff:
			fmt.Fprintf(shown, `\x%02x`, character)
		case character <= 0xffff:
			fmt.Fprintf(shown, `\u%04x`, character)
		default:
			fmt.Fprintf(shown, `\U%08x`, character)
		}
		rest = rest[size:]
	}
	return shown.String()
}

// plainLines does so for a text of several lines such as a stack: it keeps their ends, and tabs.
func plainLines(text string) string {
	shown := &strings.Builder{}
	for part := range strings.SplitAfterSeq(text, "\n") {
		for at, words := range strings.Split(strings.TrimSuffix(part, "\n"), "\t") {
			if at > 0 {
				shown.WriteByte('\t')
			}
			shown.WriteString(PlainText(words))
		}
		if strings.HasSuffix(part, "\n") {
			shown.WriteByte('\n')
		}
	}
	return shown.String()
}
