package operator_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/stacks"
)

// TestOtherPluginsAreNamed: the state itself contains the builds that wrote it, so that a backup or a bucket has them, too.
func TestOtherPluginsAreNamed(t *testing.T) {
	t.Parallel()
	const built, official = "v6.18.1, built from v0.73.0", "v6.18.1, official"
	for name, tc := range map[string]struct {
		noted any
		now   string
		want  []string
	}{
		"the same":                  {noted: map[string]any{"proxmoxve": built}, now: built},
		"nobody noted them":         {now: official},
		"another build":             {noted: map[string]any{"proxmoxve": built}, now: official, want: []string{"proxmoxve: v6.18.1, official (before: v6.18.1, built from v0.73.0)"}},
		"an output of another kind": {noted: "proxmoxve", now: official},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outputs := map[string]any{}
			if tc.noted != nil {
				outputs[stacks.OutputPlugins] = tc.noted
			}
			deployment := apitype.DeploymentV3{Resources: []apitype.ResourceV3{{
				URN: "urn:pulumi:k3s-dev::em-infra::pulumi:pulumi:Stack::em-infra-k3s-dev", Type: resource.RootStackType, Outputs: outputs,
			}}}
			others, err := operator.PluginsOfOtherBuilds(deployment, map[string]string{"proxmoxve": tc.now})
			require.NoError(t, err)
			require.Equal(t, tc.want, others)
		})
	}
}
