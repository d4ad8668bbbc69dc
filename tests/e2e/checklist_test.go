package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checked is a command of the README's checklist, and its output on a healthy cluster.
type checked struct {
	command string
	prints  []string // lines in their order; between them there may be others
}

var (
	console = regexp.MustCompile("(?s)```console\n(.*?)```")
	ages    = regexp.MustCompile(`\b(?:\d+[smhd])+\b`)
)

// checklist returns the commands of the README's blocks of that kind.
func checklist(t testing.TB, readme string) []checked {
	t.Helper()
	var all []checked
	for _, block := range console.FindAllStringSubmatch(readme, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			command, isCommand := strings.CutPrefix(line, "$ ")
			switch {
			case isCommand:
				all = append(all, checked{command: command})
			case line != "" && line != "…":
				require.NotEmpty(t, all, "%q stands before any command", line)
				last := &all[len(all)-1]
				last.prints = append(last.prints, steady(line))
			}
		}
	}
	return all
}

// steady returns a line without its variable parts: ages, and the width of their column.
func steady(line string) string {
	return strings.Join(strings.Fields(ages.ReplaceAllString(line, "AGE")), " ")
}

// holdsTheChecklist runs the README's checklist and compares what it prints.
func (c *clone) holdsTheChecklist() {
	c.t.Helper()
	kubectl, err := kubectlTool()
	require.NoError(c.t, err)
	require.NoError(c.t, os.Symlink(kubectl, filepath.Join(c.home, "bin", "kubectl")))
	list := checklist(c.t, c.read(filepath.Join(c.root, "README.md")))
	require.Greater(c.t, len(list), 4, "the README is read")
	for _, one := range list {
		require.NotEmpty(c.t, one.prints, one.command)
		output := c.shell(one.command + " 2>&1")
		rest := one.prints
		for line := range strings.Lines(output) {
			if len(rest) > 0 && steady(line) == rest[0] {
				rest = rest[1:]
			}
		}
		require.Empty(c.t, rest, "%s printed:\n%s", one.command, output)
	}
}
