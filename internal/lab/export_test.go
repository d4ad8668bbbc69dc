package lab

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// SiteOfCluster returns the site of a project with one cluster.
func SiteOfCluster(t testing.TB, inv *inventory.Inventory) Site {
	t.Helper()
	site, err := SiteOf(Stacks{Platforms: []*inventory.Inventory{inv}})
	require.NoError(t, err)
	return site
}

// ChooseNetwork returns the network of a new lab, for tests.
func ChooseNetwork(t testing.TB, inv *inventory.Inventory, dir string) (netip.Prefix, error) {
	t.Helper()
	network, _, err := Options{Site: SiteOfCluster(t, inv), Dir: dir}.chooseAddresses()
	return network, err
}

// Hosts is hosts for tests.
func Hosts(inv *inventory.Inventory) []proxmox.Host { return hosts(inv) }

// Edits returns the hosts function of edits, for the inventory of a cluster.
func Edits(t testing.TB, inv *inventory.Inventory) func() []proxmox.Host {
	t.Helper()
	return DescribedBy(SiteOfCluster(t, inv))
}

// Write is write for tests.
func (d Description) Write(dir string) error { return d.write(dir) }

// LookInterval is lookInterval for tests.
const LookInterval = lookInterval

// Lock locks a file as a lab locks its own, until it is closed.
func Lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return file, take(file)
}

// Installer is installer for tests.
var Installer = installer

// BootsOtherSystem is bootsOtherSystem for tests.
var BootsOtherSystem = bootsOtherSystem

// StandIns returns what stands in for the files of a site.
func StandIns(s Site) func(url string) (proxmox.StandIn, bool) { return s.standIns }

// Leases are those of the reservations in the inventories of clusters.
func Leases(d Description, macs []net.HardwareAddr, clusters ...string) ([]netip.Prefix, error) {
	return reservations{clusters: clusters, lab: d}.leases(macs)
}

// DescribedBy is described of a site, for tests.
func DescribedBy(s Site) func() []proxmox.Host { return s.described() }
