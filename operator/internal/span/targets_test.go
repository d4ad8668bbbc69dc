package span_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/span"
)

// TestAPreviewOfTargetsIsThatOfAllWithoutTheOthers checks the counts of a preview of targets, because the engine itself refuses
// targets that do not exist yet when it refreshes.
func TestAPreviewOfTargetsIsThatOfAllWithoutTheOthers(t *testing.T) {
	t.Parallel()
	step := func(urn string, op apitype.OpType) apitype.EngineEvent {
		return apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: apitype.StepEventMetadata{URN: urn, Op: op}}}
	}
	warning := apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{Message: "a warning"}}
	seen := []apitype.EngineEvent{step("new", apitype.OpCreate), warning, step("other", apitype.OpUpdate), step("old", apitype.OpSame)}
	all := map[apitype.OpType]int{apitype.OpCreate: 1, apitype.OpUpdate: 1, apitype.OpSame: 1}

	require.Equal(t, map[apitype.OpType]int{apitype.OpCreate: 1, apitype.OpSame: 1}, span.Counted([]string{"new", "old"}, seen, all))
	require.Equal(t, all, span.Counted(nil, seen, all))
}

// TestWhatIsRemovedIsNotTornApart: a run of targets leaves out nothing that the program removes, if it depends on a target or something that
// is kept depends on it.
func TestWhatIsRemovedIsNotTornApart(t *testing.T) {
	t.Parallel()
	const stack = "urn:pulumi:home::em-infra::a:b:C::"
	step := func(name string, op apitype.OpType) apitype.EngineEvent {
		return apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: apitype.StepEventMetadata{URN: stack + name, Op: op}}}
	}
	seen := []apitype.EngineEvent{
		step("bootstrap", apitype.OpUpdate), step("membership", apitype.OpDelete), step("vm", apitype.OpDelete), step("chart", apitype.OpDelete), step("new-vm", apitype.OpCreate),
	}
	present := []apitype.ResourceV3{
		{URN: stack + "cluster"}, {URN: stack + "vm", Parent: stack + "cluster"}, {URN: stack + "membership", Dependencies: []resource.URN{stack + "vm"}},
		{URN: stack + "bootstrap", PropertyDependencies: map[resource.PropertyKey][]resource.URN{"node": {stack + "membership"}}}, {URN: stack + "chart"},
	}
	for _, test := range []struct {
		name    string
		targets []string
		removed string
	}{
		{"all that goes", []string{"bootstrap", "membership", "vm"}, ""},
		{"nothing that goes, and it depends on no target", []string{"new-vm", "bootstrap"}, ""},
		{"its first phase", []string{"new-vm", "bootstrap", "vm"}, "membership"},
		{"what it is a child of", []string{"new-vm", "bootstrap", "cluster"}, "vm"},
		{"what needs it is kept", []string{"new-vm"}, "membership"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var targets []string
			for _, name := range test.targets {
				targets = append(targets, stack+name)
			}
			require.Equal(t, test.removed, span.Torn(seen, targets, present))
		})
	}
}

// TestTheEngineIsGivenTargetsOrWhatToLeaveOut: the CLI refuses both at once.
func TestTheEngineIsGivenTargetsOrWhatToLeaveOut(t *testing.T) {
	t.Parallel()
	const stack = "urn:pulumi:k3s-dev::em-infra::"
	const machine = stack + "em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-control-1-vm"
	const addons = stack + "em-infra:index:ClusterAddons::k3s-dev-addons"
	const secret = stack + "em-infra:index:ClusterAddons$kubernetes:core/v1:Secret::k3s-dev-addons-truenas"
	const provider = stack + "em-infra:index:ClusterAddons$pulumi:providers:kubernetes::k3s-dev-addons-kubernetes"
	all := []string{machine, addons, secret, provider}
	for _, test := range []struct {
		targets        []string
		silent         bool
		kept, excluded []string
	}{
		{targets: nil},
		{targets: all, kept: all},
		{targets: nil, silent: true, excluded: []string{span.InCluster}},
		{targets: all, silent: true, kept: []string{machine, addons, provider}},
	} {
		kept, excluded := span.Scope(test.targets, test.silent)
		require.Equal(t, test.kept, kept)
		require.Equal(t, test.excluded, excluded)
	}
	require.Len(t, all, 4, "the targets themselves stay as they are")
	require.Equal(t, secret, all[2])
}

func TestAResourceBelongsToTheNodeWithTheLongestName(t *testing.T) {
	t.Parallel()
	nodes := []string{"home-w", "home-w-1", "home-w-10"}
	for name, want := range map[string]string{
		"home-w-1":            "home-w-1",
		"home-w-1-vm":         "home-w-1",
		"home-w-10-vm":        "home-w-10",
		"home-w-membership":   "home-w",
		"home-secrets":        "",
		"home-template-image": "",
	} {
		require.Equal(t, want, span.OwnerOf(name, nodes), name)
	}
}
