package risk

import "github.com/em-infra/em-infra/internal/terminal"

// Kind is what a change is, in the order of its weight.
type Kind int

// Kinds of changes.
const (
	// Create makes what is not there.
	Create Kind = iota + 1
	// Change is made in place.
	Change
	// Reboot is a change for which a node reboots.
	Reboot
	// Delete deletes and makes nothing in its place.
	Delete
	// Replace deletes and makes anew.
	Replace
	// Impossible is what the provider would refuse half way.
	Impossible
)

// String returns the word that a person reads.
func (k Kind) String() string {
	return map[Kind]string{
		Create: "CREATE", Change: "CHANGE", Reboot: "REBOOT", Delete: "DELETE", Replace: "REPLACE", Impossible: "CANNOT",
	}[k]
}

// MarshalText makes the word the form in JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// tone returns how much of a warning the word is.
func (k Kind) tone() terminal.Tone {
	switch k {
	case Create:
		return terminal.Good
	case Change, Reboot:
		return terminal.Warn
	default:
		return terminal.Bad
	}
}
