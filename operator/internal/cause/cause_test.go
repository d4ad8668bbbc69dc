package cause_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/cause"
	"github.com/em-infra/em-infra/operator/internal/progress"
)

var nodes = []cause.Node{
	{Name: "k3s-dev-control-1", Logical: "k3s-dev-control-1"}, {Name: "k3s-dev-worker-1", Logical: "k3s-dev-worker-1"},
	{Name: "k3s-dev-worker-10", Logical: "k3s-dev-worker-10"}, {Name: "gpu", Logical: "k3s-dev-gpu"},
}

func failed(in phase.Phase, name, text string) progress.Failure {
	return progress.Failure{Phase: in, Name: name, Text: text}
}

// told is a short form of a cause.
type summary struct {
	Name, Text, Known string
	Because, Alike    []string
}

func inShort(causes []cause.Cause) []summary {
	var all []summary
	for _, c := range causes {
		one := summary{Name: c.Name, Text: c.Text, Because: c.Because, Alike: c.Alike}
		for _, explanation := range c.Explanations {
			one.Known += explanation.Name
		}
		all = append(all, one)
	}
	return all
}

// TestCauses uses texts from runs on a lab with faults.
func TestCauses(t *testing.T) {
	t.Parallel()
	const (
		start   = `error waiting for VM start: task "UPID:vmhost:000004B9:00000A68:6B02A45D:qmstart:103:em-infra@pve!rehearsal:" failed to complete with exit code: start failed: QEMU exited with code 1`
		dial1   = `Error applying configuration: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.23.20.21:50000: connect: connection refused"`
		dial2   = `Error applying configuration: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.23.20.11:50000: connect: connection refused"`
		expired = "received an HTTP 401 response - Reason: no such token"
		lost    = "k3s-dev-worker-1 does not work 15m0s after its change (it is in stage booting): look at the console of its VM in Proxmox VE; no other node is touched until it works again"
	)
	for _, test := range []struct {
		name     string
		failures []progress.Failure
		want     []summary
	}{
		{"none", nil, nil},
		{
			"the provider says it in its log, and once more as its answer", []progress.Failure{
				failed(phase.Provision, "k3s-dev-gpu-vm", "sdk-v2/provider2.go:572: sdk.helper_schema: "+start+": provider=proxmox@6.18.1"),
				failed(phase.Provision, "k3s-dev-gpu-vm", "1 error occurred:\n\t* creating urn:pulumi:ztrya::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-gpu-vm: 1 error occurred:\n\t* "+start),
			},
			[]summary{{Name: "k3s-dev-gpu-vm", Text: start, Known: "start-failed"}},
		},
		{
			"a Command is quoted with what it ran", []progress.Failure{
				failed(phase.Bootstrap, "k3s-dev-worker-1-membership", "exit status 1: running \"${EM_INFRA:-go run github.com/em-infra/em-infra/cmd/em-infra} node wait --address 127.24.20.11\":\nan unknown error"),
			},
			[]summary{{Name: "k3s-dev-worker-1-membership", Text: "an unknown error"}},
		},
		{
			"two machines in the same way", []progress.Failure{
				failed(phase.Bootstrap, "k3s-dev-worker-1-configuration", dial1), failed(phase.Bootstrap, "k3s-dev-control-1-configuration", dial2),
			},
			[]summary{{Name: "k3s-dev-worker-1-configuration", Text: dial1, Known: "node-away", Alike: []string{"k3s-dev-control-1-configuration"}}},
		},
		{
			"one token for all", []progress.Failure{
				failed(phase.Provision, "k3s-dev-worker-1-vm", expired), failed(phase.Provision, "k3s-dev-worker-10-vm", expired), failed(phase.Provision, "k3s-dev-gpu-vm", expired),
			},
			[]summary{{Name: "k3s-dev-worker-1-vm", Text: expired, Known: "unauthorized", Because: []string{"k3s-dev-worker-10-vm", "k3s-dev-gpu-vm"}}},
		},
		{
			"those that wait for another are told of before it", []progress.Failure{
				failed(phase.Bootstrap, "k3s-dev-worker-10-configuration", "k3s-dev-worker-10 is untouched, because k3s-dev-worker-1 did not come back from its change: mend that node, then run up again"),
				failed(phase.Bootstrap, "k3s-dev-gpu-configuration", "gpu is untouched, because k3s-dev-worker-1 did not come back from its change: mend that node, then run up again"),
				failed(phase.Bootstrap, "k3s-dev-worker-1-configuration", lost),
			},
			[]summary{{Name: "k3s-dev-worker-1-configuration", Text: lost, Because: []string{"k3s-dev-worker-10-configuration", "k3s-dev-gpu-configuration"}}},
		},
		{
			"a node whose name begins like another's", []progress.Failure{
				failed(phase.Bootstrap, "k3s-dev-worker-1-configuration", "it does not work"),
				failed(phase.Bootstrap, "k3s-dev-gpu-configuration", "gpu is untouched, because k3s-dev-worker-10 did not come back from its change"),
			},
			[]summary{
				{Name: "k3s-dev-worker-1-configuration", Text: "it does not work"},
				{Name: "k3s-dev-gpu-configuration", Text: "gpu is untouched, because k3s-dev-worker-10 did not come back from its change"},
			},
		},
		{
			"two that name each other", []progress.Failure{
				failed(phase.Bootstrap, "k3s-dev-worker-1-configuration", "waits for gpu"), failed(phase.Bootstrap, "k3s-dev-gpu-configuration", "waits for k3s-dev-worker-1"),
			},
			[]summary{{Name: "k3s-dev-worker-1-configuration", Text: "waits for gpu", Because: []string{"k3s-dev-gpu-configuration"}}},
		},
		{
			"one that names one of two that name each other", []progress.Failure{
				failed(phase.Bootstrap, "k3s-dev-control-1-configuration", "waits for gpu"),
				failed(phase.Bootstrap, "k3s-dev-gpu-configuration", "waits for k3s-dev-worker-1"), failed(phase.Bootstrap, "k3s-dev-worker-1-configuration", "waits for gpu"),
			},
			[]summary{{Name: "k3s-dev-gpu-configuration", Text: "waits for k3s-dev-worker-1", Because: []string{"k3s-dev-control-1-configuration", "k3s-dev-worker-1-configuration"}}},
		},
		{
			"two that have nothing to do with one another", []progress.Failure{
				failed(phase.Provision, "k3s-dev-gpu-vm", "one thing"), failed(phase.Addons, "k3s-dev-flux", "another"), {Text: "and the whole run"},
			},
			[]summary{{Name: "k3s-dev-gpu-vm", Text: "one thing"}, {Name: "k3s-dev-flux", Text: "another"}, {Text: "and the whole run"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, inShort(cause.Of(test.failures, nodes)))
		})
	}
}

// TestCausesAreWritten: each cause with its explanation, the failures that follow from it, and the text of an unknown one.
func TestCausesAreWritten(t *testing.T) {
	t.Parallel()
	const clone = "can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout"
	failures := []progress.Failure{
		{Phase: phase.Provision, Name: "k3s-dev-worker-1-vm", Text: "received an HTTP 500 response - Reason: " + clone},
		{Phase: phase.Provision, Name: "k3s-dev-worker-2-vm", Text: "received an HTTP 500 response - Reason: " + strings.ReplaceAll(clone, "102", "103")},
		{Phase: phase.Provision, Name: "k3s-dev-worker-3-vm", Text: "waits for cp-1"},
		{Phase: phase.Provision, Name: "lab-cp-1-vm", Text: "nobody knows this"},
		{Phase: phase.Bootstrap, Name: "k3s-dev-bootstrap", Text: "something nobody\nhas seen yet"},
	}
	var out strings.Builder
	for _, one := range cause.Of(failures, []cause.Node{{Name: "cp-1", Logical: "lab-cp-1"}}) {
		one.WriteText(&out)
	}
	require.Equal(t, `
failed in provision: k3s-dev-worker-1-vm
  Proxmox:       can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout
  meaning        another task holds VM 102, or held it when the host went down
  do             `+"`qm unlock 102`"+` on its host if no task is running there (`+"`pvesh get /nodes/HOST/tasks --source active`"+`), then run `+"`em-infra up` again"+`
  safe           yes: nothing was left half done; up goes on from here
  1 more failed in the same way: k3s-dev-worker-2-vm

failed in provision: lab-cp-1-vm
  nobody knows this
  1 more failed because of this: k3s-dev-worker-3-vm

failed in bootstrap: k3s-dev-bootstrap
  something nobody
  has seen yet
`, out.String())
}
