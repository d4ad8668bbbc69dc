package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// home is a file of the repository and a symbol in it, as the page on architecture names them.
var home = regexp.MustCompile("`([\\w./-]+\\.go)`: `([\\w.]+)`")

// TestWhatThePageOnArchitectureNamesIsThere: each row of its table "Where do I find …" leads to a symbol that exists.
func TestWhatThePageOnArchitectureNamesIsThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## Where do I find …")
	require.True(t, found, "the page has the table")
	table, _, _ = strings.Cut(table, "\n## ")
	homes := home.FindAllStringSubmatch(table, -1)
	require.Greater(t, len(homes), 20, "the table is read")
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| what |") {
			require.Regexp(t, home, line, "a row without a file and a symbol")
		}
	}
	for _, match := range homes {
		require.Contains(t, symbolsIn(t, filepath.Join("..", match[1])), match[2], "%s has no %s: docs/architecture.md says so", match[1], match[2])
	}
}

// TestThePageOnArchitectureNamesAllFolders: its tree has each folder of packages that is directly in one of these.
func TestThePageOnArchitectureNamesAllFolders(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	_, tree, found := strings.Cut(string(page), "\n```\n")
	require.True(t, found, "the page has a tree")
	tree, _, _ = strings.Cut(tree, "\n```\n")
	for _, parent := range []string{"cmd", "internal", "operator/internal", "tests", "tools"} {
		folders, err := filepath.Glob(filepath.Join("..", parent, "*", "*"))
		require.NoError(t, err)
		require.NotEmpty(t, folders, parent)
		for _, file := range folders {
			require.Regexp(t, `\b`+regexp.QuoteMeta(filepath.Base(filepath.Dir(file)))+"/", tree, "docs/architecture.md does not name %s", filepath.Dir(file))
		}
	}
}

// place is a file or a folder of the repository; a * stands for part of a name.
var place = regexp.MustCompile("`((?:cmd|components|docs|internal|operator|stacks|tests|tools)/[\\w./*-]+?)/?`")

// TestWhatThePageForContributorsNamesIsThere: each path in CONTRIBUTING.md leads to a file.
func TestWhatThePageForContributorsNamesIsThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	places := place.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(places), 20, "the page is read")
	for _, match := range places {
		if strings.HasSuffix(match[1], "-NAME") {
			continue // what is to be made
		}
		found, err := filepath.Glob(filepath.Join("..", match[1]))
		require.NoError(t, err)
		require.NotEmpty(t, found, "CONTRIBUTING.md names %s", match[1])
	}
}

// symbolsIn are the names that a file declares: those of the package, and the fields and methods of types as Type.Name.
func symbolsIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	symbols := map[string]bool{}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			symbols[receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				addSpec(symbols, spec)
			}
		}
	}
	return symbols
}

// receiver is the type that a method belongs to, with a dot; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if pointer, isPointer := of.(*ast.StarExpr); isPointer {
		of = pointer.X
	}
	if name, isName := of.(*ast.Ident); isName {
		return name.Name + "."
	}
	return "?."
}

func addSpec(symbols map[string]bool, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			symbols[name.Name] = true
		}
	case *ast.TypeSpec:
		symbols[s.Name.Name] = true
		if structure, isStruct := s.Type.(*ast.StructType); isStruct {
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					symbols[s.Name.Name+"."+name.Name] = true
				}
			}
		}
	}
}
