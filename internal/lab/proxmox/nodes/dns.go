package nodes

import (
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
)

// resolver is what /etc/resolv.conf of a host has.
type resolver struct {
	Search  string   `json:"search"`
	Servers []string `json:"servers"`
}

// installed is what the installer of Proxmox VE leaves: the domain of the host's name, and the gateway as the server.
var installed = resolver{Search: "home.example", Servers: []string{"192.168.20.1"}}

// dnsKeys are the parameters of the servers, in their order.
var dnsKeys = [3]string{"dns1", "dns2", "dns3"}

func (s *Service) resolverOf(node string) resolver {
	if r, changed := s.resolvers[node]; changed {
		return r
	}
	return installed
}

// getDNS handles GET /nodes/{node}/dns (pve-common INotify.pm, read_etc_resolv_conf).
func (s *Service) getDNS(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r := s.resolverOf(c.Node)
	answer := map[string]string{}
	if r.Search != "" {
		answer["search"] = r.Search
	}
	for i, server := range r.Servers {
		answer[dnsKeys[i]] = server
	}

	return answer, nil
}

// setDNS handles PUT /nodes/{node}/dns. A server that is not given is removed, and one that is given twice is written once
// (INotify.pm, update_etc_resolv_conf).
func (s *Service) setDNS(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	next := resolver{Search: c.Params.Get("search"), Servers: []string{}}
	for _, key := range dnsKeys {
		if server := c.Params.Get(key); server != "" && server != "0.0.0.0" && !slices.Contains(next.Servers, server) {
			next.Servers = append(next.Servers, server)
		}
	}
	s.resolvers[c.Node] = next
	s.env.Changed()

	return nil, nil
}
