package pve

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostsFile is /etc/hosts of a host, line by line. Lines that no change refers to stay as they are.
type hostsFile []hostsLine

// hostsLine is one line: an address with its names, or something else, such as a comment, which is only in text.
type hostsLine struct {
	text    string
	address netip.Addr
	names   []string
}

// parseHostsFile reads the file. A comment behind an address gets a line of its own, and blanks before an address are removed: Proxmox VE takes the
// words of the comment for names, and refuses the whole file because of either (pve-common, INotify.pm, write_etc_hosts).
func parseHostsFile(text string) hostsFile {
	var file hostsFile
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		content, comment, hasComment := strings.Cut(line, "#")
		words := strings.Fields(content)
		if len(words) == 0 {
			file = append(file, hostsLine{text: line})
			continue
		}
		if hasComment {
			file = append(file, hostsLine{text: "#" + comment})
		}
		parsed := hostsLine{text: strings.TrimSpace(content)}
		if address, err := netip.ParseAddr(words[0]); err == nil && len(words) > 1 {
			parsed.address, parsed.names = address, words[1:]
		}
		file = append(file, parsed)
	}
	return file
}

// String returns the text of the file.
func (f hostsFile) String() string {
	var text strings.Builder
	for _, line := range f {
		text.WriteString(line.text + "\n")
	}
	return text.String()
}

// hostsFileName is a name that Proxmox VE writes (pve-common, INotify.pm, write_etc_hosts).
var hostsFileName = regexp.MustCompile(`^[.\-a-zA-Z0-9]+$`)

// check refuses a file that Proxmox VE would not write, and names the line.
func (f hostsFile) check(node string) error {
	for _, line := range f {
		words := strings.Fields(line.text)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		isName := func(word string) bool { return hostsFileName.MatchString(word) }
		if address, err := netip.ParseAddr(words[0]); err == nil && address.Zone() == "" && !slices.ContainsFunc(words[1:], func(w string) bool { return !isName(w) }) {
			continue
		}
		return fmt.Errorf("/etc/hosts of %[1]s has the line %[2]q, for which Proxmox VE refuses to write the whole file: correct the line on %[1]s, then run again", node, line.text)
	}
	return nil
}

// lineOf returns the index of the first line of an address; -1 without one.
func (f hostsFile) lineOf(address netip.Addr) int {
	return slices.IndexFunc(f, func(line hostsLine) bool { return line.address == address })
}

// namesOf returns the names of an address on all its lines, separated by blanks; empty without a line.
func (f hostsFile) namesOf(address netip.Addr) string {
	var names []string
	for _, line := range f {
		if line.address == address {
			names = append(names, line.names...)
		}
	}
	return strings.Join(names, " ")
}

// with returns the file in which each wanted address has exactly its names, and no other address of the same family has one of them. The error names
// a line that the host itself needs.
func (f hostsFile) with(wanted []hostspec.HostNames, node string) (hostsFile, error) {
	changed := slices.Clone(f)
	for _, want := range wanted {
		line := hostsLine{text: want.Address.String() + " " + strings.Join(want.Names, " "), address: want.Address, names: want.Names}
		if changed.namesOf(want.Address) != strings.Join(want.Names, " ") {
			at := changed.lineOf(want.Address)
			isSame := func(l hostsLine) bool { return l.address == want.Address }
			if own := slices.IndexFunc(changed, func(l hostsLine) bool { return isSame(l) && l.isOfHost(node) }); own >= 0 {
				return nil, fmt.Errorf("/etc/hosts of %[1]s has %[2]s for the host itself (%[3]s), and Proxmox VE needs that line: take %[2]s out of names of %[1]s",
					node, want.Address, strings.Join(changed[own].names, " "))
			}
			changed = slices.DeleteFunc(changed, isSame)
			if at < 0 {
				at = len(changed)
			}
			changed = slices.Insert(changed, at, line)
		}
		var err error
		if changed, err = changed.withoutNames(want, node); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// withoutNames returns the file in which no other address of the same family has a name of the wanted address.
func (f hostsFile) withoutNames(want hostspec.HostNames, node string) (hostsFile, error) {
	var changed hostsFile
	for i, line := range f {
		isOther := line.address.IsValid() && line.address.Is4() == want.Address.Is4() && i != f.lineOf(want.Address)
		remaining := slices.DeleteFunc(slices.Clone(line.names), func(name string) bool { return slices.Contains(want.Names, name) })
		if !isOther || len(remaining) == len(line.names) {
			changed = append(changed, line)
			continue
		}
		if line.isOfHost(node) {
			return nil, fmt.Errorf("/etc/hosts of %[1]s has a name of %[2]s for the host itself (%[3]s %[4]s), and Proxmox VE needs that line: take the name out of names of %[1]s",
				node, want.Address, line.address, strings.Join(line.names, " "))
		}
		if len(remaining) > 0 {
			changed = append(changed, hostsLine{text: line.address.String() + " " + strings.Join(remaining, " "), address: line.address, names: remaining})
		}
	}
	return changed, nil
}

// without returns the file without the names that a stack has added, which made lists as ADDRESS NAME…. The other names of a line stay, and so does
// the line by which the host finds itself.
func (f hostsFile) without(made []string, node string) hostsFile {
	var changed hostsFile
	for _, line := range f {
		at := slices.IndexFunc(made, func(one string) bool { return strings.Fields(one)[0] == line.address.String() })
		if at < 0 || !line.address.IsValid() || line.isOfHost(node) {
			changed = append(changed, line)
			continue
		}
		names := strings.Fields(made[at])[1:]
		remaining := slices.DeleteFunc(slices.Clone(line.names), func(name string) bool { return slices.Contains(names, name) })
		if len(remaining) > 0 {
			changed = append(changed, hostsLine{text: line.address.String() + " " + strings.Join(remaining, " "), address: line.address, names: remaining})
		}
	}
	return changed
}

// differences returns which addresses have other names in the wanted file, a sentence each.
func (f hostsFile) differences(wanted hostsFile) (sentences []string) {
	var seen []netip.Addr
	for _, line := range slices.Concat(f, wanted) {
		if !line.address.IsValid() || slices.Contains(seen, line.address) {
			continue
		}
		seen = append(seen, line.address)
		if have, want := f.namesOf(line.address), wanted.namesOf(line.address); have != want {
			sentences = append(sentences, fmt.Sprintf("/etc/hosts: %s: %s instead of %s", line.address, orNone(have), orNone(want)))
		}
	}
	return sentences
}

// isOfHost reports whether the host finds itself by the line: Proxmox VE does not start where the name of its node has no address.
func (l hostsLine) isOfHost(node string) bool {
	return l.address.IsLoopback() || slices.ContainsFunc(l.names, func(name string) bool {
		label, _, _ := strings.Cut(name, ".")
		return label == node
	})
}
