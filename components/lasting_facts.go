package components

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/birth"
)

// refuseChangedFacts returns a hook that refuses to change the facts that the cluster was created with, in a preview and in an
// update. It works because the component is registered before all resources that use its arguments, and its inputs in the state
// are the former values.
func (args TalosClusterArgs) refuseChangedFacts(ctx *pulumi.Context, name string) (pulumi.ResourceOption, error) {
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

// formerName returns the former logical name of a machine's node; empty if it has not changed.
func (args TalosClusterArgs) formerName(cluster string, m Machine) string {
	former, renamed := args.FormerNames[m.Name]
	if !renamed {
		return ""
	}
	return NodeName(cluster, former)
}

// birth returns the facts that distinguish the machine from every other.
func (m Machine) birth() birth.Machine {
	facts := birth.Machine{Name: m.Name, ControlPlane: m.Role == RoleControlPlane, VMID: m.VMID}
	for _, address := range m.Addresses {
		facts.Addresses = append(facts.Addresses, address.Addr().String())
	}
	return facts
}

// replacedByIdentity: another name, role, VMID or address means another machine. The facts are compared with the state's copy,
// not with the host: a name that was changed on the host by hand is changed back.
func replacedByIdentity(m Machine) pulumi.ResourceOption {
	return pulumi.ReplacementTrigger(pulumi.ToMap(m.birth().Values()))
}

// formerly returns the alias of a resource under its former logical name; none if that is empty. Pulumi finds its children by
// the same rule if their names begin with the parent's (sdk/v3 v3.254.0, alias.go, inheritedChildAlias).
func formerly(name string) []pulumi.Alias {
	if name == "" {
		return nil
	}
	return []pulumi.Alias{{Name: pulumi.String(name)}}
}
