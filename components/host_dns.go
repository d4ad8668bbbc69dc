package components

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// HostDNS is where a host resolves names. It is set in place, and stays when it is left out or the stack is destroyed, since a host always has
// one: the provider's delete forgets it (bpg/terraform-provider-proxmox v0.73.0, proxmoxtf/resource/dns.go, dnsDelete).
type HostDNS struct {
	// Host is the name of the node of Proxmox VE. Required. A change touches nothing on the former host.
	Host string
	// SearchDomain is appended to names without a dot. Required. A change is applied in place.
	SearchDomain string
	// Servers are the addresses of the servers, three at most, the first one first. Required. A change is applied in place.
	Servers []netip.Addr
}

// newHostDNS registers the resolver of a host. The provider has the resource, and a refresh reads it.
func newHostDNS(ctx *pulumi.Context, name string, dns HostDNS, opts ...pulumi.ResourceOption) (*proxmoxve.DNS, error) {
	var servers []string
	for _, server := range dns.Servers {
		servers = append(servers, server.String())
	}
	return proxmoxve.NewDNS(ctx, name, &proxmoxve.DNSArgs{
		NodeName: pulumi.String(dns.Host), Domain: pulumi.String(dns.SearchDomain), Servers: pulumi.ToStringArray(servers),
	}, opts...)
}

// HostDNSName returns the logical name of the resolver of a host.
func HostDNSName(name, host string) string { return name + "-dns-" + host }

func (d HostDNS) validate(at string) error {
	const most = 3 // pve-common INotify.pm, update_etc_resolv_conf
	problems := []error{
		require(d.SearchDomain != "", at+".SearchDomain", "it is missing: give it"),
		require(len(d.Servers) > 0 && len(d.Servers) <= most, at+".Servers", fmt.Sprintf("give one to three, not %d", len(d.Servers))),
	}
	for i, server := range d.Servers {
		problems = append(problems, require(server.IsValid() && server.Zone() == "", fmt.Sprintf("%s.Servers[%d]", at, i), "it is no address without a zone: correct it"))
	}
	return errors.Join(problems...)
}
