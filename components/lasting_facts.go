package components

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/birth"
)

// keepsItsBirth is a hook that refuses to change the facts that the cluster was created with, in a preview and in an update. It
// works since the component is registered before all resources that use its arguments, and its inputs in the state are the
// former values.
func (args TalosClusterArgs) keepsItsBirth(ctx *pulumi.Context, name string) (pulumi.ResourceOption, error) {
	if ctx.RunningWithMocks() {
		return pulumi.ResourceHooks(nil), nil // the SDK's mocks panic when a hook is registered (sdk/v3 v3.254.0, mocks.go)
	}
	check, err := ctx.RegisterResourceHook(name+"-born", func(change *pulumi.ResourceHookArgs) error {
		err := args.checkBirth(birth.ReadFacts(change.OldInputs.Mappable()))
		if err != nil && args.Refused != nil {
			args.Refused(err)
		}
		return err
	}, &pulumi.ResourceHookOptions{OnDryRun: true})
	if err != nil {
		return nil, err
	}
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{BeforeUpdate: []*pulumi.ResourceHook{check}}), nil
}

func (args TalosClusterArgs) checkBirth(before birth.Facts) error {
	wanted := args.birth()
	if err := birth.CheckCluster(before, wanted); err != nil || args.FormerNames != nil {
		return err
	}
	return birth.CheckPlain(before, wanted)
}

// formerName is the former logical name of a machine's node; empty if it has not changed.
func (args TalosClusterArgs) formerName(cluster string, m Machine) string {
	former, renamed := args.FormerNames[m.Name]
	if !renamed {
		return ""
	}
	return NodeName(cluster, former)
}

// birth are the facts that distinguish the machine from every other.
func (m Machine) birth() birth.Machine {
	facts := birth.Machine{Name: m.Name, ControlPlane: m.Role == RoleControlPlane, VMID: m.VMID}
	for _, address := range m.Addresses {
		facts.Addresses = append(facts.Addresses, address.Addr().String())
	}
	return facts
}

// bornAs: another name, role, VMID or address is another machine. The state's own copy of these is compared, not what
// stands on the host: a name that somebody changed there by hand is changed back.
func bornAs(m Machine) pulumi.ResourceOption {
	return pulumi.ReplacementTrigger(pulumi.ToMap(m.birth().Values()))
}

// formerly is the alias of a resource under its former logical name; none without one. Pulumi finds its children by the same
// rule if their names begin with the parent's (sdk/v3 v3.254.0, alias.go, inheritedChildAlias).
func formerly(name string) []pulumi.Alias {
	if name == "" {
		return nil
	}
	return []pulumi.Alias{{Name: pulumi.String(name)}}
}
