package inventory

import (
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// Beside is the inventory of another stack of the project.
type Beside struct {
	// Stack is its name. Required.
	Stack string
	// Inventory of the stack. Required.
	Inventory Claimant
	// SameEndpoint is whether both stacks name the same endpoint of Proxmox VE. Default: false; their inventories are compared only if they
	// have a host in common, since two sites may use the same numbers.
	SameEndpoint bool
}

// CheckBeside checks an inventory against another one whose machines may be in the same Proxmox VE: a copy with the same VMIDs and addresses would
// adopt the other's machines. The two must not share a VMID, address, MAC address, name or GPU, nor a VLAN with different networks. The error is a
// [*Problems].
func (i *Inventory) CheckBeside(other Beside) error {
	check := &manifest.Checker{}
	if !compare(check, i.Nodes.Hosts(), append([]Claim{i.templateClaim()}, i.Claims()...), other) {
		return nil
	}
	if platform, isPlatform := other.Inventory.(*Inventory); isPlatform {
		if fault, wrong := i.claimsNetwork(other.Stack, platform); wrong {
			at := i.templateClaim()
			check.At(at.File, at.Source, key("network", "vlan"), fault)
		}
	}
	return check.Err()
}

// CheckBeside checks the inventory of a stack other than a platform against that of another stack whose guests may be in the same Proxmox VE: the two
// must not share a VMID, address, MAC address or name. The error is a [*Problems].
func CheckBeside(mine Claimant, other Beside) error {
	check := &manifest.Checker{}
	compare(check, mine.Hosts(), mine.Claims(), other)
	return check.Err()
}

// compare reports what two stacks both claim. It returns false for stacks that are not in the same Proxmox VE.
func compare(check *manifest.Checker, hosts []string, mine []Claim, other Beside) bool {
	rule := "both stacks stand on the same host"
	if !sharesHost(hosts, other.Inventory.Hosts()) {
		if !other.SameEndpoint {
			return false
		}
		rule = "both stacks are in the same Proxmox VE"
	}
	taken := map[ClaimID]string{}
	for _, claim := range other.Inventory.Claims() {
		taken[claim.ID] = claim.Owner
	}
	for _, claim := range mine {
		derived := claim.ID.Kind == ClaimedMAC && !claim.Source.Has(claim.At) // from the VMID and the stack's name, which are reported
		if owner := taken[claim.ID]; owner != "" && !derived {
			check.At(claim.File, claim.Source, claim.At, fault{What: "is " + owner + " of stack " + other.Stack + " too", Rule: rule, Got: claim.ID.Value, Do: claim.Do})
		}
	}
	return true
}

func sharesHost(some, others []string) bool {
	return slices.ContainsFunc(some, func(host string) bool { return slices.Contains(others, host) })
}
