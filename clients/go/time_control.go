package arbiter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	allowedControls = "5m, 5m+3s, 5m+3sd, 5m+3sb, 300ms/move, 300ms/move+10s, 1m+3x10s, 40/30m or none"
	longestControl  = 40              // characters
	longestMs       = 168 * 3_600_000 // of each duration
	mostPeriods     = 100
	mostMoves       = 1_000
)

var (
	timeUnits = []struct {
		name string
		ms   int
	}{{"h", 3_600_000}, {"m", 60_000}, {"s", 1_000}, {"ms", 1}}
	controlForm = func() *regexp.Regexp {
		const span = `[1-9][0-9]{0,8}(?:ms|s|m|h)`
		return regexp.MustCompile(`^(?:none|` + span + `(?:\+` + span + `[db]?)?|` + span + `/move(?:\+` + span + `)?|` +
			span + `\+([1-9][0-9]{0,3})x` + span + `|([1-9][0-9]{0,3})/` + span + `)$`)
	}()
	spanForm = regexp.MustCompile(`([0-9]+)(ms|s|m|h)`)
)

// canonicalControl returns the canonical form of a time control: each duration in the largest unit that divides it. It
// returns an *ArbiterError for a text that is none, as the arbiter does.
func canonicalControl(text string) (string, error) {
	found := controlForm.FindStringSubmatch(text)
	if len(text) > longestControl || found == nil || numberIn(found[1]) > mostPeriods || numberIn(found[2]) > mostMoves {
		shown := []rune(text)
		return "", invalidSetting(text, "time", allowedControls, fmt.Sprintf("%q is no time control: expected %s", string(shown[:min(len(shown), longestControl)]), allowedControls))
	}
	var err error
	canonical := spanForm.ReplaceAllStringFunc(text, func(span string) string {
		ms := spanMs(span)
		if ms > longestMs {
			err = invalidSetting(text, "time", allowedControls, fmt.Sprintf("%s in the time control %q is more than 168h", span, text))
		}
		for _, unit := range timeUnits {
			if ms%unit.ms == 0 {
				return strconv.Itoa(ms/unit.ms) + unit.name
			}
		}
		return span
	})
	return canonical, err
}

// spanMs returns a duration such as 90s in milliseconds.
func spanMs(span string) int {
	parts := spanForm.FindStringSubmatch(span)
	for _, unit := range timeUnits {
		if unit.name == parts[2] {
			return numberIn(parts[1]) * unit.ms
		}
	}
	return 0
}

// numberIn returns the number that a text of at most nine digits is; 0 for no text.
func numberIn(digits string) int {
	number, _ := strconv.Atoi(digits)
	return number
}

// sameControl returns whether two texts are the same time control. Texts that are none are compared as they are.
func sameControl(one, other string) bool {
	if one == other {
		return true
	}
	left, failed := canonicalControl(one)
	right, failedToo := canonicalControl(other)
	return failed == nil && failedToo == nil && left == right
}

// ownControl returns the time control of a seat: the match's, unless the two differ.
func ownControl(control string, bySeat []string, seat int) string {
	if len(bySeat) >= seat {
		return bySeat[seat-1]
	}
	return control
}

// checkControls returns the arbiter's refusal for the first text of a profile that is no time control: with it, the bot
// would wait for a match in vain.
func (p *Profile) checkControls() error {
	texts := append([]string(nil), p.TimeControls...)
	for _, seek := range p.Seeks {
		if seek.TimeControl != "" {
			texts = append(texts, seek.TimeControl)
		}
	}
	for _, text := range texts {
		if _, err := canonicalControl(text); err != nil {
			return err
		}
	}
	return nil
}

// eachMove matches the time that a time control adds for every move: increment, delay, fixed time or period.
var eachMove = regexp.MustCompile(`([0-9]{1,9})(ms|[smh])/move|\+(?:[0-9]+x)?([0-9]{1,9})(ms|[smh])[db]?$`)

// eachMoveMs returns that time in milliseconds; 0 if there is none.
func eachMoveMs(control string) int {
	found := eachMove.FindStringSubmatch(control)
	if found == nil {
		return 0
	}
	return spanMs(strings.Join(found[1:], ""))
}
