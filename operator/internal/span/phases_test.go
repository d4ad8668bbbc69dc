package span_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/span"
)

func TestVerifyMakesNothing(t *testing.T) {
	t.Parallel()
	require.False(t, span.Span{Last: phase.Verify, Only: true}.Works())
	require.True(t, span.Span{Last: phase.Verify}.Works())
}

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
	require.ElementsMatch(t, []string{urnNode, urnVM, urnSecrets, urnCluster, urnProvider, urnStack}, span.Span{Last: phase.Provision}.Targets(seen))
	require.ElementsMatch(t, []string{urnNode, urnVM, urnCluster, urnStack}, span.Span{Last: phase.Provision, Only: true}.Targets(seen))
	require.ElementsMatch(t, []string{urnBootstrap, urnCluster, urnStack}, span.Span{Last: phase.Bootstrap, Only: true}.Targets(seen))
}

func TestLatestPhase(t *testing.T) {
	t.Parallel()
	require.Equal(t, phase.Phase(0), span.Latest(nil))
	var resources []apitype.ResourceV3
	for _, step := range []struct {
		urn  resource.URN
		want phase.Phase
	}{{urnSecrets, phase.Generate}, {urnVM, phase.Provision}, {urnBootstrap, phase.Bootstrap}, {urnNode, phase.Bootstrap}} {
		resources = append(resources, apitype.ResourceV3{URN: step.urn})
		require.Equal(t, step.want, span.Latest(resources))
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
	missing, _ := span.FirstMissing(seen, phase.Bootstrap)
	require.Empty(t, missing)
	missing, of := span.FirstMissing(append(seen, step(urnVM, apitype.OpCreate, true)), phase.Bootstrap)
	require.Equal(t, "k3s-dev-worker-1-vm", missing)
	require.Equal(t, phase.Provision, of)
}
