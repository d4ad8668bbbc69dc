package pve_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
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

// TestAMachineShowsItsStack covers a stack of systems, which has no cluster: the description of its machine is the mark and nothing else.
func TestAMachineShowsItsStack(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	e.must(http.MethodPost, "/qemu", url.Values{"vmid": {"210"}, "name": {"tools"}, "description": {ownership.SystemMark("site-systems")}})
	machine, err := e.host(patience).Look(t.Context(), 210)
	require.NoError(t, err)
	require.Equal(t, &pve.Machine{Node: node, Name: "tools", Stack: "site-systems"}, unborn(machine))
}
