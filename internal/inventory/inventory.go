package inventory

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Inventory is the content of the two files, complete with its defaults and valid.
type Inventory struct {
	// Cluster is cluster.yaml.
	Cluster Cluster
	// Nodes is nodes.yaml.
	Nodes Nodes
	// Dir is the folder that the files were read from, as passed to [Load].
	Dir string

	// The files without the defaults.
	clusterSource, nodesSource *strictyaml.Document
}

// Header names the format of a file.
type Header = manifest.Header

// EndpointURL returns the URL of the Kubernetes API for clients: https with the virtual address or the host.
func (c Cluster) EndpointURL() *url.URL {
	host := c.Kubernetes.Endpoint.Host
	if vip := c.Kubernetes.Endpoint.VIP; vip.IsValid() {
		host = vip.String()
	}
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(c.Kubernetes.Endpoint.Port))}
}

// TemplateHost returns the host of the template that the nodes on a host are cloned from.
func (c Cluster) TemplateHost(host string) string {
	if c.Proxmox.Template.Shared {
		return c.Proxmox.Host
	}
	return host
}

// TemplateVMID returns the VMID of the template that the nodes on a host are cloned from; 0 if the host has none.
func (c Cluster) TemplateVMID(host string) int {
	if c.TemplateHost(host) == c.Proxmox.Host {
		return c.Proxmox.Template.VMID
	}
	return c.Proxmox.Template.PerHost[host]
}

// TemplateHosts returns the hosts of the templates, in the order of the nodes.
func (i *Inventory) TemplateHosts() []string {
	var hosts []string
	for _, host := range i.Nodes.Hosts() {
		if host = i.Cluster.TemplateHost(host); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// TemplateName returns the name of every template.
func (c Cluster) TemplateName() string { return c.Proxmox.Template.Name }

// Prefix returns the node's address with the prefix length of the nodes' network.
func (n Node) Prefix(c Cluster) netip.Prefix {
	return netip.PrefixFrom(n.Address, c.Network.CIDR.Bits())
}

// Prefixes returns the node's addresses with the prefix lengths of their networks: one, or two in a dual-stack cluster.
func (n Node) Prefixes(c Cluster) []netip.Prefix {
	prefixes := []netip.Prefix{n.Prefix(c)}
	if n.Address6.IsValid() {
		prefixes = append(prefixes, netip.PrefixFrom(n.Address6, c.Network.CIDR6.Bits()))
	}
	return prefixes
}

// Subnets returns the networks that hold the nodes: one, or two in a dual-stack cluster.
func (n Network) Subnets() []netip.Prefix {
	subnets := []netip.Prefix{n.CIDR}
	if n.CIDR6.IsValid() {
		subnets = append(subnets, n.CIDR6)
	}
	return subnets
}

// Gateways returns the default routes, at most one for each IP family.
func (n Network) Gateways() []netip.Addr {
	gateways := []netip.Addr{n.Gateway}
	if n.Gateway6.IsValid() {
		gateways = append(gateways, n.Gateway6)
	}
	return gateways
}
