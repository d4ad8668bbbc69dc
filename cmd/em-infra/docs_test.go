package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
)

// pages returns all of the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	decisions, err := filepath.Glob("../../docs/decisions/*.md")
	require.NoError(t, err)
	return append(append(found, decisions...), "../../README.md", "../../CONTRIBUTING.md")
}

var (
	// fenced is a block of shell commands.
	fenced = regexp.MustCompile("(?s)```sh\n(.*?)```")
	// inline is a command within a sentence, whole: one with dots or a bar stands for several.
	inline = regexp.MustCompile("`(em-infra [^`…|\\\\]+)`")
	// ours is a line that runs this tool, perhaps with variables before it or for a shell to evaluate, without a comment.
	ours = regexp.MustCompile(`^(?:\w+=\S+ )*(?:eval "\$\()?(?:em-infra|go run \./cmd/em-infra)( [^")#]*)`)
)

// shown is a command of this tool on a page: in a block to be run as it stands, or named in a sentence.
type shown struct {
	args    []string
	inBlock bool
}

func (s shown) String() string { return toolName + " " + strings.Join(s.args, " ") }

func commandsOf(text string) []shown {
	var commands []shown
	add := func(line string, inBlock bool) {
		if match := ours.FindStringSubmatch(line); match != nil {
			commands = append(commands, shown{strings.Fields(strings.ReplaceAll(match[1], "'", "")), inBlock})
		}
	}
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			add(strings.TrimSpace(line), true)
		}
	}
	for _, command := range inline.FindAllStringSubmatch(text, -1) {
		add(command[1], false)
	}
	return commands
}

// TestCommandsOfTheDocumentationAreUnderstood: each command that a page shows exists, with its flags.
func TestCommandsOfTheDocumentationAreUnderstood(t *testing.T) {
	t.Parallel()
	count := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, one := range commandsOf(string(text)) {
			count++
			command, rest, err := newRootCommand().Find(one.args)
			require.NoError(t, err, "%s: %s", page, one)
			require.True(t, command.HasParent(), "%s: %s: no such command", page, one)
			require.NoError(t, command.ParseFlags(rest), "%s: %s", page, one)
			if one.inBlock && command.Args != nil {
				require.NoError(t, command.Args(command, command.Flags().Args()), "%s: %s", page, one)
			}
		}
	}
	require.Greater(t, count, 50, "the pages are read")
}

// credential is a file of credentials on a page.
var credential = regexp.MustCompile(`[\w./-]*/k3s-dev/(?:kubeconfig|talosconfig)`)

// TestCredentialsOfTheDocumentationAreWhereUpWritesThem: those of the real stack and of its rehearsal.
func TestCredentialsOfTheDocumentationAreWhereUpWritesThem(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	deployed, err := workspace.Real(root, "k3s-dev", "")
	require.NoError(t, err)
	rehearsal, err := workspace.Rehearsal(root, "k3s-dev", "")
	require.NoError(t, err)
	count := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, file := range credential.FindAllString(string(text), -1) {
			count++
			require.Contains(t, []string{deployed.Credentials, rehearsal.Credentials}, filepath.Join(root, filepath.Dir(file)), "%s: %s", page, file)
		}
	}
	require.Positive(t, count, "the pages are read")
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinksOfTheDocumentationLead: a link to a file of the repository finds it, and a heading where it names one.
func TestLinksOfTheDocumentationLead(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(page), match[1])
			require.FileExists(t, strings.TrimSuffix(target, "/")+suffixOf(t, target), "%s links to %s", page, match[1])
			if match[2] == "" {
				continue
			}
			linked, err := os.ReadFile(target)
			require.NoError(t, err)
			require.Contains(t, anchors(string(linked)), match[2], "%s links to %s%s", page, match[1], match[2])
		}
	}
}

// suffixOf returns a file in a folder, since FileExists refuses folders.
func suffixOf(t *testing.T, target string) string {
	t.Helper()
	info, err := os.Stat(target)
	if err != nil || !info.IsDir() {
		return ""
	}
	inside, err := os.ReadDir(target)
	require.NoError(t, err)
	return "/" + inside[0].Name()
}

var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// anchors returns the links to the headings of a page, as GitHub makes them.
func anchors(text string) []string {
	var found []string
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		found = append(found, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return found
}
