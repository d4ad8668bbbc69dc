package lab

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// The sizes of what stands in for a file on the internet: those of a Debian image, of the installer of an appliance, and of a template of
// containers.
const (
	imageBytes    = 330 << 20
	imageDisk     = 3 << 30
	isoBytes      = 900 << 20
	templateBytes = 130 << 20
)

// hostsOfSystems returns the hosts that an inventory of systems needs, with its bridges and storages. What is inside of the systems is not
// emulated.
func hostsOfSystems(inv *systems.Inventory) []proxmox.Host {
	var described []proxmox.Host
	for _, name := range inv.Hosts() {
		described = append(described, hostOfSystems(inv.File, name))
	}
	return described
}

// hostOfSystems returns a host with everything that the systems on it name, and with room for them.
func hostOfSystems(file systems.File, name string) proxmox.Host {
	h := proxmox.Host{Name: name, Cores: leastCores, CPUModel: cpuModel, MemoryMiB: leastMemoryMiB}
	bridges, disks, memoryMiB, diskGiB := []string{file.Network.Bridge}, []string{file.Proxmox.DiskStorage}, 0, leastStorageGiB
	add := func(s systems.System, further ...systems.DataDisk) {
		if s.Host != name {
			return
		}
		memoryMiB, diskGiB, disks = memoryMiB+s.MemoryMiB, diskGiB+s.DiskGiB, append(disks, s.DiskStorage)
		for _, disk := range further {
			diskGiB, disks = diskGiB+disk.SizeGiB, append(disks, disk.Storage)
		}
		for _, card := range s.NICs {
			bridges = append(bridges, card.Bridge)
		}
	}
	for _, machine := range file.VirtualMachines {
		add(machine.System, machine.DataDisks...)
	}
	for _, container := range file.Containers {
		add(container.System)
	}
	for _, image := range file.Images {
		if image.Host == name {
			disks = append(disks, image.DiskStorage)
		}
	}
	h.MemoryMiB = max(h.MemoryMiB, memoryMiB+memoryMiB/4)
	h.Storages = storagesOfSystems(file.Proxmox.FileStorage, disks, uint64(diskGiB)<<30)
	for _, bridge := range distinct(bridges) {
		h.Bridges = append(h.Bridges, proxmox.Bridge{Name: bridge, Ports: []string{"eno1"}, VLANAware: true})
	}
	return h
}

// storagesOfSystems returns a folder for files and thin pools for disks. A storage for both is the folder.
func storagesOfSystems(files string, disks []string, bytes uint64) []proxmox.Storage {
	folder := proxmox.Storage{
		Name: files, Type: storage.Dir, Path: "/var/lib/vz", TotalBytes: bytes,
		Content: []string{storage.ISO, storage.Template, storage.Import},
	}
	pools := []string{storage.Images, storage.RootDir}
	var all []proxmox.Storage
	for _, name := range distinct(disks) {
		if name == files {
			folder.Content = append(folder.Content, pools...)
			continue
		}
		all = append(all, proxmox.Storage{Name: name, Type: storage.LVMThin, Content: slices.Clone(pools), TotalBytes: bytes})
	}
	return append([]proxmox.Storage{folder}, all...)
}

// standInsOf returns what stands in for the files that an inventory names, by their URL, so that a rehearsal downloads nothing: their checksums
// are those of the inventory.
func standInsOf(file systems.File) func(url string) (proxmox.StandIn, bool) {
	known := map[string]proxmox.StandIn{}
	add := func(source systems.Source, bytes, disk uint64) {
		algorithm, checksum, _ := strings.Cut(string(source.Checksum), ":")
		known[source.URL.String()] = proxmox.StandIn{Bytes: bytes, Virtual: disk, Algorithm: algorithm, Checksum: checksum}
	}
	for _, image := range file.Images {
		add(image.Source, imageBytes, imageDisk)
	}
	for _, iso := range file.ISOs {
		add(iso.Source, isoBytes, 0)
	}
	for _, template := range file.ContainerTemplates {
		add(template.Source, templateBytes, 0)
	}
	return func(url string) (proxmox.StandIn, bool) {
		found, is := known[url]
		return found, is
	}
}
