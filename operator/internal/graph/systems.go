package graph

import "fmt"

// Systems are the virtual machines and containers of a stack that are no nodes of a cluster.
type Systems struct {
	// Name is the name of the stack's resources.
	Name string
	// About is one line about the whole.
	About string
	// Systems are the systems, in the order of drawing.
	Systems []System
}

// System is a virtual machine or a container.
type System struct {
	// Name is the system's name.
	Name string
	// Host is the host that it is on.
	Host string
	// Kind is what it is.
	Kind SystemKind
	// VMID is its VMID.
	VMID int
	// Source is the image or the template that it is made from.
	Source string
	// Cards are its network cards, one line each, such as "192.168.20.5/24 on vmbr0".
	Cards []string
	// Cores, MemoryMiB and DiskGiB are its size.
	Cores, MemoryMiB, DiskGiB int
	// Status is the status that its host reports, such as running. Default: empty, the host was not asked.
	Status string
}

// SystemKind is whether a system is a machine.
type SystemKind int

// Kinds of systems.
const (
	VirtualMachine SystemKind = iota
	Container
)

// systemKinds are the label, the style class and the abbreviation of each kind.
var systemKinds = []struct{ label, class, short string }{{"virtual machine", "machine", "VM"}, {"container", "container", "CT"}}

// statusRunning is how Proxmox VE calls a system that runs.
const statusRunning = "running"

func (s Systems) scene() scene {
	drawn := scene{title: "Systems " + s.Name, name: s.Name, about: s.About, legend: systemMarks()}
	if s.areAsked() {
		drawn.legend = append(drawn.legend, healthMarks("runs", "does not run")[Healthy:]...)
	}
	drawn.bands = []band{{areas: areasOf(unframed(s.parts("")))}}
	return drawn
}

// parts returns a group for each host, in the order of first mention.
func (s Systems) parts(stack string) []part {
	var parts []part
	at := map[string]int{}
	for _, system := range s.Systems {
		if _, found := at[system.Host]; !found {
			at[system.Host] = len(parts)
			parts = append(parts, part{host: system.Host, shelf: shelfGuests, group: group{label: labelled("systems", stack), class: "frame"}})
		}
		on := &parts[at[system.Host]].group
		on.cards = append(on.cards, system.card())
	}
	return parts
}

// areAsked reports whether the hosts were asked for their systems.
func (s Systems) areAsked() bool {
	for _, system := range s.Systems {
		if system.Status != "" {
			return true
		}
	}
	return false
}

func (s System) card() card {
	kind := systemKinds[s.Kind]
	drawn := card{name: s.Name, hint: kind.label, stripe: kind.class, lines: append([]string{}, s.Cards...)}
	if s.Status != "" {
		drawn.hint += ", " + s.Status
		drawn.mark = healths[Unhealthy].class
		if s.Status == statusRunning {
			drawn.mark = healths[Healthy].class
		}
	}
	drawn.lines = append(drawn.lines, fmt.Sprintf("%s %d · %s", kind.short, s.VMID, s.Source), size(s.Cores, s.MemoryMiB, s.DiskGiB))
	return drawn
}

func systemMarks() []mark {
	var marks []mark
	for _, kind := range systemKinds {
		marks = append(marks, mark{label: kind.label, class: kind.class})
	}
	return marks
}
