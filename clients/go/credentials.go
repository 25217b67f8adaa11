package arbiter

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// CredentialsPath returns the path of the credentials file, which need not exist: $ARBITER_CREDENTIALS, or
// arbiter/credentials.toml in $XDG_CONFIG_HOME or ~/.config. It holds a table of NAME = "TOKEN" for each server's
// address.
func CredentialsPath() (string, error) {
	if given := os.Getenv("ARBITER_CREDENTIALS"); given != "" {
		return given, nil
	}
	if home := os.Getenv("XDG_CONFIG_HOME"); home != "" {
		return filepath.Join(home, "arbiter", "credentials.toml"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &CredentialsError{fmt.Sprintf("there is no place for the credentials file: %v; set ARBITER_CREDENTIALS", err)}
	}
	return filepath.Join(home, ".config", "arbiter", "credentials.toml"), nil
}

// FindToken returns the token that is kept for a player on a server, or "". Of several addresses, with commas between
// them, the first with an entry counts. It returns a *CredentialsError for a file that can't be read or is not a
// credentials file.
func FindToken(server, player string) (string, error) {
	path, err := CredentialsPath()
	if err != nil {
		return "", err
	}
	entries, err := readCredentials(path)
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
	entries, err := readCredentials(path)
	if err != nil {
		return err
	}
	for _, address := range strings.Split(server, ",") {
		if entries[address] == nil {
			entries[address] = map[string]string{}
		}
		entries[address][player] = token
	}
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(entries); err != nil {
		return failed(err)
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".credentials-*") // of mode 0600
	if err != nil {
		return failed(err)
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(text.Bytes())
	if err = errors.Join(err, fresh.Close()); err != nil {
		return failed(err)
	}
	if err := os.Rename(fresh.Name(), path); err != nil {
		return failed(err)
	}
	return nil
}

func readCredentials(path string) (map[string]map[string]string, error) {
	entries := map[string]map[string]string{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return entries, nil
	}
	if err == nil {
		err = toml.Unmarshal(text, &entries)
	}
	if err != nil {
		return nil, &CredentialsError{fmt.Sprintf("can't use the credentials file %s: %v; mend it or move it away", path, unwrapped(err))}
	}
	return entries, nil
}
