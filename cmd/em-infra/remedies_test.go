package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandsThatTheToolNamesAreUnderstood: what an error, a finding or an explanation tells people to run exists, with its
// flags. Commands of a host are run on the lab (TestEveryRemedyThatTheLabCanRunWorks).
func TestCommandsThatTheToolNamesAreUnderstood(t *testing.T) {
	t.Parallel()
	ours, pulumi := 0, 0
	for place, literals := range literalsOfSources(t) {
		for _, literal := range literals {
			for _, span := range regexp.MustCompile("`((?:em-infra|pulumi) [^`]+)`").FindAllStringSubmatch(literal, -1) {
				command := filled(span[1])
				if strings.ContainsAny(command, "|(…") || command == "em-infra x" {
					continue // it stands for several
				}
				if rest, isOurs := strings.CutPrefix(command, "em-infra "); isOurs {
					ours++
					requireUnderstood(t, place, strings.Fields(rest))
				} else {
					pulumi++
					require.Regexp(t, knownToPulumi, command, "%s: %q is not among the commands that a test runs", place, command)
				}
			}
		}
	}
	require.Greater(t, ours, 40, "the sources are read")
	require.Greater(t, pulumi, 8, "the sources are read")
}

// TestCommandsInSentencesAreUnderstood: where a text names a command of the tool without marking it, in a sentence, an example, a
// comment of a file that is written, or a page, the command and the flags behind it exist.
func TestCommandsInSentencesAreUnderstood(t *testing.T) {
	t.Parallel()
	count, root := 0, newRootCommand()
	for place, literals := range textsForPeople(t) {
		for _, literal := range literals {
			for _, sentence := range sentencesFrom(inSentence, filled(literal)) {
				args := leading(sentence[strings.Index(sentence, toolName)+len(toolName):])
				if command, _, err := root.Find(args[:1]); err != nil || !command.HasParent() {
					require.NotContains(t, sentence, " --", "%s: no such command", place)
					continue // a sentence about the tool
				}
				count++
				requireUnderstood(t, place, args)
			}
		}
	}
	require.Greater(t, count, 200, "the sources and pages are read")
}

// inSentence is the tool's name before a word that can be a command.
var inSentence = regexp.MustCompile(`(?:^|[^\w/.])((?:em-infra|go run \./cmd/em-infra) )[a-z]`)

// leading returns the words of a text up to the last flag, with what may be its value, or the first word where there is no
// flag: what comes after is a sentence.
func leading(text string) []string {
	words := strings.Fields(text)
	last := 0
	for i, word := range words {
		clean := strings.TrimRight(word, ".,:)'")
		if strings.HasPrefix(clean, "--") {
			words[i], last = clean, i
			if clean == word && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
				words[i+1] = strings.TrimRight(words[i+1], ".,:)'")
				last = i + 1
			}
		} else if clean != word {
			words[i] = clean
			if last == 0 {
				return words[:i+1]
			}
			break
		}
	}
	return words[:last+1]
}

// knownToPulumi are commands that TestE2EPlainPulumi and the tests of the state run, in the forms that they run them in.
var knownToPulumi = regexp.MustCompile(`^pulumi (?:` +
	`up|preview|refresh|destroy|cancel|stack rm --force --preserve-config|stack rename --stack x x|plugin install|` +
	`config set (?:--secret |--stack \S+ )+(?:x|(?:x|em-infra):\w+)(?: \S+)?` +
	`)$`)

func requireUnderstood(t *testing.T, place string, args []string) {
	t.Helper()
	command, rest, err := newRootCommand().Find(args)
	require.NoError(t, err, "%s: %v", place, args)
	require.True(t, command.HasParent(), "%s: %v: no such command", place, args)
	require.NoError(t, command.ParseFlags(rest), "%s: %v", place, args)
	if !slices.Contains(args, "--stack") {
		return // its name alone, as in a sentence
	}
	require.NoError(t, command.ValidateRequiredFlags(), "%s: %v", place, args)
	require.NoError(t, command.ValidateFlagGroups(), "%s: %v", place, args)
	if command.Args != nil {
		require.NoError(t, command.Args(command, command.Flags().Args()), "%s: %v", place, args)
	}
}

// verb is a formatting verb, for which the program fills in a value.
var verb = regexp.MustCompile(`%(?:\[\d\])?[a-z]`)

func filled(text string) string { return verb.ReplaceAllString(text, "x") }

// literalsOfSources returns the string literals of the sources, without tests, by file. Operands of + are one string, with x for each that is no
// literal. The format in a call of typed is one with the tool's name before it.
func literalsOfSources(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, folder := range []string{"cmd", "components", "internal", "operator", "stacks"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
				found[path] = literalsOf(t, path)
			}
			return err
		})
		require.NoError(t, err)
	}
	return found
}

func literalsOf(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	var literals []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BinaryExpr:
			if node.Op == token.ADD {
				literals = append(literals, textOf(node))
				return false
			}
		case *ast.CallExpr:
			if name, isIdent := node.Fun.(*ast.Ident); isIdent && name.Name == "typed" && !strings.HasPrefix(textOf(node.Args[0]), "%") {
				literals = append(literals, "`em-infra "+textOf(node.Args[0])+"`")
			}
		case *ast.BasicLit:
			literals = append(literals, textOf(node))
		}
		return true
	})
	return literals
}

// textOf returns a string expression with x for what only the running program knows.
func textOf(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	}
	return "x"
}
