package machineupdate

import (
	"fmt"
	"regexp"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// property is a property of a machine and the effect of its change.
type property struct {
	path  *regexp.Regexp
	label string
	unit  string
	// key is the property's name in the inventory; empty for a derived property.
	key    string
	effect Effect
	// grows is true if a smaller value is refused, and the guest uses a larger one from its next boot on.
	grows bool
	// moves is true if the machine moves to another host.
	moves bool
	// stays is true if the property can be added, but not removed.
	stays bool
	// unplugged is true for a property of a disk that was unplugged from the machine by hand.
	unplugged bool
}

// computed matches outputs that the engine lists beside the inputs that change them, and its bridge's own note.
var computed = regexp.MustCompile(`^(__meta|ipv4Addresses|ipv6Addresses|networkInterfaceNames|macAddresses)`)

// Change is the change of one property of a machine.
type Change struct {
	property

	path          string
	before, after map[string]any
}

func changeOf(properties []property, path string, before, after map[string]any) (c Change, isInput bool) {
	if computed.MatchString(path) {
		return Change{}, false
	}
	c = Change{property: property{label: path, effect: Reboot}, path: path, before: before, after: after}
	for _, p := range properties {
		if p.path.MatchString(path) {
			c.property = p
			break
		}
	}
	return c, true
}

// Effect returns what the change does to the machine.
func (c Change) Effect() Effect { return c.effect }

// Grows reports whether the change enlarges a disk, which the guest uses from its next boot on.
func (c Change) Grows() bool { return c.grows }

// Moves reports whether the machine moves to another host.
func (c Change) Moves() bool { return c.moves }

// Difference returns the change in words, such as "memory 8192 → 16384 MiB".
func (c Change) Difference() string {
	before, after := propertymap.At(c.before, c.path), propertymap.At(c.after, c.path)
	if !isPlain(before) || !isPlain(after) || before == after { // equal: the state records that it differs, but not how
		return c.label
	}
	words := fmt.Sprintf("%s %v → %v", c.label, before, after)
	if c.unit != "" {
		words += " " + c.unit
	}
	return words
}

// Refusal returns why Proxmox VE or the provider refuses the change; empty if they accept it.
func (c Change) Refusal() string {
	switch {
	case c.shrinks():
		return "cannot shrink: Proxmox VE only grows disks"
	case c.moves && len(propertymap.List(c.before, "hostpcis")) > 0:
		return "cannot change: Proxmox VE moves no machine with a GPU"
	case c.unplugged:
		return wasUnplugged
	case c.removes():
		return "cannot be taken away: the provider deletes no disk of a machine that is there"
	default:
		return ""
	}
}

// Undo returns the edit of the inventory that reverts the change; empty if there is none.
func (c Change) Undo() string {
	if c.unplugged {
		return fmt.Sprintf("plug %s of VM %v in again, which Proxmox VE shows as an unused disk,", c.label, propertymap.At(c.after, "vmId"))
	}
	if c.removes() {
		return "put its dataDisks back as they were"
	}
	before := propertymap.At(c.before, c.path)
	if c.key == "" || !isPlain(before) {
		return ""
	}
	return fmt.Sprintf("set %s back to %v", c.key, before)
}

// removes reports whether a property that cannot be removed is removed.
func (c Change) removes() bool { return c.stays && propertymap.At(c.after, c.path) == nil }

// shrinks reports whether the size of a disk would shrink.
func (c Change) shrinks() bool {
	before, wasNumber := propertymap.At(c.before, c.path).(float64)
	after, isNumber := propertymap.At(c.after, c.path).(float64)
	return c.grows && wasNumber && isNumber && after < before
}

// isPlain reports whether a value can be shown in a line.
func isPlain(value any) bool {
	switch value.(type) {
	case string, float64, int, bool:
		return true
	default:
		return false
	}
}
