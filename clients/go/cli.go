package arbiter

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

const seekForm = "GAME [TIME] [rated] [seat=1|2]"

// Main plays a bot by the command line and the environment, and ends the program: it is the whole main function of a
// bot. A mistake is reported in one line on standard error, with exit code 1. --help lists the options.
func Main(bot Bot) {
	program := filepath.Base(os.Args[0])
	profile, options, err := parse(bot.Profile(), os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err == nil {
		err = runAs(bot, profile, options)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", program, PlainText(err.Error()))
		var panicked *PanicError
		if errors.As(err, &panicked) {
			fmt.Fprint(os.Stderr, plainLines(panicked.Stack))
		}
		os.Exit(1)
	}
}

func parse(profile Profile, arguments []string) (Profile, Options, error) {
	var options Options
	var games string
	var verbose, quiet bool
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(os.Stdout)
	silent := &strings.Builder{}
	flags.StringVar(&options.Name, "name", "", "the player (default: $ARBITER_NAME or the bot's name)")
	flags.StringVar(&options.Invitation, "invitation", "", "the invitation to register with, where one is needed")
	flags.StringVar(&games, "games", "", "games or variants to play, separated by commas (default: the bot's own)")
	flags.IntVar(&profile.MostMatches, "most-matches", profile.MostMatches, "how many matches to play at once")
	flags.IntVar(&options.Matches, "matches", 0, "stop after so many matches have ended")
	flags.BoolVar(&profile.AcceptSeeks, "accept-seeks", profile.AcceptSeeks, "accept open seeks of others that suit")
	flags.BoolVar(&profile.EnterTournaments, "enter-tournaments", profile.EnterTournaments, "enter tournaments that suit")
	flags.Func("seek", "keep a seek open: `\""+seekForm+"\"`", func(text string) error {
		terms, err := seekTerms(text)
		profile.Seeks = append(profile.Seeks, terms)
		return err
	})
	connect := connectionFlags(flags, &verbose, &quiet)
	flags.Usage = func() {
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
	}
	if err := quietly(flags, silent, arguments); err != nil {
		return profile, options, err
	}
	options.Server, options.Token, options.TLS = connect.Server, connect.Token, connect.security()
	if games != "" {
		profile.Games = splitGames(games)
	}
	if profile.MostMatches < 0 || options.Matches < 0 {
		return profile, options, errors.New("--most-matches and --matches are numbers of matches: give 0 or more")
	}
	options.Log = logTo(verbose, quiet)
	return profile, options, nil
}

// Flags are the options of a command line for the server and the player.
type Flags struct {
	ClientOptions
	tls   TLS
	plain bool
}

// ParseConnection reads the options of a command line that only makes calls; it returns its other arguments. A mistake
// ends the program.
func ParseConnection() (ClientOptions, []string) {
	var verbose, quiet bool
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	found := connectionFlags(flags, &verbose, &quiet)
	flags.StringVar(&found.Name, "name", "", "the player (default: $ARBITER_NAME)")
	flags.Usage = func() {
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
	}
	switch err := quietly(flags, &strings.Builder{}, os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(os.Args[0]), PlainText(err.Error()))
		os.Exit(1)
	}
	slog.SetDefault(logTo(verbose, quiet))
	found.TLS = found.security()
	return found.ClientOptions, flags.Args()
}

func connectionFlags(flags *flag.FlagSet, verbose, quiet *bool) *Flags {
	found := &Flags{}
	flags.StringVar(&found.Server, "server", "", "the arbiter, `HOST:PORT`; several of its addresses with commas (default: $ARBITER_SERVER or "+DefaultServer+")")
	flags.StringVar(&found.Token, "token", "", "the player's token (default: $ARBITER_TOKEN or the credentials file)")
	flags.BoolVar(&found.plain, "tls", false, "speak TLS, and trust the system's certificates")
	flags.StringVar(&found.tls.RootCertificate, "root-certificate", os.Getenv("ARBITER_ROOT_CERTIFICATE"), "speak TLS, and trust this (PEM `FILE`)")
	flags.StringVar(&found.tls.ClientCertificate, "client-certificate", os.Getenv("ARBITER_CLIENT_CERTIFICATE"), "one's own certificate (PEM `FILE`)")
	flags.StringVar(&found.tls.ClientKey, "client-key", os.Getenv("ARBITER_CLIENT_KEY"), "its key (PEM `FILE`)")
	flags.BoolVar(verbose, "verbose", false, "say more on standard error")
	flags.BoolVar(quiet, "quiet", false, "say only what is wrong on standard error")
	return found
}

func (f *Flags) security() *TLS {
	if f.plain || f.tls != (TLS{}) {
		return &f.tls
	}
	return nil
}

// quietly parses arguments without messages: the caller reports errors.
func quietly(flags *flag.FlagSet, silent *strings.Builder, arguments []string) error {
	usage := flags.Usage
	flags.SetOutput(silent)
	flags.Usage = func() {}
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		usage()
		return err
	}
	if err != nil {
		return fmt.Errorf("%w (--help lists the options)", err)
	}
	return nil
}

func logTo(verbose, quiet bool) *slog.Logger {
	level := slog.LevelInfo
	switch {
	case verbose:
		level = slog.LevelDebug
	case quiet:
		level = slog.LevelWarn
	}
	return newLog(os.Stderr, level)
}

// seekTerms returns the terms of a seek, written as GAME [TIME] [rated] [seat=1|2].
func seekTerms(text string) (Terms, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Terms{}, fmt.Errorf("a seek is for a game: expected %s", seekForm)
	}
	terms := Terms{Game: words[0]}
	for _, word := range words[1:] {
		switch {
		case word == "rated" && !terms.Rated:
			terms.Rated = true
		case (word == "seat=1" || word == "seat=2") && terms.Seat == 0:
			terms.Seat = int(word[5] - '0')
		case word != "rated" && !strings.Contains(word, "=") && terms.TimeControl == "":
			terms.TimeControl = word
		default:
			return Terms{}, fmt.Errorf("%q does not belong into a seek: expected %s", word, seekForm)
		}
	}
	return terms, nil
}

// splitGames returns the items of a list; commas in parentheses do not separate, as in `pods(size=5,x=1),hop-it`.
func splitGames(list string) []string {
	var games []string
	depth, start := 0, 0
	for at, letter := range list + "," {
		switch letter {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 || at == len(list) {
				if game := strings.TrimSpace(list[start:at]); game != "" {
					games = append(games, game)
				}
				start = at + 1
			}
		}
	}
	return games
}
