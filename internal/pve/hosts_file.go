package pve

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostsFile is /etc/hosts of a host, line by line. Lines that are not named by anybody stay as they are.
type hostsFile []hostsLine

// hostsLine is one line: an address with its names, or something else, such as a comment, in text alone.
type hostsLine struct {
	text    string
	address netip.Addr
	names   []string
}

// parseHostsFile reads the file. A comment behind names gets a line of its own: Proxmox VE takes its words for names, and refuses the whole file
// (pve-common, INotify.pm, write_etc_hosts).
func parseHostsFile(text string) hostsFile {
	var file hostsFile
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		content, comment, hasComment := strings.Cut(line, "#")
		if words := strings.Fields(content); len(words) > 1 {
			if address, err := netip.ParseAddr(words[0]); err == nil {
				if hasComment {
					file = append(file, hostsLine{text: "#" + comment})
				}
				file = append(file, hostsLine{text: strings.TrimRight(content, " \t"), address: address, names: words[1:]})
				continue
			}
		}
		file = append(file, hostsLine{text: line})
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

// lineOf returns the index of the first line of an address; -1 without one.
func (f hostsFile) lineOf(address netip.Addr) int {
	return slices.IndexFunc(f, func(line hostsLine) bool { return line.address == address })
}

// namesOf returns the names of an address as words; none without a line.
func (f hostsFile) namesOf(address netip.Addr) string {
	if at := f.lineOf(address); at >= 0 {
		return strings.Join(f[at].names, " ")
	}
	return ""
}

// with returns the file in which each address has its names and no others, and each name is of no other address of its family. The error
// names a line that the host itself needs.
func (f hostsFile) with(wanted []hostspec.HostNames, node string) (hostsFile, error) {
	changed := slices.Clone(f)
	for _, want := range wanted {
		line := hostsLine{text: want.Address.String() + " " + strings.Join(want.Names, " "), address: want.Address, names: want.Names}
		at := changed.lineOf(want.Address)
		switch {
		case at < 0:
			changed = append(changed, line)
		case slices.Equal(changed[at].names, want.Names):
		case changed[at].isOfHost(node):
			return nil, fmt.Errorf("/etc/hosts of %[1]s has %[2]s for the host itself (%[3]s), and Proxmox VE needs that line: take %[2]s out of names of %[1]s",
				node, want.Address, strings.Join(changed[at].names, " "))
		default:
			changed[at] = line
		}
		var err error
		if changed, err = changed.withoutNames(want, node); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// withoutNames returns the file in which no other address of the family has a name of an address.
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

// without returns the file without the lines of addresses.
func (f hostsFile) without(addresses []string) hostsFile {
	return slices.DeleteFunc(slices.Clone(f), func(line hostsLine) bool {
		return line.address.IsValid() && slices.Contains(addresses, line.address.String())
	})
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
