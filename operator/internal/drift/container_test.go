package drift_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

func TestOverlookedInContainer(t *testing.T) {
	t.Parallel()
	nesting := map[string]any{"startOnBoot": true, "features": map[string]any{"nesting": true}}
	for name, test := range map[string]struct {
		inputs map[string]any
		config pve.GuestConfig
		have   map[string]any
	}{
		"nothing":                    {nesting, pve.GuestConfig{"onboot": "1", "features": "nesting=1"}, map[string]any{}},
		"nothing, without features":  {map[string]any{"startOnBoot": false}, pve.GuestConfig{"cores": "1"}, map[string]any{}},
		"does not start":             {nesting, pve.GuestConfig{"features": "nesting=1"}, map[string]any{"startOnBoot": false}},
		"has no nesting":             {nesting, pve.GuestConfig{"onboot": "1", "features": "keyctl=1"}, map[string]any{"features": map[string]any{"nesting": false}}},
		"has nesting among features": {map[string]any{"startOnBoot": true}, pve.GuestConfig{"onboot": "1", "features": "keyctl=1,nesting=1"}, map[string]any{"features": map[string]any{"nesting": true}}},
	} {
		require.Equal(t, test.have, drift.OverlookedInContainer(test.inputs, test.config), name)
	}
}
