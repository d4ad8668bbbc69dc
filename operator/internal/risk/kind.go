package risk

import "github.com/em-infra/em-infra/internal/terminal"

// Kind is the kind of a change, ordered by weight.
type Kind int

// Kinds of changes.
const (
	// Create is a new resource.
	Create Kind = iota + 1
	// Change is a change in place.
	Change
	// Reboot is a change that reboots a node.
	Reboot
	// Upgrade brings another image of Talos to a node, which reboots it, or another Kubernetes to the cluster.
	Upgrade
	// Delete is a deletion without a replacement.
	Delete
	// Replace is a deletion and a new creation.
	Replace
	// Impossible is a change that the provider would refuse halfway.
	Impossible
)

// String returns the kind as a word.
func (k Kind) String() string {
	return map[Kind]string{
		Create: "CREATE", Change: "CHANGE", Reboot: "REBOOT", Upgrade: "UPGRADE", Delete: "DELETE", Replace: "REPLACE", Impossible: "CANNOT",
	}[k]
}

// MarshalText implements [encoding.TextMarshaler].
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// tone returns the colour of the word.
func (k Kind) tone() terminal.Tone {
	switch k {
	case Create:
		return terminal.Good
	case Change, Reboot, Upgrade:
		return terminal.Warn
	default:
		return terminal.Bad
	}
}
