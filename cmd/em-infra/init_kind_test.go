package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInitRefusesWhatAKindHasNoUseFor: before anything else is looked at, and also a flag that is given without a value.
func TestInitRefusesWhatAKindHasNoUseFor(t *testing.T) {
	project(t)
	for _, test := range []struct {
		args     []string
		sentence string
	}{
		{[]string{"--kind", "cluster"}, `--kind: "cluster" is no kind of stacks: choose platform, hosts or systems`},
		{[]string{"--kind", ""}, `--kind: "" is no kind of stacks: choose platform, hosts or systems`},
		{[]string{"--kind", "hosts", "--network", "wrong", "--bridge", ""}, "--bridge has no meaning for --kind hosts: leave it out"},
		{[]string{"--kind", "hosts", "--vlan", "0"}, "--vlan has no meaning for --kind hosts: leave it out"},
		{[]string{"--kind", "hosts", "--nas-key-file", "missing"}, "--nas-key-file has no meaning for --kind hosts: leave it out"},
		{[]string{"--kind", "systems", "--workers", "1"}, "--workers has no meaning for --kind systems: leave it out"},
		{[]string{"--kind", "systems", "--network", "wrong"}, `--network: "wrong" is no network: write one such as 192.168.20.0/24`},
	} {
		require.Equal(t, refusal(test.sentence), em(t.Context(), append([]string{"init", "--stack", "home"}, test.args...)...), test.args)
	}
}
