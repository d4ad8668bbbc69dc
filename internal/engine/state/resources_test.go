package state_test

import (
	"iter"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
)

func TestResourcesOfAType(t *testing.T) {
	t.Parallel()
	all := deployment(
		of(token.TalosNode, "component", nil, nil), machine("b", 1.0), replaced(machine("replaced", 2.0)), waiting(machine("waiting", 3.0)), machine("a", 4.0),
	)
	for _, test := range []struct {
		name string
		walk func(apitype.DeploymentV3, tokens.Type) iter.Seq[*apitype.ResourceV3]
		want []string
	}{
		{"every", state.Every, []string{"b-vm", "replaced-vm", "waiting-vm", "a-vm"}},
		{"current", state.Current, []string{"b-vm", "waiting-vm", "a-vm"}},
		{"existing", state.Existing, []string{"b-vm", "a-vm"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for r := range test.walk(all, token.VirtualMachine) {
				names = append(names, r.URN.Name())
			}
			require.Equal(t, test.want, names)
			for r := range test.walk(all, token.VirtualMachine) {
				require.Same(t, &all.Resources[1], r, "it is the entry itself, and a walk may end early")
				break
			}
		})
	}
}
