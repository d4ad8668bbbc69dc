package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// AnotherVMID is what to do about a VMID that is taken.
var AnotherVMID = fmt.Sprintf("choose another, %s", limits.VMID)

// vmids checks that no two machines share a VMID, templates included: it is unique in a whole Proxmox VE cluster.
func (c *checker) vmids() {
	taken := c.templateVMIDs()
	for i, node := range c.inv.Nodes {
		if node.VMID == 0 {
			continue
		}
		if owner, ok := taken[node.VMID]; ok {
			c.node(nodePath(i).Key("vmid"), fault{
				What: "is the VMID of " + owner + " too", Rule: "VMIDs are unique",
				Got: fmt.Sprint(node.VMID), Do: AnotherVMID,
			})
			continue
		}
		taken[node.VMID] = nodePath(i).String()
	}
}

// templateVMIDs checks the templates' VMIDs and returns their owners.
func (c *checker) templateVMIDs() map[int]string {
	proxmox := c.inv.Cluster.Proxmox
	taken := make(map[int]string, len(c.inv.Nodes)+len(proxmox.Template.PerHost)+1)
	if proxmox.Template.VMID != 0 {
		taken[proxmox.Template.VMID] = "the template on " + proxmox.Host
	}
	if proxmox.Template.Shared {
		c.sharedTemplate()
		return taken
	}
	for _, host := range sortedKeys(proxmox.Template.PerHost) {
		at := key("proxmox", "template", "perHost", host)
		vmid := proxmox.Template.PerHost[host]
		switch owner, twice := taken[vmid]; {
		case host == proxmox.Host:
			c.cluster(at, fault{What: "is proxmox.host", Rule: "its template is template.vmid", Got: host, Do: "remove the key"})
		case !limits.VMID.Contains(vmid):
			c.cluster(at, fault{
				What: "is out of range", Rule: limits.VMID.String(), Got: fmt.Sprint(vmid),
				Do: "choose a number within",
			})
		case twice:
			c.cluster(at, fault{
				What: "is the VMID of " + owner + " too", Rule: "VMIDs are unique", Got: fmt.Sprint(vmid),
				Do: AnotherVMID,
			})
		default:
			taken[vmid] = "the template on " + host
		}
	}
	return taken
}

// folderOfHost is the storage that every Proxmox VE host has as a folder of its own (pve-storage, PVE/Storage/Plugin.pm,
// parse_config).
const folderOfHost = "local"

// sharedTemplate checks the storages of a shared template. Preflight checks on the host whether a storage is shared.
func (c *checker) sharedTemplate() {
	proxmox := c.inv.Cluster.Proxmox
	for _, storage := range []struct{ key, name string }{{"isoStorage", proxmox.ISOStorage}, {"diskStorage", proxmox.DiskStorage}} {
		if storage.name == folderOfHost {
			c.cluster(key("proxmox", storage.key), fault{
				What: "is a folder of each host", Rule: "the hosts share the storages of a shared template", Got: storage.name,
				Do: "name a storage that is shared in Proxmox VE, or remove template.shared",
			})
		}
	}
	if hosts := sortedKeys(proxmox.Template.PerHost); len(hosts) > 0 {
		c.cluster(key("proxmox", "template", "perHost"), fault{
			What: "is given although the hosts share one template", Rule: "template.shared or template.perHost",
			Got: strings.Join(hosts, ", "), Do: "remove one of the two",
		})
	}
}

// host checks that a node's host has a template.
func (c *checker) host(node Node, path *strictyaml.Path) {
	cluster := c.inv.Cluster
	at := path.Key("host")
	if !c.inv.nodesSource.Has(at) {
		return
	}
	checkName(limits.Host, node.Host, at, c.node)
	if !limits.Host.Matches(node.Host) || cluster.Proxmox.Host == "" || cluster.TemplateVMID(node.Host) != 0 || cluster.Proxmox.Template.VMID == 0 {
		return
	}
	c.node(at, fault{
		What: "has no template", Rule: "each host has its own, unless template.shared", Got: node.Host,
		Do: "add it to proxmox.template.perHost with a free VMID",
	})
}

// sortedKeys returns the keys of a mapping in their order.
func sortedKeys[T any](table map[string]T) []string { return slices.Sorted(maps.Keys(table)) }
