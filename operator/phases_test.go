package operator

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options UpOptions
		span    span
		command string
		err     string
	}{
		{UpOptions{}, span{last: phase.Verify}, "up", ""},
		{UpOptions{Until: phase.Provision}, span{last: phase.Provision}, "up-until-provision", ""},
		{UpOptions{Only: phase.Addons}, span{last: phase.Addons, only: true}, "up-only-addons", ""},
		{UpOptions{Until: phase.Addons, Only: phase.Addons}, span{}, "", "--until and --only exclude each other: give one of them"},
		{UpOptions{Plan: "0123456789abcdef"}, span{last: phase.Verify, plan: "0123456789abcdef"}, "up", ""},
		{UpOptions{Plan: "0123456789abcdef", Until: phase.Addons}, span{}, "", planOfAPart},
		{UpOptions{Plan: "0123456789abcdef", Only: phase.Addons}, span{}, "", planOfAPart},
		{UpOptions{Plan: "0123456789abcdef", OnlyNode: "cp-1"}, span{}, "", planOfAPart},
	} {
		chosen, err := test.options.span()
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.span, chosen)
		require.Equal(t, test.command, chosen.command())
	}
	require.False(t, span{last: phase.Verify, only: true}.work(), "verify makes nothing")
	require.True(t, span{last: phase.Verify}.work())
}

const planOfAPart = "--plan excludes --until, --only and --only-node, since a preview plans all phases of all nodes: leave them out"

const (
	urnStack     = "urn:pulumi:k3s-dev::em-infra::pulumi:pulumi:Stack::em-infra-k3s-dev"
	urnProvider  = "urn:pulumi:k3s-dev::em-infra::pulumi:providers:proxmoxve::proxmox"
	urnCluster   = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster::k3s-dev"
	urnSecrets   = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$talos:machine/secrets:Secrets::k3s-dev-secrets"
	urnNode      = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode::k3s-dev-worker-1"
	urnVM        = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-worker-1-vm"
	urnBootstrap = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$talos:machine/bootstrap:Bootstrap::k3s-dev-bootstrap"
)

// planned returns the events of a preview with these resources and their parents.
func planned(pairs ...string) []apitype.EngineEvent {
	var seen []apitype.EngineEvent
	for i := 0; i < len(pairs); i += 2 {
		state := &apitype.StepEventStateMetadata{URN: pairs[i], Parent: pairs[i+1]}
		seen = append(seen, apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: apitype.StepEventMetadata{URN: pairs[i], New: state}}})
	}
	return append(seen, apitype.EngineEvent{SummaryEvent: &apitype.SummaryEvent{}})
}

func TestTargetsIncludeTheParents(t *testing.T) {
	t.Parallel()
	seen := planned(urnStack, "", urnProvider, urnStack, urnCluster, urnStack, urnSecrets, urnCluster, urnNode, urnCluster, urnVM, urnNode, urnBootstrap, urnCluster)
	require.ElementsMatch(t, []string{urnNode, urnVM, urnSecrets, urnCluster, urnProvider, urnStack}, targetsOf(seen, span{last: phase.Provision}))
	require.ElementsMatch(t, []string{urnNode, urnVM, urnCluster, urnStack}, targetsOf(seen, span{last: phase.Provision, only: true}))
	require.ElementsMatch(t, []string{urnBootstrap, urnCluster, urnStack}, targetsOf(seen, span{last: phase.Bootstrap, only: true}))
}

func TestLatestPhase(t *testing.T) {
	t.Parallel()
	require.Equal(t, phase.Phase(0), latestPhase(nil))
	var resources []apitype.ResourceV3
	for _, step := range []struct {
		urn  resource.URN
		want phase.Phase
	}{{urnSecrets, phase.Generate}, {urnVM, phase.Provision}, {urnBootstrap, phase.Bootstrap}, {urnNode, phase.Bootstrap}} {
		resources = append(resources, apitype.ResourceV3{URN: step.urn})
		require.Equal(t, step.want, latestPhase(resources))
	}
}

func TestAPhaseAloneNeedsTheOnesBeforeItWhole(t *testing.T) {
	t.Parallel()
	step := func(urn string, op apitype.OpType, custom bool) apitype.EngineEvent {
		return apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: apitype.StepEventMetadata{
			URN: urn, Op: op, New: &apitype.StepEventStateMetadata{URN: urn, Custom: custom},
		}}}
	}
	seen := []apitype.EngineEvent{
		step(urnCluster, apitype.OpCreate, false), step(urnSecrets, apitype.OpSame, true), step(urnBootstrap, apitype.OpCreate, true), {},
	}
	missing, _ := firstMissing(seen, phase.Bootstrap)
	require.Empty(t, missing)
	missing, of := firstMissing(append(seen, step(urnVM, apitype.OpCreate, true)), phase.Bootstrap)
	require.Equal(t, "k3s-dev-worker-1-vm", missing)
	require.Equal(t, phase.Provision, of)
}
