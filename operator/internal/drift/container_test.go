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
		"nothing":                   {nesting, pve.GuestConfig{"onboot": "1", "features": "nesting=1"}, nil},
		"nothing, without features": {map[string]any{"startOnBoot": false}, pve.GuestConfig{"cores": "1"}, nil},
		"has no nesting":            {nesting, pve.GuestConfig{"onboot": "1", "features": "keyctl=1"}, map[string]any{"features": map[string]any{"nesting": false}}},
		"has nesting, which no update switches off": {map[string]any{"startOnBoot": true}, pve.GuestConfig{"onboot": "1", "features": "keyctl=1,nesting=1"}, nil},
	} {
		require.Equal(t, test.have, drift.OverlookedInContainer(test.inputs, test.config), name)
	}
}

func TestStartOfContainer(t *testing.T) {
	t.Parallel()
	guest := pve.Guest{VMID: 211, Name: "pihole", Node: "vmhost"}
	_, differs := drift.StartOfContainer(map[string]any{"startOnBoot": true}, guest, pve.GuestConfig{"onboot": "1"})
	require.False(t, differs)
	off, differs := drift.StartOfContainer(map[string]any{"startOnBoot": true}, guest, pve.GuestConfig{})
	require.True(t, differs)
	require.Equal(t, drift.Difference{
		Subject: "pihole", Property: "onBoot", Want: "true", Have: "false, which the provider does not change: `pct set 211 --onboot 1` on vmhost",
	}, off)
	on, differs := drift.StartOfContainer(map[string]any{"startOnBoot": false}, guest, pve.GuestConfig{"onboot": "1"})
	require.True(t, differs)
	require.Equal(t, "true, which the provider does not change: `pct set 211 --onboot 0` on vmhost", on.Have)
}

// TestNestingThatTheProviderDoesNotSwitchOff: an update for it would change nothing, and be planned again by each run.
func TestNestingThatTheProviderDoesNotSwitchOff(t *testing.T) {
	t.Parallel()
	guest := pve.Guest{VMID: 211, Name: "pihole", Node: "vmhost"}
	nesting := map[string]any{"features": map[string]any{"nesting": true}}
	for name, test := range map[string]struct {
		inputs   map[string]any
		features string
		have     string
	}{
		"on, as it should be":        {nesting, "nesting=1", ""},
		"off, as it should be":       {nil, "", ""},
		"off, which an update mends": {nesting, "", ""},
		"on":                         {nil, "nesting=1", "true, which the provider does not switch off: `pct set 211 --delete features` on vmhost, then restart it"},
		"on, with what root has set": {nil, "keyctl=1,nesting=1,mount=nfs", "true, which the provider does not switch off: `pct set 211 --features 'keyctl=1,mount=nfs'` on vmhost, then restart it"},
	} {
		found, differs := drift.NestingOfContainer(test.inputs, guest, pve.GuestConfig{"features": test.features})
		require.Equal(t, test.have != "", differs, name)
		require.Equal(t, test.have, found.Have, name)
	}
}
