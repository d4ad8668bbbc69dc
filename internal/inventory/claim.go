package inventory

import "github.com/em-infra/em-infra/internal/inventory/strictyaml"

// Claimant is the inventory of a stack that claims something on hosts for itself: guests, or parts of the hosts' configuration.
type Claimant interface {
	// Hosts returns the nodes of Proxmox VE that it concerns.
	Hosts() []string
	// Claims returns what the stack claims for itself.
	Claims() []Claim
}

// Claim is something on the hosts of a site that only one stack may have.
type Claim struct {
	// ID is equal for two claims of the same thing.
	ID ClaimID
	// Owner describes the thing as part of its stack, like "the VMID of cp-1".
	Owner string
	// Do is what to do if another stack has it.
	Do string
	// File is the file that contains it, At is its place there, and Source is the file without its defaults.
	File   string
	At     *strictyaml.Path
	Source *strictyaml.Document
}

// ClaimID distinguishes claims. Host is empty for a thing that is unique on all hosts.
type ClaimID struct{ Kind, Host, Value string }

// Kinds of claims.
const (
	ClaimedVMID    = "VMID"
	ClaimedAddress = "address"
	ClaimedMAC     = "MAC address"
	ClaimedName    = "name"

	claimedCluster = "cluster"
	claimedDevice  = "device"
	claimedGroup   = "IOMMU group"
)

// What to do about something that is taken.
const (
	AnotherAddress = "choose a free address"
	AnotherMAC     = "choose another, or remove the key to have one derived"
)

// ClaimOf returns the claim of a guest to something that is unique on all hosts.
func ClaimOf(guest, kind, value string, at *strictyaml.Path, do string) Claim {
	return Claim{ID: ClaimID{Kind: kind, Value: value}, Owner: "the " + kind + " of " + guest, Do: do, At: at}
}
