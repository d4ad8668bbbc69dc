package command_test

import (
	"testing"

	"github.com/em-infra/em-infra/tools/internal/official"
	"github.com/em-infra/em-infra/tools/standin/command"
)

// TestInputsAndStatesAreTheOfficialOnes: a state of the official plugin is no change for this plugin, and vice versa.
func TestInputsAndStatesAreTheOfficialOnes(t *testing.T) {
	t.Parallel()
	official.Hold(t, official.Start(t, command.Server("1.2.1")), "testdata/official-1.2.1.json")
}
