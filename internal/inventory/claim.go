package inventory

import "github.com/em-infra/em-infra/internal/inventory/strictyaml"

// Claimant is the inventory of a stack that has something on hosts to itself: guests, or what hosts are configured with.
type Claimant interface {
	// Hosts returns the nodes of Proxmox VE that it concerns.
	Hosts() []string
	// Claims returns what it has to itself.
	Claims() []Claim
}

// Claim is something that a stack has to itself on the hosts of a site.
type Claim struct {
	// ID is equal for two claims of the same thing.
	ID ClaimID
	// Owner is what the thing is for its stack, like "the VMID of cp-1".
	Owner string
	// Do is what to do if another stack has it.
	Do string
	// File is where it is written, At its place there, and Source the file without its defaults.
	File   string
	At     *strictyaml.Path
	Source *strictyaml.Document
}

// ClaimID tells claims apart. The zero host is for what is unique on all hosts.
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
