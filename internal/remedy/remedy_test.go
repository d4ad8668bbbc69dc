package remedy_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
)

// TestCompleteWithFlagsOfUp: only `em-infra up` gets them.
func TestCompleteWithFlagsOfUp(t *testing.T) {
	t.Parallel()
	place := remedy.Place{Stack: "--stack home", Up: "--allow-replace home-control-1"}
	require.Equal(t, "see `em-infra status --stack home`, then `em-infra up --stack home --allow-replace home-control-1`", place.Complete("see `em-infra status`, then `em-infra up`"))
}

// TestCommandsOfTheLab: a program that contains only the lab has another name, and its commands begin with that name.
func TestCommandsOfTheLab(t *testing.T) {
	t.Parallel()
	const message = "a lab runs here: see `em-infra lab status`, or `em-infra lab stop && em-infra up`, not em-infra lab start"
	require.Equal(t, "a lab runs here: see `em-infra-lab status`, or `em-infra-lab stop && em-infra up`, not em-infra lab start", remedy.Place{LabTool: "em-infra-lab"}.Complete(message))
	require.Equal(t, "a lab runs here: see `em-infra-lab status`, or `em-infra-lab stop && ./tool up`, not em-infra lab start",
		remedy.Place{LabTool: "em-infra-lab", Tool: "./tool"}.Complete(message))
	require.Equal(t, message, remedy.Place{}.Complete(message))
}

// TestWhatIsRunAgain: a reboot that failed is not repeated by an up.
func TestWhatIsRunAgain(t *testing.T) {
	t.Parallel()
	place := remedy.Place{Stack: "--stack home", Again: "reboot worker-1 worker-2"}
	require.Equal(t, "mend that, then run `em-infra reboot worker-1 worker-2 --stack home` again", place.Complete("mend that, then run up again"))
	require.Equal(t, "mend that, then run up again", remedy.Place{Stack: "--stack home"}.Complete("mend that, then run up again"))
}

func TestComplete(t *testing.T) {
	t.Parallel()
	real := remedy.Place{Tool: "go run ./cmd/em-infra", Name: "home", Stack: "--stack home"}
	rehearsed := remedy.Place{Name: "home", Stack: "--stack home --lab", Lab: "--stack home"}
	for _, test := range []struct{ name, message, onHost, inLab string }{
		{
			"no command", "free some space on tank", "free some space on tank", "free some space on tank",
		},
		{
			"of the stack", "run `em-infra up` again, or look at `em-infra state list`",
			"run `go run ./cmd/em-infra up --stack home` again, or look at `go run ./cmd/em-infra state list --stack home`",
			"run `em-infra up --stack home --lab` again, or look at `em-infra state list --stack home --lab`",
		},
		{
			"of a node", "`em-infra reboot worker-1`, or `em-infra reboot worker-1 --stack home`",
			"`go run ./cmd/em-infra reboot worker-1 --stack home`, or `go run ./cmd/em-infra reboot worker-1 --stack home`",
			"`em-infra reboot worker-1 --stack home --lab`, or `em-infra reboot worker-1 --stack home`",
		},
		{
			"with flags of its own", "`em-infra state unlock --force`, `em-infra etcd restore --from NAME`, see `em-infra up --help` and `em-infra role --pve 9.1`",
			"`go run ./cmd/em-infra state unlock --force --stack home`, `go run ./cmd/em-infra etcd restore --from NAME --stack home`, see `go run ./cmd/em-infra up --help` and `go run ./cmd/em-infra role --pve 9.1`",
			"`em-infra state unlock --force --stack home --lab`, `em-infra etcd restore --from NAME --stack home --lab`, see `em-infra up --help` and `em-infra role --pve 9.1`",
		},
		{
			"of the stack's files", "add it with `em-infra secrets edit`, or make it with `em-infra secrets init`",
			"add it with `go run ./cmd/em-infra secrets edit --stack home`, or make it with `go run ./cmd/em-infra secrets init --stack home`",
			"add it with `em-infra secrets edit --stack home`, or make it with `em-infra secrets init --stack home`",
		},
		{
			"of no stack", "`em-infra tools install`", "`go run ./cmd/em-infra tools install`", "`em-infra tools install`",
		},
		{
			"with its flags", "`em-infra up --stack home --only addons`", "`go run ./cmd/em-infra up --stack home --only addons`", "`em-infra up --stack home --only addons`",
		},
		{
			"of the host, where the lab has one for it", "`qm unlock 102` on its host if no task runs there (`pvesh get /nodes/HOST/tasks --source active`), then `em-infra up`",
			"`qm unlock 102` on its host if no task runs there (`pvesh get /nodes/HOST/tasks --source active`), then `go run ./cmd/em-infra up --stack home`",
			"`em-infra lab unlock 102 --stack home` if no task runs there (`em-infra task list --stack home --lab`), then `em-infra up --stack home --lab`",
		},
		{
			"that deletes a machine", "if it is no longer needed: `qm destroy 102 --purge` on pve-1; or `qm stop 103 && qm destroy 103 --purge`",
			"if it is no longer needed: `qm destroy 102 --purge` on pve-1; or `qm stop 103 && qm destroy 103 --purge`",
			"if it is no longer needed: `em-infra lab destroy 102 --stack home`; or `em-infra lab stop-vm 103 --stack home && em-infra lab destroy 103 --stack home`",
		},
		{
			"of the host, where the lab has none", "`pvesm status` on the host", "`pvesm status` on the host", "`pvesm status` on the host",
		},
		{
			"of pulumi", "`pulumi config set --stack STACK em-infra:proxmoxEndpoint URL`",
			"`pulumi config set --stack home em-infra:proxmoxEndpoint URL`", "`pulumi config set --stack home em-infra:proxmoxEndpoint URL`",
		},
		{
			"of others", "`kubectl get nodes` on your computer", "`kubectl get nodes` on your computer", "`kubectl get nodes` on your computer",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.onHost, real.Complete(test.message))
			require.Equal(t, test.inLab, rehearsed.Complete(test.message))
			require.Equal(t, test.message, remedy.Place{}.Complete(test.message))
		})
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"qm unlock 102", "em-infra up"}, remedy.Commands("`qm unlock 102` on vmhost, then run `em-infra up` again"))
	require.Empty(t, remedy.Commands("nothing to do"))
}

// TestErrorsNameTheCommandsOfTheirPlace: in a lab, another command removes a lock. The error that they wrap can still be found.
func TestErrorsNameTheCommandsOfTheirPlace(t *testing.T) {
	t.Parallel()
	locked := &pve.LockedError{Node: "vmhost", VMID: 101, Lock: "clone"}
	err := fmt.Errorf("settle: %w", locked)
	lab := remedy.Place{Name: "k3s-dev", Stack: "--stack k3s-dev --lab", Lab: "--stack k3s-dev"}
	require.EqualError(t, lab.CompleteError(err),
		"settle: VM 101 on vmhost is locked (clone) and no task works on it: run `em-infra lab unlock 101 --stack k3s-dev`, then run up again")
	require.ErrorIs(t, lab.CompleteError(err), locked)
	host := remedy.Place{Name: "k3s-dev", Stack: "--stack k3s-dev"}
	require.EqualError(t, host.CompleteError(err),
		"settle: VM 101 on vmhost is locked (clone) and no task works on it: run `qm unlock 101` on vmhost, then run up again")
	other := errors.New("no route to host")
	require.Equal(t, other, lab.CompleteError(other))
	require.NoError(t, lab.CompleteError(nil))
}
