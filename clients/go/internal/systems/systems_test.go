//go:build !race

// Package systems_test type-checks the client for other operating systems. One goroutine does so, in half the time of a
// program with the detector of data races.
package systems_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listed is a package as `go list -json` describes it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct{ Main bool }
}

// checked are the packages of one system that have been type-checked, by their path.
type checked map[string]*types.Package

// importer finds what a package imports under the names that its files give it.
type importer struct {
	known checked
	names map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if mapped := i.names[path]; mapped != "" {
		path = mapped
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if found := i.known[path]; found != nil {
		return found, nil
	}
	return nil, errors.New("no package " + path)
}

// The compiler would take a minute for every system, since it would compile all dependencies. What can go wrong in this
// client is that a name is not there, which types say: of the dependencies only declarations are read.
func TestItIsTypedOnEverySystem(t *testing.T) {
	for _, system := range []string{"windows", "darwin"} {
		t.Run(system, func(t *testing.T) {
			command := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "../../...")
			command.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
			said, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			known, own := checked{}, 0
			for packages := json.NewDecoder(strings.NewReader(string(said))); ; {
				var one listed
				if err := packages.Decode(&one); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				ours := one.Module != nil && one.Module.Main
				if ours {
					own++
				}
				known[one.ImportPath] = check(t, one, known, ours)
			}
			if own < 4 { // the client, the protocol and the samples
				t.Fatalf("only %d packages of the client were found", own)
			}
		})
	}
}

func check(t *testing.T, one listed, known checked, ours bool) *types.Package {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range one.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(one.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	config := types.Config{
		Importer:         importer{known, one.ImportMap},
		IgnoreFuncBodies: !ours,
		Sizes:            types.SizesFor("gc", "amd64"),
		Error: func(err error) {
			if ours {
				t.Error(err)
			}
		},
	}
	made, _ := config.Check(one.ImportPath, files, parsed, nil)
	return made
}
