package operator

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

func TestALockIsTakenAwayWhereTheHostIs(t *testing.T) {
	t.Parallel()
	locked := fmt.Errorf("settle: %w", &pve.LockedError{Node: "vmhost", VMID: 101, Lock: "clone"})
	rehearsed, _ := sessionWith(t, nil, true)
	require.EqualError(t, rehearsed.inThisPlace(locked),
		"settle: VM 101 on vmhost is locked (clone) and no task works on it: run `em-infra lab unlock 101 --stack k3s-dev`, then run up again")
	actual, _ := sessionWith(t, nil, false)
	require.EqualError(t, actual.inThisPlace(locked),
		"settle: VM 101 on vmhost is locked (clone) and no task works on it: run `qm unlock 101` on vmhost, then run up again")
	other := errors.New("no route to host")
	require.Equal(t, other, rehearsed.inThisPlace(other))
}
