package nodeops_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

func TestShutdownSwitchesTheMachineOff(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	require.NoError(t, m.health().Shutdown(t.Context(), m.member()))
	m.waitFor(talos.StageOff)
}

func TestControlPlanesAreOff(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	health := m.health()
	health.Runs = func(context.Context, rolling.Node) (bool, error) { return false, nil }
	require.False(t, health.ControlPlanesAreOff(t.Context()), "it answers")
	require.NoError(t, m.fleet.PowerOff(vmid))
	require.True(t, health.ControlPlanesAreOff(t.Context()))
	health.Runs = func(context.Context, rolling.Node) (bool, error) { return true, nil }
	require.False(t, health.ControlPlanesAreOff(t.Context()), "it runs and is out of reach")
	health.Runs = func(context.Context, rolling.Node) (bool, error) {
		return false, errors.New("vmhost does not answer")
	}
	require.False(t, health.ControlPlanesAreOff(t.Context()), "nobody knows")
	health.Runs = nil
	require.False(t, health.ControlPlanesAreOff(t.Context()), "nobody is asked")
}
