package components_test

import (
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/birth"
)

// born calls the hook before an update of the cluster, and returns its refusal.
func (e *hookEngine) born(t *testing.T, before map[string]any) string {
	t.Helper()
	inputs, err := structpb.NewStruct(before)
	require.NoError(t, err)
	var answer pulumirpc.ResourceHookResponse
	e.call(t, "k3s-dev-born", &pulumirpc.ResourceHookRequest{Name: "k3s-dev", OldInputs: inputs}, &answer)
	return answer.GetError()
}

// stood returns the inputs in the state of the cluster of oneAndOne, with changes.
func stood(changes map[string]any) map[string]any {
	facts := map[string]any{
		"contract": "v1.12", "podSubnets": []any{"10.244.0.0/16"}, "serviceSubnets": []any{"10.96.0.0/12"}, "cni": "flannel",
		"machines": []any{
			map[string]any{"name": "k3s-dev-control-1", "controlPlane": true, "vmid": 111.0, "addresses": []any{"192.168.20.11"}},
			map[string]any{"name": "k3s-dev-worker-1", "controlPlane": false, "vmid": 121.0, "addresses": []any{"192.168.20.21"}},
		},
	}
	maps.Copy(facts, changes)
	return facts
}

func TestABirthFactIsKept(t *testing.T) {
	t.Parallel()

	e := runHooked(t, discard(oneAndOne("k3s-dev")))
	require.Equal(t, []string{"k3s-dev-born"}, e.bound["k3s-dev"].GetBeforeUpdate())
	require.Empty(t, e.bound["k3s-dev"].GetBeforeDelete(), "a stack with such hooks is not destroyed without its program")
	require.True(t, e.onDryRun["k3s-dev-born"], "a preview refuses it, too")

	require.Empty(t, e.born(t, stood(nil)))
	require.Empty(t, e.born(t, map[string]any{"machines": 2.0}), "a state of an earlier version kept no facts")
	require.Equal(t, "contract v1.11 → v1.12 cannot change, since the cluster was born with it (every machine configuration would be made by other rules, among them what disks are encrypted with): set contract back to v1.11, or destroy the cluster and bring it up anew; nothing was touched",
		e.born(t, stood(map[string]any{"contract": "v1.11"})))
	require.Equal(t, "podSubnets 10.42.0.0/16 → 10.244.0.0/16 cannot change, since the cluster was born with it (nodes and pods keep the networks that they were given): set podSubnets back to 10.42.0.0/16, or destroy the cluster and bring it up anew; nothing was touched",
		e.born(t, stood(map[string]any{"podSubnets": []any{"10.42.0.0/16"}})))
	both := e.born(t, stood(map[string]any{"cni": "none", "serviceSubnets": []any{"10.43.0.0/16"}}))
	require.Equal(t, 2, len(strings.Split(both, "\n")), "all of them at once: %s", both)
	require.Equal(t, "k3s-dev-worker-1 has the VMID 121 of former, and would be made while that one still stands: run `em-infra up`, which replaces a machine under another name, or give it the name former again; nothing was touched",
		e.born(t, stood(map[string]any{"machines": []any{
			map[string]any{"name": "former", "controlPlane": false, "vmid": 121.0, "addresses": []any{"192.168.20.22"}},
		}})))
}

// renamedWorker is oneAndOne with a worker that had another name before.
func renamedWorker(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
	template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
	if err != nil {
		return err
	}
	args := clusterFixture("k3s-dev",
		machineFixture("k3s-dev-control-1", components.RoleControlPlane, 11), machineFixture("k3s-dev-worker-1", components.RoleWorker, 21))
	args.Templates, args.FormerNames = []*components.TalosTemplate{template}, map[string]string{"k3s-dev-worker-1": "former"}
	_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
	return err
}

func TestARenamedWorkerStaysTheSameResource(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, renamedWorker)
	require.NoError(t, err)
	// Children of the node get their alias from the engine (pulumi pkg/v3 v3.254.0, step_generator.go, inheritedChildAlias).
	for token, name := range map[string]string{"em-infra:index:TalosNode": "k3s-dev-worker-1", tokenCommand: "k3s-dev-worker-1-membership"} {
		former := strings.Replace(name, "k3s-dev-worker-1", "k3s-dev-former", 1)
		require.True(t, hasAlias(r.Named(t, token, name).RegisterRPC, former), "%s has the alias %s", name, former)
	}
	e := runHooked(t, renamedWorker)
	require.Empty(t, e.born(t, stood(map[string]any{"machines": []any{
		map[string]any{"name": "former", "controlPlane": false, "vmid": 121.0, "addresses": []any{"192.168.20.21"}},
	}})), "who passes former names has looked")
}

// hasAlias reports whether a resource was registered with an alias of a name, by its URN or by the name alone.
func hasAlias(request *pulumirpc.RegisterResourceRequest, name string) bool {
	for _, alias := range request.GetAliases() {
		if strings.HasSuffix(alias.GetUrn(), "::"+name) || alias.GetSpec().GetName() == name {
			return true
		}
	}
	for _, urn := range request.GetAliasURNs() {
		if strings.HasSuffix(urn, "::"+name) {
			return true
		}
	}
	return false
}

func TestAnotherNameRoleOrAddressIsAnotherMachine(t *testing.T) {
	t.Parallel()

	trigger := func(m components.Machine) *structpb.Value {
		r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
			template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
			if err != nil {
				return err
			}
			args := nodeFixture(template, m)
			_, err = components.NewTalosNode(ctx, "node", &args, providers)
			return err
		})
		require.NoError(t, err)
		return r.Named(t, tokenVM, "node-vm").RegisterRPC.GetReplacementTrigger()
	}
	worker := machineFixture("worker-1", components.RoleWorker, 21)
	before := trigger(worker)
	require.NotNil(t, before)

	bigger := worker
	bigger.MemoryMiB, bigger.Host = 16384, "vmhost"
	require.Equal(t, before.String(), trigger(bigger).String(), "hardware is changed in place")
	for what, change := range map[string]func(*components.Machine){
		"name":    func(m *components.Machine) { m.Name = "worker-2" },
		"role":    func(m *components.Machine) { m.Role = components.RoleControlPlane },
		"address": func(m *components.Machine) { m.Addresses = []netip.Prefix{netip.MustParsePrefix("192.168.20.22/24")} },
	} {
		other := worker
		change(&other)
		require.NotEqual(t, before.AsInterface(), trigger(other).AsInterface(), what)
	}
	wider := worker
	wider.Addresses = []netip.Prefix{netip.MustParsePrefix("192.168.20.21/23")}
	require.Equal(t, before.AsInterface(), trigger(wider).AsInterface(), "a wider subnet is no other address")
}

// TestARefusedBirthIsToldWithItsType: the engine passes on no more than a text.
func TestARefusedBirthIsToldWithItsType(t *testing.T) {
	t.Parallel()

	var reported []error
	e := runHooked(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		args := clusterFixture("k3s-dev",
			machineFixture("k3s-dev-control-1", components.RoleControlPlane, 11), machineFixture("k3s-dev-worker-1", components.RoleWorker, 21))
		args.Templates, args.Refused = []*components.TalosTemplate{template}, func(err error) { reported = append(reported, err) }
		_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		return err
	})
	require.Empty(t, e.born(t, stood(nil)))
	require.Empty(t, reported)
	text := e.born(t, stood(map[string]any{"contract": "v1.11"}))
	require.Len(t, reported, 1)
	require.EqualError(t, reported[0], text)
	var refused *birth.RefusedError
	require.ErrorAs(t, reported[0], &refused)
	require.Len(t, refused.Problems, 1)
}
