package modules_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

var everySystem = flag.Bool("every-system", false, "check all systems and architectures of a release, not one of each kind")

// system is an operating system with an architecture, as Go names them.
type system struct{ name, architecture string }

// released are the systems that em-infra runs on beside the one of this test; usual are those that each run checks, since the
// architecture selects few files.
var (
	usual    = []system{{"windows", "amd64"}, {"darwin", "arm64"}}
	released = []system{{"windows", "amd64"}, {"windows", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "arm64"}}
)

// shipped are the packages that a user of these systems runs, beside the plugin that the tool chain builds for Commands.
var shipped = []string{".", "./cmd/...", "./components", "./stacks", "./operator/...", "./internal/..."}

// TestEverySystemCompiles checks the types of what is shipped for other systems, and of its tests. It reads the sources of all packages, those of
// other modules without the bodies of their functions: a tenth of the work of a compiler, and none of it needs a cache.
func TestEverySystemCompiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads the sources of all packages")
	}
	systems := usual
	if *everySystem {
		systems = released
	}
	for _, s := range systems {
		t.Run(s.name+"/"+s.architecture, func(t *testing.T) { // one after the other: each needs 1 GiB
			require.Empty(t, typeErrors(t, root, s, shipped...))
			require.Empty(t, typeErrors(t, filepath.Join(root, "tools"), s, "./standin/command/..."))
		})
	}
}

// TestWhatOneSystemLacksIsFound, so that the check above cannot pass by chance.
func TestWhatOneSystemLacksIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/a\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nimport \"syscall\"\n\n"+
		"func F() error { return syscall.Kill(1, 0) }\n"), 0o600))
	require.Equal(t, []string{filepath.Join(dir, "a.go") + ":5:33: undefined: syscall.Kill"}, typeErrors(t, dir, system{"windows", "amd64"}, "."))
	require.Empty(t, typeErrors(t, dir, system{"darwin", "arm64"}, "."))
}

// typeErrors returns the errors in packages of a module and in their tests on a system, sorted. What another module lacks there is an error where it is used.
func typeErrors(t *testing.T, module string, s system, patterns ...string) []string {
	t.Helper()
	dir, err := filepath.Abs(module)
	require.NoError(t, err)
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax,
		Tests:     true,
		Dir:       dir,
		Env:       append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOOS="+s.name, "GOARCH="+s.architecture),
		ParseFile: bodiesOf(dir),
	}, patterns...)
	require.NoError(t, err)
	var errs []string
	for _, p := range loaded {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the main of the tests, which the go command writes
		}
		for _, e := range p.Errors {
			errs = append(errs, e.Error())
		}
	}
	require.NotEmpty(t, loaded)
	slices.Sort(errs)
	return slices.Compact(errs) // a package and its variant for tests have the same
}

// bodiesOf returns a parser that keeps the bodies of functions only in the files of a folder.
func bodiesOf(dir string) func(*token.FileSet, string, []byte) (*ast.File, error) {
	return func(files *token.FileSet, name string, source []byte) (*ast.File, error) {
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if file == nil || strings.HasPrefix(name, dir+string(filepath.Separator)) {
			return file, err
		}
		for _, declared := range file.Decls {
			if function, is := declared.(*ast.FuncDecl); is {
				function.Body = nil
			}
		}
		return file, err
	}
}
