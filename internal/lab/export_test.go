package lab

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// ChooseNetwork is chooseNetwork for tests.
func ChooseNetwork(inv *inventory.Inventory, dir string) (netip.Prefix, error) {
	return chooseNetwork(inv, dir)
}

// Hosts is hosts for tests.
func Hosts(inv *inventory.Inventory) []proxmox.Host { return hosts(inv) }

// Edits is the hosts of edits for tests.
func Edits(dir string) func() []proxmox.Host { return (&edits{dir: dir}).hosts }

// Write is write for tests.
func (d Description) Write(dir string) error { return d.write(dir) }

// Installer is what images have.
var Installer = installer
