package operator

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/discovery"
)

// findMachines finds the machine of each node among those on the host.
func findMachines(ctx context.Context, host pve.Connection, found *discovery.Cluster) error {
	reader, err := pve.NewReader(host)
	if err != nil {
		return err
	}
	machines, err := machinesOn(ctx, reader)
	if err != nil {
		return err
	}
	if err := found.Match(machines); err != nil {
		return err
	}
	return readDevices(ctx, reader, found)
}

// machinesOn returns the guests of the host, virtual machines with their settings.
func machinesOn(ctx context.Context, reader pve.Reader) ([]discovery.Machine, error) {
	guests, err := reader.Guests(ctx)
	if err != nil {
		return nil, err
	}
	var machines []discovery.Machine
	for _, guest := range guests {
		machine := discovery.Machine{Guest: guest}
		if guest.Type == "qemu" {
			if machine.Config, err = reader.GuestConfig(ctx, guest); err != nil {
				return nil, fmt.Errorf("VM %d on %s cannot be looked at (%w): give the token the privilege VM.Audit", guest.VMID, guest.Node, err)
			}
		}
		machines = append(machines, machine)
	}
	return machines, nil
}

// readDevices reads the PCI devices of the hosts whose machines name some by their address.
func readDevices(ctx context.Context, reader pve.Reader, found *discovery.Cluster) (err error) {
	devices := map[string][]pve.PCIDevice{}
	for _, node := range found.Nodes {
		machine := node.Machine
		if !machine.PassesDevice() {
			continue
		}
		if _, read := devices[machine.Node]; !read {
			if devices[machine.Node], err = reader.PCIDevices(ctx, machine.Node); err != nil {
				return fmt.Errorf("VM %d has a PCI device of %s, whose devices cannot be listed (%w): give the token the privilege Sys.Audit", machine.VMID, machine.Node, err)
			}
		}
		machine.Devices = devices[machine.Node]
	}
	return nil
}
