package components_test

import (
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
)

// TestF10TheGuestAgentFollowsTheSchematic, with a time limit of 0, for which the provider does not query the agent. A machine of an earlier release
// is not rebooted for a difference in that limit alone.
func TestF10TheGuestAgentFollowsTheSchematic(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		extensions []string
		enabled    bool
		ignored    bool
	}{
		"no extension":     {ignored: true},
		"another":          {extensions: []string{"siderolabs/xen-guest-agent"}, ignored: true},
		"the agent":        {extensions: []string{"siderolabs/iscsi-tools", "siderolabs/qemu-guest-agent"}, enabled: true},
		"not by half name": {extensions: []string{"somebody/qemu-guest-agent"}, ignored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
				of := templateFixture("vmhost")
				of.Schematic = components.Schematic{Extensions: test.extensions}
				template, err := components.NewTalosTemplate(ctx, "template", of, providers)
				if err != nil {
					return err
				}
				worker := nodeFixture(template, machineFixture("worker-1", components.RoleWorker, 21))
				if _, err := components.NewTalosNode(ctx, "worker-1", &worker, providers); err != nil {
					return err
				}
				gpu := nodeFixture(template, machineFixture("gpu-1", components.RoleWorker, 22))
				gpu.Machine.GPUs = []components.GPU{{Mapping: "gpu"}}
				_, err = components.NewGpuWorker(ctx, "gpu-1", &components.GpuWorkerArgs{Node: gpu}, providers)
				return err
			})
			require.NoError(t, err)
			for _, machine := range []string{"worker-1-vm", "gpu-1-vm"} {
				registered := r.Named(t, tokenVM, machine)
				require.Equal(t, resource.NewPropertyMapFromMap(map[string]any{"enabled": test.enabled, "timeout": "0s"}),
					registered.Inputs["agent"].ObjectValue(), machine)
				require.Equal(t, test.ignored, slices.Contains(registered.RegisterRPC.GetIgnoreChanges(), "agent.timeout"), machine)
			}
			require.Equal(t, resource.NewPropertyMapFromMap(map[string]any{"enabled": false}),
				r.Named(t, tokenVM, "template-vm").Inputs["agent"].ObjectValue(), "a template never starts")
		})
	}
}
