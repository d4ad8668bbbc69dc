package inventory

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/machineconfig"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
	"github.com/em-infra/em-infra/internal/versions"
)

// defaultSizes checks the sizes by role, so that their errors are not reported for each node.
func (c *checker) defaultSizes() {
	for _, role := range []Role{RoleControlPlane, RoleWorker, RoleGPUWorker} {
		at := key("defaults", string(role))
		c.size(c.inv.Cluster.Defaults.of(role), 1, role, at, c.inv.clusterSource.Has, c.cluster)
	}
}

// size checks the size of a machine against the needs of its role.
func (c *checker) size(size Size, sockets int, role Role, at *strictyaml.Path, given func(*strictyaml.Path) bool, report report) {
	least := hardware.LeastSize(role == RoleControlPlane) // a GPU worker is a worker
	for _, part := range []struct {
		key, unit   string
		got, atMost int
	}{
		{"cores", "core", size.Cores * max(sockets, 1), least.Cores},
		{"memoryMiB", "MiB", size.MemoryMiB, least.MemoryMiB},
		{"diskGiB", "GiB", size.DiskGiB, least.DiskGiB},
	} {
		if part.got == 0 || part.got >= part.atMost || !given(at.Key(part.key)) {
			continue
		}
		report(at.Key(part.key), fault{
			What: "is too little for Talos", Rule: fmt.Sprintf("a %s needs at least %d", role, part.atMost),
			Got: strconv.Itoa(part.got), Do: "give it " + strconv.Itoa(part.atMost) + " or more",
		})
	}
}

// hardware checks the hardware of a machine and its host.
func (c *checker) hardware(node Node, path *strictyaml.Path) {
	c.host(node, path)
	if node.Role != "" {
		c.size(node.Size, node.Sockets, node.Role, path, c.inv.nodesSource.Has, c.node)
	}
	c.cpuType(node.CPUType, path.Key("cpuType"))
	c.tags(node.Tags, c.inv.Cluster.Proxmox.Tags, path.Key("tags"), c.node)
}

// Talos' images for amd64 need the level x86-64-v2 (docs.siderolabs.com, getting started); these are QEMU's CPU types below it.
var (
	cpuTypeName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	oldCPUTypes  = regexp.MustCompile(`^(486|athlon|phenom|pentium[23]?|core2?duo|kvm(32|64)|qemu(32|64)|Conroe|Penryn|Opteron_G[123])$`)
	customPrefix = "custom-"
)

// cpuType checks the form of a CPU type. The list of types depends on the release of Proxmox VE.
func (c *checker) cpuType(name string, at *strictyaml.Path) {
	switch {
	case name == "":
		return
	case !cpuTypeName.MatchString(name) || name == customPrefix:
		c.node(at, fault{
			What: "is not a CPU type", Rule: "a name like host, x86-64-v3 or custom-mine", Got: name,
			Do: "choose one of the list in Proxmox VE",
		})
	case oldCPUTypes.MatchString(name):
		c.node(at, fault{
			What: "is too old for Talos", Rule: "it needs the level x86-64-v2", Got: name,
			Do: "choose x86-64-v2-AES, or host",
		})
	}
}

// disks checks the storages of a node and its data disks.
func (c *checker) disks(node Node, path *strictyaml.Path) {
	if c.inv.nodesSource.Has(path.Key("diskStorage")) {
		checkName(limits.Storage, node.DiskStorage, path.Key("diskStorage"), c.node)
	}
	mounts := make(map[string]int, len(node.DataDisks))
	for i, disk := range node.DataDisks {
		at := path.Key("dataDisks").Index(i)
		if c.inv.nodesSource.Has(at.Key("storage")) {
			checkName(limits.Storage, disk.Storage, at.Key("storage"), c.node)
		}
		c.mount(disk.Mount, at.Key("mount"))
		if first, twice := mounts[strings.ToLower(disk.Mount)]; twice && disk.Mount != "" {
			c.node(at.Key("mount"), fault{
				What: fmt.Sprintf("is that of dataDisks[%d] too", first), Rule: "mounts are unique",
				Got: disk.Mount, Do: "choose another",
			})
		}
		mounts[strings.ToLower(disk.Mount)] = i
	}
	version := c.inv.Cluster.Talos.Version
	if len(node.DataDisks) > 0 && !version.IsZero() && version.Minor().Compare(versions.FirstUserVolumes) < 0 {
		c.node(path.Key("dataDisks"), fault{
			What: "cannot be mounted", Rule: "user volumes came with Talos " + versions.FirstUserVolumes.String(),
			Got: version.String(), Do: "raise talos.version, or remove the disks",
		})
	}
}

func (c *checker) mount(name string, at *strictyaml.Path) {
	if name != "" && !machineconfig.ValidMount(name) {
		c.node(at, fault{
			What: "is not the name of a volume", Rule: machineconfig.MountRule,
			Got: name, Do: "choose a name; it is mounted at /var/mnt/NAME",
		})
	}
}
