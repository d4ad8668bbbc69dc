package pve

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// changedInterface is an interface that a diff touches.
type changedInterface struct {
	name   string // empty if the diff does not name it
	marked bool   // the mark is among its lines
	// lost are the lines that are removed from it.
	lost []string
	// words are the first words of the lines that are added to it or removed from it.
	words []string
}

// stagedChanges are those that a host has staged before a run: its diff, and the interfaces that it touches.
type stagedChanges struct {
	diff       string
	interfaces []changedInterface
}

// onWay returns a sentence for each interface of the way to the API that the changes touch without permission. way is computed from the staged
// interfaces, so an interface that loses its address or its default route is found by the lines that it loses.
func (s stagedChanges) onWay(way map[string]string, addresses []netip.Addr, node string, allowed []string) []string {
	var sentences []string
	for _, one := range s.interfaces {
		reason, isOnWay := way[one.name]
		if lost := one.lostWay(addresses); lost != "" {
			reason, isOnWay = "it loses the "+lost, true
		}
		if isOnWay && !slices.Contains(allowed, node+"/"+one.name) {
			sentences = append(sentences, fmt.Sprintf("%s is on the way to the API (%s)", orUnknown(one.name), reason))
		}
	}
	return sentences
}

// lostWay returns the removed line by which the API was reached at the interface; empty if there is none.
func (c changedInterface) lostWay(addresses []netip.Addr) string {
	for _, line := range c.lost {
		word, value, _ := strings.Cut(line, " ")
		prefix, err := netip.ParsePrefix(value)
		if word == "gateway" || word == "address" && err == nil && slices.Contains(addresses, prefix.Addr()) {
			return line
		}
	}
	return ""
}

// changedInterfaces returns the interfaces that a diff of /etc/network/interfaces touches, in its order: those whose stanza has an added or a removed
// line. The diff is a unified one with three lines around each change (pve-common, INotify.pm, ccache_compute_diff), so a stanza can begin before
// them; its lines then belong to an interface without a name.
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
			found[at].words = append(found[at].words, strings.Fields(text)[0])
		}
		if line[0] == '-' {
			found[at].lost = append(found[at].lost, text)
		}
		found[at].marked = found[at].marked || strings.TrimPrefix(text, "#") == mark
	}
	return slices.DeleteFunc(found, func(c changedInterface) bool { return !touched[c.name] })
}
