package talos_test

import (
	"testing"

	"github.com/em-infra/em-infra/tools/bridge/talos"
	"github.com/em-infra/em-infra/tools/internal/official"
)

// TestInputsAndStatesAreTheOfficialOnes: a state of the official plugin is no change for this plugin, and vice versa.
func TestInputsAndStatesAreTheOfficialOnes(t *testing.T) {
	t.Parallel()
	official.Hold(t, official.Start(t, talos.Server(t.Context(), "0.7.1")), "testdata/official-0.7.1.json")
}
