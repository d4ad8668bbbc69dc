package site

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Layers are what a site has beside its cluster: a stack of hosts, a stack of systems, and the cluster's storage on a NAS.
type Layers struct {
	Hosts   Hosts
	Systems Systems
	Storage Storage
}

// Hosts are what hosts.yaml says about the only host.
type Hosts struct {
	// MTU and Comment are those of the bridge vmbr1.
	MTU     int
	Comment string
	// VLANs are the tags of VLANs of vmbr1.
	VLANs []int
	// Content are the content types of the storage nas.
	Content []string
	// Shares are the numbers of further storages, Pools those of resource pools, and Users those of users with a token each.
	Shares, Pools, Users []int
	Keyboard, TimeZone   string
	// Minute is when the backup job begins, after two o'clock.
	Minute int
}

// System is a virtual machine, vm-1 and so on, or a container, ct-1 and so on.
type System struct {
	Name      string
	VMID      int
	Cores     int
	MemoryMiB int
	DiskGiB   int
	Tag       string
}

// Systems are what systems.yaml says.
type Systems struct {
	// Keep is how many snapshots of each system stay; 0 takes none.
	Keep int
	// Items are the systems, in the order of the file.
	Items []System
}

// Dataset is one on the NAS.
type Dataset struct {
	Name        string
	QuotaGiB    int
	Compression string
	// Shared exports it by NFS.
	Shared bool
}

// Storage is `storage:` of cluster.yaml.
type Storage struct {
	Protect  bool
	Datasets []Dataset
}

// newLayers returns what a site with layers begins with.
func newLayers() Layers {
	return Layers{
		Hosts: Hosts{
			MTU: 9000, Comment: "storage", VLANs: []int{30}, Content: []string{"images", "iso", "backup"}, Keyboard: "de", TimeZone: "Europe/Berlin", Minute: 30,
			Pools: []int{1},
		},
		Systems: Systems{Items: []System{newSystem("vm-1"), newSystem("ct-1")}},
		Storage: Storage{Protect: true, Datasets: []Dataset{{Name: "k8s", QuotaGiB: 500}, {Name: "k8s/nfs", Shared: true}}},
	}
}

// The first VMIDs of systems, and the VMID of the image that machines are cloned from.
const (
	firstMachine   = 200
	firstContainer = 220
	firstSystem    = firstMachine
	afterSystems   = 300
	imageVMID      = 9100
)

// OfSystems reports whether a guest of a VMID is one of the stack of systems, and not of the cluster.
func OfSystems(vmid int) bool { return vmid >= firstSystem && vmid < afterSystems || vmid == imageVMID }

// newSystem returns a new system of a name. A name that is none has no VMID.
func newSystem(name string) System {
	number := numberOf(name)
	switch kind, _, _ := strings.Cut(name, "-"); {
	case number == 0:
		return System{}
	case kind == "vm":
		return System{Name: name, VMID: firstMachine + number, Cores: 1, MemoryMiB: 1024, DiskGiB: 8}
	case kind == "ct":
		return System{Name: name, VMID: firstContainer + number, Cores: 1, MemoryMiB: 512, DiskGiB: 8}
	}
	return System{}
}

// numberOf returns the number in a name, 1 to 9, or 0.
func numberOf(name string) int {
	_, digits, _ := strings.Cut(name, "-")
	number, err := strconv.Atoi(digits)
	if err != nil || number < 1 || number > 9 {
		return 0
	}
	return number
}

// IsContainer reports whether the system is a container.
func (s System) IsContainer() bool { return strings.HasPrefix(s.Name, "ct-") }

// Tags are those that it has on the host.
func (s System) Tags() []string {
	if s.Tag == "" {
		return []string{"site"}
	}
	return []string{"site", s.Tag}
}

// Find returns a system by its name.
func (s Systems) Find(name string) (System, bool) {
	i := s.index(name)
	if i < 0 {
		return System{}, false
	}
	return s.Items[i], true
}

func (s Systems) index(name string) int {
	return slices.IndexFunc(s.Items, func(one System) bool { return one.Name == name })
}

// Names are those of the systems, in the order of the file.
func (s Systems) Names() []string {
	var names []string
	for _, one := range s.Items {
		names = append(names, one.Name)
	}
	return names
}

// clone returns a copy that shares nothing with the layers.
func (l Layers) clone() Layers {
	h := &l.Hosts
	h.VLANs, h.Content, h.Shares, h.Pools, h.Users = slices.Clone(h.VLANs), slices.Clone(h.Content), slices.Clone(h.Shares), slices.Clone(h.Pools), slices.Clone(h.Users)
	l.Systems.Items, l.Storage.Datasets = slices.Clone(l.Systems.Items), slices.Clone(l.Storage.Datasets)
	return l
}

// Names that the files give to numbers.
func storageName(number int) string { return fmt.Sprintf("share-%d", number) }
func poolName(number int) string    { return fmt.Sprintf("pool-%d", number) }
func userName(number int) string    { return fmt.Sprintf("user-%d@pve", number) }

// Storages are the names of the storages that hosts.yaml describes.
func (h Hosts) Storages() []string {
	return append([]string{"local", "nas"}, eachNamed(storageName, h.Shares)...)
}

// PoolNames are the names of the resource pools.
func (h Hosts) PoolNames() []string { return eachNamed(poolName, h.Pools) }

// UserNames are the names of the users.
func (h Hosts) UserNames() []string { return eachNamed(userName, h.Users) }

// Interfaces are the names of the interfaces that hosts.yaml describes.
func (h Hosts) Interfaces() []string {
	return append([]string{"vmbr1"}, eachNamed(func(tag int) string { return fmt.Sprintf("vmbr1.%d", tag) }, h.VLANs)...)
}

// Schedule of the backup job.
func (h Hosts) Schedule() string { return fmt.Sprintf("02:%02d", h.Minute) }

func eachNamed(name func(int) string, numbers []int) []string {
	var names []string
	for _, number := range numbers {
		names = append(names, name(number))
	}
	return names
}
