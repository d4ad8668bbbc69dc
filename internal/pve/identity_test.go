package pve_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// unborn returns a machine without its mark of birth, which the host draws for each clone.
func unborn(machine *pve.Machine) *pve.Machine {
	if machine == nil {
		return nil
	}
	without := *machine
	without.Birth = ""
	return &without
}

// TestAMachineShowsItsBirth: a clone has one of its own, as the host writes it.
func TestAMachineShowsItsBirth(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	e.clone()
	machine, err := e.host(patience).Look(t.Context(), vmid)
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, machine.Birth)
}
