package components_test

import (
	"context"
	"errors"
	"testing"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
)

const configurationType = "talos:machine/configurationApply:ConfigurationApply"

// boots calls the hook before a creation, and returns its refusal.
func (e *hookEngine) boots(t *testing.T, kind string) string {
	t.Helper()
	var answer pulumirpc.ResourceHookResponse
	e.call(t, "k3s-dev-control-1-boots", &pulumirpc.ResourceHookRequest{
		Urn: "urn:pulumi:test::em-infra::" + kind + "::k3s-dev-control-1-configuration", Name: "k3s-dev-control-1-configuration", Type: kind,
	}, &answer)
	return answer.GetError()
}

// TestTheFirstConfigurationWaitsForItsMachine: the wait has a limit, its error has a reason, and it ends when the machine is off.
func TestTheFirstConfigurationWaitsForItsMachine(t *testing.T) {
	t.Parallel()
	const look = "look at the console of VM 111 in Proxmox VE: it shows how far Talos is, and the address that it has; then run up again, it goes on from here"
	for _, test := range []struct {
		name string
		runs func(context.Context, int) (bool, error)
		kind string
		want string
	}{
		{"a machine is made at once", nil, "proxmoxve:VM/virtualMachine:VirtualMachine", ""},
		{"it is off", func(context.Context, int) (bool, error) { return false, nil }, configurationType, "VM 111 is switched off: see in the tasks of Proxmox VE why it does not run, then run up again, which starts it"},
		{"it runs", func(context.Context, int) (bool, error) { return true, nil }, configurationType, look},
		{"its host does not say", func(context.Context, int) (bool, error) { return false, errors.New("no answer") }, configurationType, look},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
				args.Runs, args.BootTimeout = test.runs, 20*time.Second
			}))
			refusal := e.boots(t, test.kind)
			if test.want == "" {
				require.Empty(t, refusal)
				return
			}
			require.Regexp(t, `^node 127\.193\.20\.11: `, refusal)
			require.Contains(t, refusal, test.want)
		})
	}
}
