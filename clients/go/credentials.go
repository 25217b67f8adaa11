package arbiter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	credentialsFile    = "credentials.json"
	oldCredentialsFile = "credentials.toml"
	noCredentials      = `it is no credentials file: expected {"HOST:PORT": {"NAME": "TOKEN"}}`
)

// tokens are tokens by server address and player.
type tokens map[string]map[string]string

// CredentialsPath returns the path of the credentials file, which need not exist: $ARBITER_CREDENTIALS, or
// arbiter/credentials.json in $XDG_CONFIG_HOME or ~/.config. It holds {"HOST:PORT": {"NAME": "TOKEN"}}. Earlier
// versions wrote TOML, and credentials.toml: such a file is read, and rewritten.
func CredentialsPath() (string, error) {
	if given := os.Getenv("ARBITER_CREDENTIALS"); given != "" {
		return given, nil
	}
	if home := os.Getenv("XDG_CONFIG_HOME"); home != "" {
		return filepath.Join(home, "arbiter", credentialsFile), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &CredentialsError{fmt.Sprintf("there is no place for the credentials file: %v; set ARBITER_CREDENTIALS", err)}
	}
	return filepath.Join(home, ".config", "arbiter", credentialsFile), nil
}

// FindToken returns the token that is kept for a player on a server, or "". Of several addresses, with commas between
// them, the first with an entry counts. It returns a *CredentialsError for a file that can't be read or is not a
// credentials file.
func FindToken(server, player string) (string, error) {
	path, err := CredentialsPath()
	if err != nil {
		return "", err
	}
	entries, old, err := readCredentials(path)
	if old != "" {
		// The file of an earlier version is rewritten; one that can't be written is only read.
		_ = changeCredentials(path, func(tokens) {})
	}
	for _, address := range strings.Split(server, ",") {
		if token := entries[address][player]; token != "" {
			return token, err
		}
	}
	return "", err
}

// SaveToken stores a player's token for each address of the server, in place of an earlier one. Only the file's owner
// can read it.
func SaveToken(server, player, token string) error {
	path, err := CredentialsPath()
	if err != nil {
		return err
	}
	return changeCredentials(path, func(entries tokens) {
		for _, address := range strings.Split(server, ",") {
			if entries[address] == nil {
				entries[address] = map[string]string{}
			}
			entries[address][player] = token
		}
	})
}

// changeCredentials replaces the file atomically: a reader sees the old one or the new one.
func changeCredentials(path string, change func(tokens)) error {
	failed := func(err error) error {
		return &CredentialsError{fmt.Sprintf("can't write the credentials file %s: %v", path, unwrapped(err))}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return failed(err)
	}
	// Bots that start together register at the same time: each must see the entries of the others.
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return failed(err)
	}
	defer lock.Close()
	if err := lockFile(lock); err != nil {
		return failed(err)
	}
	entries, old, err := readCredentials(path)
	if err != nil {
		return err
	}
	change(entries)
	text, err := json.MarshalIndent(entries, "", " ")
	if err != nil {
		return failed(err)
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".credentials-*") // of mode 0600
	if err != nil {
		return failed(err)
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(append(text, '\n'))
	if err = errors.Join(err, fresh.Close()); err != nil {
		return failed(err)
	}
	if err := os.Rename(fresh.Name(), path); err != nil {
		return failed(err)
	}
	if old != "" && old != path {
		_ = os.Remove(old)
	}
	return nil
}

// readCredentials returns the entries of the file, and the file of an earlier version that holds them, if one does.
func readCredentials(path string) (tokens, string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("ARBITER_CREDENTIALS") == "" {
		earlier := filepath.Join(filepath.Dir(path), oldCredentialsFile)
		if old, failed := os.ReadFile(earlier); failed == nil {
			path, text, err = earlier, old, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return tokens{}, "", nil
	}
	var entries tokens
	old := ""
	if err == nil {
		if entries, err = parseCredentials(string(text)); isOldCredentials(string(text)) {
			old = path
		}
	}
	if err != nil {
		return nil, "", &CredentialsError{fmt.Sprintf("can't use the credentials file %s: %v; mend it or move it away", path, unwrapped(err))}
	}
	return entries, old, nil
}

// isOldCredentials returns whether a text is of the older kind, TOML.
func isOldCredentials(text string) bool {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	return text != "" && !strings.HasPrefix(text, "{")
}

// parseCredentials returns the entries of a text.
func parseCredentials(text string) (tokens, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not UTF-8: save it as UTF-8")
	}
	if isOldCredentials(text) {
		return parseOldCredentials(text)
	}
	entries := tokens{}
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if text == "" {
		return entries, nil
	}
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("%s (%w)", noCredentials, err)
	}
	return entries, nil
}

const (
	oldKey    = `(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')`
	oldText   = `("(?:[^"\\]|\\.)*"|'[^']*')`
	oldRemark = `\s*(?:#.*)?$`
)

var (
	oldTable = regexp.MustCompile(`^\s*\[\s*(` + oldKey + `)\s*\]` + oldRemark)
	oldEntry = regexp.MustCompile(`^\s*(` + oldKey + `)\s*=\s*` + oldText + oldRemark)
	oldBlank = regexp.MustCompile(`^` + oldRemark)
)

// parseOldCredentials reads what earlier versions wrote: of TOML, tables of texts.
func parseOldCredentials(text string) (tokens, error) {
	entries := tokens{}
	var table map[string]string
	for at, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimRight(line, "\r")
		if oldBlank.MatchString(line) {
			continue
		}
		if found := oldTable.FindStringSubmatch(line); found != nil {
			server, err := oldValue(found[1])
			if err != nil {
				return nil, err
			}
			if entries[server] == nil {
				entries[server] = map[string]string{}
			}
			table = entries[server]
			continue
		}
		found := oldEntry.FindStringSubmatch(line)
		if found == nil || table == nil {
			return nil, fmt.Errorf("%s (line %d)", noCredentials, at+1)
		}
		name, err := oldValue(found[1])
		token, failed := oldValue(found[2])
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		table[name] = token
	}
	return entries, nil
}

// oldValue returns a text of TOML without its quotes. The escapes of those texts are also JSON's.
func oldValue(quoted string) (value string, err error) {
	switch quoted[0] {
	case '"':
		err = json.Unmarshal([]byte(quoted), &value)
	case '\'':
		value = quoted[1 : len(quoted)-1]
	default:
		value = quoted
	}
	return value, err
}
