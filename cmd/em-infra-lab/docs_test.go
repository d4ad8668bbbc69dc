package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/hostfile"
)

const page = "../../docs/lab.md"

// inBlock is a block of code of the page, by its language.
var inBlock = regexp.MustCompile("(?s)```(\\w*)\n(.*?)```")

// called is a command of the program in a line of a shell, as far as it is plain words.
var called = regexp.MustCompile(`(?:^|[^\w/.-])(?:\./)?em-infra-lab((?: [\w./-]+)+)`)

// TestTheCommandsOfThePageExist: each command line of docs/lab.md is one that this program takes.
func TestTheCommandsOfThePageExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	found := map[string]bool{}
	for _, block := range inBlock.FindAllStringSubmatch(string(text), -1) {
		if block[1] != "sh" {
			continue
		}
		for _, line := range strings.Split(block[2], "\n") {
			if strings.HasPrefix(line, "go build") {
				continue
			}
			for _, match := range called.FindAllStringSubmatch(line, -1) {
				words := strings.Fields(match[1])
				c, rest, err := newRootCommand().Find(words)
				require.NoError(t, err, line)
				require.NotEqual(t, program, c.CommandPath(), line)
				require.NoError(t, c.ParseFlags(rest), line)
				found[strings.TrimPrefix(c.CommandPath(), program+" ")] = true
			}
		}
	}
	require.Subset(t, found, map[string]bool{"start": true, "env": true, "machines": true, "fault set": true})

	for _, c := range newRootCommand().Commands() {
		if c.Name() != "completion" && c.Name() != "help" {
			require.Contains(t, string(text), "`"+c.Name(), "the page does not name the command")
		}
	}
}

// TestTheHostsOfThePageAreOnesThatALabTakes: a lab can be started with the file in docs/lab.md.
func TestTheHostsOfThePageAreOnesThatALabTakes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, block := range inBlock.FindAllStringSubmatch(string(text), -1) {
		if block[1] != "yaml" {
			continue
		}
		file := filepath.Join(t.TempDir(), "hosts.yaml")
		require.NoError(t, os.WriteFile(file, []byte(block[2]), 0o600))
		site, err := hostfile.Load(file)
		require.NoError(t, err)
		require.Len(t, site.Hosts, 2)
		return
	}
	t.Fatal("the page has no file of hosts any more")
}
