package lab

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
	hostinventory "github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// machinesNetwork is the network of the machines in the lab of a stack that has none.
var machinesNetwork = netip.MustParsePrefix("192.168.20.0/24")

// installedHosts returns the hosts that an inventory of hosts configures, as their installer leaves them, so that the stack has to make everything
// that it describes.
func installedHosts(inv *hostinventory.Inventory) []proxmox.Host {
	var installed []proxmox.Host
	for i, name := range inv.Hosts() {
		installed = append(installed, proxmox.Host{
			Name: name, Cores: leastCores, CPUModel: cpuModel, MemoryMiB: leastMemoryMiB, Storages: installedStorages(), PCI: mappedDevices(inv, name),
			Bridges: []proxmox.Bridge{{
				Name: "vmbr0", Ports: []string{"eno1"}, Address: netip.PrefixFrom(addressOf(i), machinesNetwork.Bits()), Gateway: machinesNetwork.Addr().Next(),
			}},
		})
	}
	return installed
}

// mappedDevices returns the devices of a host that the mappings of an inventory name. They are not mapped yet.
func mappedDevices(inv *hostinventory.Inventory, host string) []proxmox.PCIDevice {
	var devices []proxmox.PCIDevice
	for _, mapping := range inv.File.Mappings {
		for _, one := range mapping.Devices {
			if one.Host == host {
				devices = append(devices, givenGPU(inventory.GPU{
					BDF: one.BDF, DeviceID: one.DeviceID, SubsystemID: one.SubsystemID, IOMMUGroup: &one.IOMMUGroup,
				}))
			}
		}
	}
	return devices
}

// addressOf returns the address of a host in the network of the machines: .10 for the first.
func addressOf(host int) netip.Addr {
	address := machinesNetwork.Addr()
	for range 10 + host {
		address = address.Next()
	}
	return address
}

// installedStorages returns the storages that the installer creates (pve-installer, Proxmox/Install.pm, extract_data).
func installedStorages() []proxmox.Storage {
	return []proxmox.Storage{
		{Name: "local", Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: 96 << 30, Path: "/var/lib/vz"},
		{Name: "local-lvm", Type: storage.LVMThin, Content: []string{storage.Images}, TotalBytes: 1 << 40},
	}
}
