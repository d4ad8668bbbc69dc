package e2e_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// documented are the commands in the blocks of a page that only look, or change nothing when all is done.
var documented = regexp.MustCompile(`(?m)^em-infra ((?:preflight|status|drift|preview|state list|state backup|up --stack k3s-dev (?:--only verify|--until provision))(?: [^#\n|]*)?)$`)

// runsWhatTheDocsSay runs the commands of the documentation on a cluster that matches its inventory.
func (r *rehearsal) runsWhatTheDocsSay() {
	r.t.Helper()
	pages, err := filepath.Glob(filepath.Join(r.root, "docs", "*.md"))
	require.NoError(r.t, err)
	var commands []string
	for _, page := range pages {
		for line := range strings.Lines(r.read(page)) {
			line, _, _ = strings.Cut(line, " #")
			if match := documented.FindStringSubmatch(strings.TrimSpace(line)); match != nil && strings.Contains(match[1], "--stack k3s-dev") {
				commands = append(commands, strings.TrimSpace(strings.Replace(match[1], "--stack k3s-dev", "", 1)))
			}
		}
	}
	slices.Sort(commands)
	commands = slices.Compact(commands)
	require.Greater(r.t, len(commands), 5, "the pages are read: %q", commands)
	for _, command := range commands {
		args := append(strings.Fields(command), "--lab")
		if args[0] == "up" {
			args = append(args, "--yes")
		}
		r.mustRun(0, args...)
	}
}
