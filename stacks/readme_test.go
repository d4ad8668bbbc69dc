package stacks_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/stacks"
)

// created is a line of the README's transcript that says which resource was created.
var created = regexp.MustCompile(`(?m)^ (?:generate|provision|bootstrap|addons) +(\S+) created `)

// TestTheTranscriptOfTheReadmeNamesResourcesOfItsStack: what the README shows of a first `up` is still what the program makes of
// stacks/k3s-dev.
func TestTheTranscriptOfTheReadmeNamesResourcesOfItsStack(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	shown := created.FindAllStringSubmatch(string(readme), -1)
	require.Greater(t, len(shown), 5, "the README is read")

	r, err := runWith(t, stacks.Options{Root: "..", Inventory: filepath.Join("stacks", "k3s-dev")}, reachable(nil))
	require.NoError(t, err)
	names := map[string]bool{}
	for _, args := range r.Resources {
		names[args.Name] = true
	}
	for _, line := range shown {
		require.True(t, names[line[1]], "the README shows that %s was created: no such resource", line[1])
	}
}
