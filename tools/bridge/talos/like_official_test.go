package talos_test

import (
	"testing"

	"github.com/em-infra/em-infra/tools/bridge/talos"
	"github.com/em-infra/em-infra/tools/internal/official"
)

// TestInputsAndStatesAreTheOfficialOnes: a state of the official plugin is no change for this one, and the other way round.
func TestInputsAndStatesAreTheOfficialOnes(t *testing.T) {
	t.Parallel()
	official.Hold(t, official.Start(t, talos.Server(t.Context(), "0.7.1")), "testdata/official-0.7.1.json")
}
