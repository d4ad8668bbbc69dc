package inventory

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// fault is the problem of one value.
type fault = strictyaml.Fault

// checker collects the problems of an inventory. A rule skips a missing value: that was reported when the file was decoded.
type checker struct {
	manifest.Checker

	inv                    *Inventory
	clusterFile, nodesFile string
	// cidr and cidr6 are the nodes' networks, if they are valid enough to check addresses against them.
	cidr, cidr6 netip.Prefix
}

// rules checks everything after the two files are decoded and complete.
func (c *checker) rules() {
	if c.inv.clusterSource != nil {
		c.clusterNames()
		c.versions()
		c.schematic()
		c.network()
		c.subnets()
		c.endpoint()
		c.defaultSizes()
		c.upgrade()
		c.storage()
		c.addons()
		c.patches(c.inv.Cluster.Talos.Patches, key("talos", "patches"), c.cluster)
	}
	c.nodeNames()
	c.controlPlanes()
	c.vmids()
	c.addresses()
	c.nics()
	c.gpus()
	for at, node := range c.inv.Nodes {
		path := nodePath(at)
		c.hardware(node, path)
		c.driver(node, path)
		c.disks(node, path)
		c.membership(node, path)
		c.patches(node.Patches, path.Key("patches"), c.node)
	}
}

// key returns the path of nested keys.
func key(keys ...string) *strictyaml.Path {
	var path *strictyaml.Path
	for _, key := range keys {
		path = path.Key(key)
	}
	return path
}

// nodePath returns the path of a node in its file.
func nodePath(at int) *strictyaml.Path { return key("nodes").Index(at) }

// report records a problem in one of the files.
type report func(at *strictyaml.Path, problem fault)

// cluster records a problem in cluster.yaml.
func (c *checker) cluster(at *strictyaml.Path, problem fault) {
	c.At(c.clusterFile, c.inv.clusterSource, at, problem)
}

// node records a problem in nodes.yaml.
func (c *checker) node(at *strictyaml.Path, problem fault) {
	c.At(c.nodesFile, c.inv.nodesSource, at, problem)
}
