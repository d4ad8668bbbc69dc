package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// Machine is a VM as the host has it.
type Machine struct {
	VMID            int
	Name, Host      string
	Template        bool
	Running         bool
	Lock            string
	MemoryMiB       int
	Cores           int
	Tags            []string
	StartsWithHost  bool
	Cards, PassedOn int
	// Disks are those of scsi0, scsi1 and so on.
	Disks []Disk
	// Unplugged are volumes that the machine keeps and does not use.
	Unplugged []Disk
	// Snapshots are their names, sorted.
	Snapshots []string
}

// Disk is a volume of a machine.
type Disk struct {
	// Identity is unique: a successor has another one.
	Identity string
	Bytes    uint64
}

// Host is the content of the emulated Proxmox VE.
type Host struct {
	Machines []Machine
	// Systems are the machines and containers of the stack of systems, with the templates of images.
	Systems []Machine
	// Unused are images of no machine.
	Unused []string
}

// hostFile is the part of the state file of the lab's host that is read here.
type hostFile struct {
	State struct {
		Storages map[string]struct {
			Pools map[string]struct {
				Volumes map[string]struct {
					Content  string `json:"content"`
					Identity string `json:"identity"`
					Size     uint64 `json:"size"`
				} `json:"volumes"`
			} `json:"pools"`
		} `json:"storages"`
		VMs        map[string]guest `json:"vms"`
		Containers map[string]guest `json:"containers"`
		hostSettings
	} `json:"state"`
}

// guest is a machine or a container.
type guest struct {
	ID     int    `json:"id"`
	Node   string `json:"node"`
	Config struct {
		Values map[string]string `json:"values"`
	} `json:"config"`
	Snapshots map[string]struct {
		Config struct {
			Values map[string]string `json:"values"`
		} `json:"config"`
	} `json:"snapshots"`
}

// ReadHost reads the state file of the lab's host, which contains the volumes, and queries the host for the running machines.
func ReadHost(text []byte, runs map[int]bool) (Host, error) {
	var file hostFile
	if err := json.Unmarshal(text, &file); err != nil {
		return Host{}, fmt.Errorf("the host's state: %w", err)
	}
	var host Host
	used := map[string]bool{}
	for _, vm := range file.State.VMs {
		m := machine(vm.Config.Values)
		m.VMID, m.Host, m.Running, m.Snapshots = vm.ID, vm.Node, runs[vm.ID], slices.Sorted(maps.Keys(vm.Snapshots))
		vm.uses(used)
		for i := 0; vm.Config.Values[fmt.Sprintf("scsi%d", i)] != ""; i++ {
			m.Disks = append(m.Disks, file.disk(vm.Node, volumeOf(vm.Config.Values[fmt.Sprintf("scsi%d", i)])))
		}
		for slot, drive := range vm.Config.Values {
			if isSlot(slot, "unused") {
				m.Unplugged = append(m.Unplugged, file.disk(vm.Node, volumeOf(drive)))
			}
		}
		if m.Name == "" || m.Host == "" || m.MemoryMiB < 0 {
			return Host{}, fmt.Errorf("the host's state has VM %d in a form that is not known here: %+v", m.VMID, m)
		}
		if site.OfSystems(m.VMID) {
			host.Systems = append(host.Systems, m)
		} else {
			host.Machines = append(host.Machines, m)
		}
	}
	for _, ct := range file.State.Containers {
		ct.uses(used)
		host.Systems = append(host.Systems, file.container(ct, runs))
	}
	byVMID := func(a, b Machine) int { return a.VMID - b.VMID }
	slices.SortFunc(host.Machines, byVMID)
	slices.SortFunc(host.Systems, byVMID)
	host.Unused = file.unused(used)
	return host, nil
}

// uses marks the volumes of a guest and of its snapshots, which may be those of the guest as it was.
func (g guest) uses(used map[string]bool) {
	for _, drive := range g.Config.Values {
		used[g.Node+" "+volumeOf(drive)] = true
	}
	for _, snapshot := range g.Snapshots {
		for _, drive := range snapshot.Config.Values {
			used[g.Node+" "+volumeOf(drive)] = true
		}
	}
}

// container returns a container as a machine, whose root is its only disk.
func (f hostFile) container(ct guest, runs map[int]bool) Machine {
	m := machine(ct.Config.Values)
	m.VMID, m.Host, m.Running, m.Snapshots = ct.ID, ct.Node, runs[ct.ID], slices.Sorted(maps.Keys(ct.Snapshots))
	m.Name, m.Disks = ct.Config.Values["hostname"], []Disk{f.disk(ct.Node, volumeOf(ct.Config.Values["rootfs"]))}
	return m
}

func machine(values map[string]string) Machine {
	m := Machine{
		Name: values["name"], Lock: values["lock"], Template: values["template"] == "1", StartsWithHost: values["onboot"] == "1",
		MemoryMiB: number(values["memory"]), Cores: number(values["cores"]),
		Tags: strings.FieldsFunc(values["tags"], func(r rune) bool { return r == ';' || r == ',' }),
	}
	for key := range values {
		if isSlot(key, "net") {
			m.Cards++
		}
		if isSlot(key, "hostpci") {
			m.PassedOn++
		}
	}
	return m
}

func isSlot(key, kind string) bool {
	digits, found := strings.CutPrefix(key, kind)
	_, err := strconv.Atoi(digits)
	return found && err == nil
}

// number returns the number in a text, or -1.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// volumeOf returns the first word of a drive.
func volumeOf(drive string) string {
	volume, _, _ := strings.Cut(drive, ",")
	return volume
}

// disk returns the volume of a machine: on the pool of its host, or on one that all hosts share.
func (f hostFile) disk(host, id string) Disk {
	storage, _, _ := strings.Cut(id, ":")
	pools := f.State.Storages[storage].Pools
	for name, pool := range pools {
		if volume, found := pool.Volumes[id]; found && (name == host || len(pools) == 1) {
			return Disk{volume.Identity, volume.Size}
		}
	}
	return Disk{}
}

func (f hostFile) unused(used map[string]bool) []string {
	var unused []string
	for _, storage := range f.State.Storages {
		for host, pool := range storage.Pools {
			for id, volume := range pool.Volumes {
				inUse := used[host+" "+id]
				for key := range used {
					inUse = inUse || len(storage.Pools) == 1 && strings.HasSuffix(key, " "+id)
				}
				if volume.Content == "images" && !inUse {
					unused = append(unused, id+" on "+host)
				}
			}
		}
	}
	slices.Sort(unused)
	return unused
}
