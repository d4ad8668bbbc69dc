package proxmox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

var errNoInterface = errors.New("interface does not exist")

// listNetwork answers GET /nodes/{node}/network (pve-manager API2/Network.pm, index): bridges show only to those who
// may use or audit them.
func (s *Server) listNetwork(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	filter := c.params.Get("type")
	list := []shownInterface{}
	interfaces := s.state.Networks[c.node].current()

	for at, name := range sortedNames(interfaces) {
		i := interfaces[name]
		anyBridge := filter == "any_bridge" || filter == "any_local_bridge"

		switch {
		case filter != "" && filter != i["type"] && (!anyBridge || !i.isBridge()):
		case i.isBridge() && !s.seesBridge(c.identity, name):
		default:
			list = append(list, i.show(at+3))
		}
	}

	return list, nil
}

func (s *Server) seesBridge(identity, name string) bool {
	path := "/sdn/zones/localnetwork/" + name

	return identity == access.Root || s.state.Access.Check(identity, path, true, "SDN.Audit", "SDN.Use") == nil
}

// getInterface answers GET /nodes/{node}/network/{iface}.
func (s *Server) getInterface(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	i, ok := s.state.Networks[c.node].current()[c.params.Get("iface")]
	if !ok {
		return nil, schema.BadParam("iface", "%s", errNoInterface)
	}

	return i.show(0), nil
}

// createInterface answers POST /nodes/{node}/network. It changes nothing before the reload.
func (s *Server) createInterface(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	n := s.state.Networks[c.node]
	name := c.params.Get("iface")

	if _, ok := n.current()[name]; ok {
		return nil, schema.BadParam("iface", "interface already exists")
	}

	i := iface{"method": "manual", "method6": "manual"}
	if err := n.fill(i, name, c.params); err != nil {
		return nil, err
	}

	n.stage()[name] = i
	s.changed()

	return nil, nil
}

// updateInterface answers PUT /nodes/{node}/network/{iface}.
func (s *Server) updateInterface(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	n := s.state.Networks[c.node]
	name := c.params.Get("iface")

	if _, ok := n.current()[name]; !ok {
		return nil, schema.BadParam("iface", "%s", errNoInterface)
	}

	i := maps.Clone(n.current()[name])

	for _, key := range c.params.List("delete") {
		delete(i, key)

		if suffix, ok := strings.CutPrefix(key, "cidr"); ok {
			delete(i, "address"+suffix)
			delete(i, "netmask"+suffix)
			i["method"+suffix] = "manual"
		}
	}

	if err := n.fill(i, name, c.params.Without("delete")); err != nil {
		return nil, err
	}

	n.stage()[name] = i
	s.changed()

	return nil, nil
}

// fill writes the parameters into an interface.
func (n *network) fill(i iface, name string, params schema.Params) error {
	for _, key := range []string{"gateway", "gateway6"} {
		if params.Get(key) == "" {
			continue
		}

		for _, other := range sortedNames(n.current()) {
			if other != name && n.current()[other][key] != "" {
				return schema.BadParam(key, "Default gateway already exists on interface '%s'.", other)
			}
		}
	}

	for _, other := range sortedNames(n.current()) {
		taken := strings.Fields(n.current()[other]["bridge_ports"])

		for _, port := range strings.Fields(params.Get("bridge_ports")) {
			if other != name && slices.Contains(taken, port) {
				return schema.BadParam("bridge_ports", "iface '%s' is already used by interface '%s'", port, other)
			}
		}
	}

	for _, key := range params.Without("node").Names() {
		if suffix, ok := strings.CutPrefix(key, "cidr"); ok {
			i.setCIDR(suffix, params.Get(key))
			continue
		}

		i[key] = params.Get(key)
	}

	if i["type"] == "vlan" {
		return i.setVLAN(n.current(), name)
	}

	return nil
}

// deleteInterface answers DELETE /nodes/{node}/network/{iface}.
func (s *Server) deleteInterface(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	n := s.state.Networks[c.node]
	name := c.params.Get("iface")

	if _, ok := n.current()[name]; !ok {
		return nil, schema.BadParam("iface", "%s", errNoInterface)
	}

	delete(n.stage(), name)
	s.changed()

	return nil, nil
}

// revertNetwork answers DELETE /nodes/{node}/network: staged changes are forgotten.
func (s *Server) revertNetwork(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.state.Networks[c.node].Staged = nil
	s.changed()

	return nil, nil
}

// reloadNetwork answers PUT /nodes/{node}/network: the staged interfaces come into force.
func (s *Server) reloadNetwork(c *call) (any, error) {
	return s.fork(c.node, "srvreload", "networking", c.identity, 0, func(w *worker) error {
		release, err := s.locks.Exclusive(w.ctx, c.node+"/run/network/.lock", s.config.Pace.Timeout(pace.ConfigLockTimeout))
		if err != nil {
			return fmt.Errorf("command 'ifreload -a' failed: exit code 89")
		}
		defer release()

		if err := s.config.Faults.Step(w.ctx, w.info, StepReload); err != nil {
			return err
		}

		s.mu.Lock()
		if n := s.state.Networks[c.node]; n.Staged != nil {
			n.Active, n.Staged = n.Staged, nil
		}
		s.mu.Unlock()

		return s.wait(w.ctx, pace.NetworkReload)
	})
}

func networkRows() []row {
	const base = "/nodes/{node}/network"

	return []row{
		{Verb: http.MethodGet, Path: base, serve: (*Server).listNetwork},
		{Verb: http.MethodPost, Path: base, serve: (*Server).createInterface},
		{Verb: http.MethodPut, Path: base, serve: (*Server).reloadNetwork},
		{Verb: http.MethodDelete, Path: base, serve: (*Server).revertNetwork},
		{Verb: http.MethodGet, Path: base + "/{iface}", serve: (*Server).getInterface},
		{Verb: http.MethodPut, Path: base + "/{iface}", serve: (*Server).updateInterface},
		{Verb: http.MethodDelete, Path: base + "/{iface}", serve: (*Server).deleteInterface},
	}
}
