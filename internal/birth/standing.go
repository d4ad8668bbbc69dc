package birth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// Standing is a machine in a state.
type Standing struct {
	Machine
	// Born is the name that the machine was created with, which is the name of its node. Empty if the state does not contain it.
	Born string
	// Member is true if the machine has joined the cluster.
	Member bool
	// Unrecorded is true if the state does not contain the machine's facts of birth. An earlier version wrote that state, and the
	// engine would rename the machine in place.
	Unrecorded bool
}

const suffixMembership = "-membership"

// InState returns the machines of the nodes in a state, in the order of the state and under their names there.
func InState(deployment apitype.DeploymentV3) []Standing {
	parents, names := map[resource.URN]*apitype.ResourceV3{}, map[string]bool{}
	for node := range state.Every(deployment, token.TalosNode) {
		parents[node.URN] = node
	}
	for _, r := range deployment.Resources {
		if !r.Delete {
			names[r.URN.Name()] = true
		}
	}
	var standing []Standing
	for r := range state.Current(deployment, token.VirtualMachine) {
		parent, isNodes := parents[r.Parent]
		if !isNodes {
			continue
		}
		m := ReadMachine(r.ReplacementTrigger)
		born, unrecorded := m.Name, m.Name == ""
		if unrecorded {
			m.ControlPlane = parent.Inputs["role"] == "control-plane"
			m.Addresses = seeded(r.Inputs)
		}
		m.Name = strings.TrimSuffix(r.URN.Name(), state.SuffixMachine)
		m.VMID = state.VMID(r)
		standing = append(standing, Standing{Machine: m, Born: born, Member: names[m.Name+suffixMembership], Unrecorded: unrecorded})
	}
	return standing
}

// seeded returns the addresses on a machine's cloud-init drive.
func seeded(inputs map[string]any) []string {
	configs, _ := propertymap.At(inputs, "initialization.ipConfigs").([]any)
	var addresses []string
	for _, item := range configs {
		config, _ := item.(map[string]any)
		for _, family := range []string{"ipv4", "ipv6"} {
			if address, _, isPrefix := strings.Cut(propertymap.Text(config, family+".address"), "/"); isPrefix {
				addresses = append(addresses, address)
			}
		}
	}
	return addresses
}

// FormerNames returns the former name of each renamed machine, by its wanted name. A machine is renamed if it has the VMID or an
// address of a machine in the state whose name is no longer wanted. The error is a [RefusedError] that lists the machines that
// cannot be changed in one run, and what to do.
func FormerNames(standing []Standing, wanted []Machine) (map[string]string, error) {
	former, problems := map[string]string{}, []string(nil)
	for _, m := range wanted {
		was, stands := find(standing, m.Name)
		if stands && len(was.differences(m)) == 0 {
			continue
		}
		for _, other := range standing {
			has := other.has(m)
			if has == "" || other.Name == m.Name {
				continue
			}
			if problem := cannotRename(m, other, has, stands || isWanted(wanted, other.Name) || former[m.Name] != ""); problem != "" {
				problems = append(problems, problem)
				continue
			}
			former[m.Name] = other.Name
		}
	}
	return former, refusal(problems)
}

// cannotRename returns why m cannot be other under a new name, although it has the VMID or address of other; empty if it can.
func cannotRename(m Machine, other Standing, has string, stays bool) string {
	switch {
	case stays:
		return fmt.Sprintf("%s would get the %s of %s before that machine is gone: change or remove %s first, run up, then change %s",
			m.Name, has, other.Name, other.Name, m.Name)
	case other.Unrecorded:
		return fmt.Sprintf("%s has the %s of %s, whose facts of birth are not in the state yet: give it the name %s again, run up, then rename it",
			m.Name, has, other.Name, other.Name)
	default:
		return ""
	}
}

func find(standing []Standing, name string) (s Standing, found bool) {
	i := slices.IndexFunc(standing, func(s Standing) bool { return s.Name == name })
	if i < 0 {
		return Standing{}, false
	}
	return standing[i], true
}

func isWanted(wanted []Machine, name string) bool {
	return slices.ContainsFunc(wanted, func(m Machine) bool { return m.Name == name })
}

// differences returns, in words, the differences because of which wanted is another machine.
func (m Machine) differences(wanted Machine) []string {
	var words []string
	if m.ControlPlane != wanted.ControlPlane {
		words = append(words, fmt.Sprintf("role %s → %s", m.role(), wanted.role()))
	}
	if m.VMID != wanted.VMID {
		words = append(words, fmt.Sprintf("vmid %d → %d", m.VMID, wanted.VMID))
	}
	if len(m.Addresses) > 0 && !slices.Equal(m.Addresses, wanted.Addresses) {
		words = append(words, fmt.Sprintf("address %s → %s", join(m.Addresses), join(wanted.Addresses)))
	}
	return words
}

// has returns, in words, the VMID or the address that both machines have; empty if they share neither.
func (m Machine) has(other Machine) string {
	if m.VMID == other.VMID {
		return fmt.Sprintf("VMID %d", m.VMID)
	}
	for _, address := range m.Addresses {
		if slices.Contains(other.Addresses, address) {
			return "address " + address
		}
	}
	return ""
}

func (m Machine) role() string {
	if m.ControlPlane {
		return "control-plane"
	}
	return "worker"
}
