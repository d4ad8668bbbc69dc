package components_test

import (
	"fmt"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/components"
)

// TestAChangeThatTheNodeDoesNotReadIsReported, in a preview too: the images of an upgrade, which has a line of its own there.
func TestAChangeThatTheNodeDoesNotReadIsReported(t *testing.T) {
	t.Parallel()

	configuration := func(installer, kubelet, sysctl string) *structpb.Struct {
		made, err := structpb.NewStruct(map[string]any{"machineConfigurationInput": fmt.Sprintf(
			"version: v1alpha1\nmachine: {type: worker, install: {image: %s}, kubelet: {image: 'ghcr.io/siderolabs/kubelet:%s'}, sysctls: {a: '%s'}}\n", installer, kubelet, sysctl)})
		require.NoError(t, err)
		return made
	}
	var unread []string
	e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
		args.KubernetesVersion = "v1.35.5"
		args.Unread = func(machine string) { unread = append(unread, machine) }
	}))
	require.True(t, e.onDryRun["k3s-dev-worker-1-note"])
	require.Contains(t, e.bound["k3s-dev-worker-1-configuration"].GetBeforeUpdate(), "k3s-dev-worker-1-note")
	former := configuration(image4, "v1.35.4", "1")
	for _, test := range []struct {
		kind string
		now  *structpb.Struct
		want []string
	}{
		{typeConfiguration, configuration(image4, "v1.35.5", "1"), []string{"k3s-dev-worker-1"}},
		{typeConfiguration, configuration(image11, "v1.35.5", "1"), []string{"k3s-dev-worker-1"}},
		{typeConfiguration, configuration(image4, "v1.35.6", "1"), nil},
		{typeConfiguration, configuration(image11, "v1.35.5", "2"), nil},
		{"proxmoxve:VM/virtualMachine:VirtualMachine", configuration(image11, "v1.35.5", "1"), nil},
	} {
		unread = nil
		var answer pulumirpc.ResourceHookResponse
		e.call(t, "k3s-dev-worker-1-note", &pulumirpc.ResourceHookRequest{
			Name: "k3s-dev-worker-1-configuration", Type: test.kind, OldInputs: former, NewInputs: test.now,
		}, &answer)
		require.Empty(t, answer.GetError())
		require.Equal(t, test.want, unread, test.now)
	}
}
