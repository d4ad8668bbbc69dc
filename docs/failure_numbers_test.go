package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// failureNumber is a number of failures.md, such as F18.
	failureNumber = regexp.MustCompile(`\bF[1-9]\d?\b`)
	// onlyANumber is the value of a field that leads from code to failures.md.
	onlyANumber = regexp.MustCompile(`^F[1-9]\d?$`)
)

// TestNoPageShowsTheNumberOfAFailure: the numbers are for comments, tests and decisions; they mean nothing to a user. The page that lists them is the
// exception.
func TestNoPageShowsTheNumberOfAFailure(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	help, err := filepath.Glob("cli/*.md")
	require.NoError(t, err)
	pages = append(append(pages, help...), "../README.md", "../CONTRIBUTING.md")
	require.Greater(t, len(pages), 50, "the pages are found")
	schemas := schemas(t)
	require.Greater(t, len(schemas), 20, "the schemas are found")
	pages = append(pages, schemas...)
	for _, page := range pages {
		if page == "failures.md" {
			continue
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Empty(t, failureNumber.FindAllString(string(text), -1), page)
	}
}

// schemas are the JSON schemas of inputs and outputs.
func schemas(t *testing.T) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir("../schemas", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// TestNoMessageShowsTheNumberOfAFailure: no text of the product has one, except a value that is nothing but the number.
func TestNoMessageShowsTheNumberOfAFailure(t *testing.T) {
	t.Parallel()
	texts := 0
	for _, folder := range []string{"cmd", "components", "internal", "operator", "stacks"} {
		root := filepath.Join("..", folder)
		if _, err := os.Stat(root); os.IsNotExist(err) {
			continue
		}
		require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, text := range literalsIn(t, path) {
				texts++
				if !onlyANumber.MatchString(text) {
					require.NotRegexp(t, failureNumber, text, path)
				}
			}
			return nil
		}))
	}
	require.Greater(t, texts, 5000, "the sources are read")
}

// literalsIn are the string literals of a file, without the tags of fields.
func literalsIn(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var texts []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.Field:
			n.Tag = nil
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				require.NoError(t, err, path)
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
