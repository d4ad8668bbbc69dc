package pve

import (
	"slices"
	"strings"
)

// changedInterface is an interface that a diff touches.
type changedInterface struct {
	name   string // empty if the diff does not name it
	marked bool   // the mark is among its lines
}

// changedInterfaces returns the interfaces that a diff of /etc/network/interfaces touches, in its order: those whose stanza has an added or a
// removed line. The diff is a unified one with three lines around each change (pve-common, INotify.pm, ccache_compute_diff), so a stanza
// can begin before them; its lines are then of an interface without a name.
func changedInterfaces(diff, mark string) []changedInterface {
	var found []changedInterface
	at := -1
	enter := func(name string) {
		if at = slices.IndexFunc(found, func(c changedInterface) bool { return c.name == name }); at < 0 {
			found, at = append(found, changedInterface{name: name}), len(found)
		}
	}
	touched := map[string]bool{}
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++"):
			continue
		case strings.HasPrefix(line, "@@"):
			at = -1
			continue
		}
		text := strings.TrimSpace(line[1:])
		if words := strings.Fields(text); len(words) > 1 && slices.Contains([]string{"iface", "auto", "allow-hotplug"}, words[0]) {
			enter(words[1])
		}
		if text == "" {
			continue
		}
		if line[0] != ' ' && at < 0 {
			enter("")
		}
		if at < 0 {
			continue
		}
		if line[0] != ' ' {
			touched[found[at].name] = true
		}
		found[at].marked = found[at].marked || strings.TrimPrefix(text, "#") == mark
	}
	return slices.DeleteFunc(found, func(c changedInterface) bool { return !touched[c.name] })
}
