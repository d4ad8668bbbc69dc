package network

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Permissions checks what callers may do.
type Permissions interface {
	Check(identity, path string, anyOf bool, privileges ...string) error
}

// Service is the network of all nodes. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	permissions Permissions

	mu       sync.Mutex
	networks map[string]*network
}

// New returns a service without networks.
func New(env *host.Environment, permissions Permissions) *Service {
	return &Service{env: env, permissions: permissions, networks: map[string]*network{}}
}

// Adopt adds the bridges of hosts to the nodes' networks, at once and without a reload.
func (s *Service) Adopt(hosts []hardware.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, h := range hosts {
		if known, ok := s.networks[h.Name]; ok {
			known.adopt(newNetwork(h))
		} else {
			s.networks[h.Name] = newNetwork(h)
		}
	}
}

// IsBridge reports whether a node has an active bridge of that name.
func (s *Service) IsBridge(node, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	n, ok := s.networks[node]

	return ok && n.Active[name].isBridge()
}

var errNoInterface = errors.New("interface does not exist")

// listNetwork handles GET /nodes/{node}/network (pve-manager API2/Network.pm, index). It leaves out bridges that the caller
// may neither use nor audit.
func (s *Service) listNetwork(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	changes, err := s.networks[c.Node].changes()
	if err != nil {
		return nil, err
	}

	c.Changes = changes

	filter := c.Params.Get("type")
	list := []shownInterface{}
	interfaces := s.networks[c.Node].current()

	for at, name := range slices.Sorted(maps.Keys(interfaces)) {
		i := interfaces[name]
		anyBridge := filter == "any_bridge" || filter == "any_local_bridge"

		switch {
		case filter != "" && filter != i["type"] && (!anyBridge || !i.isBridge()):
		case i.isBridge() && !s.seesBridge(c.Identity, name):
		default:
			list = append(list, i.show(at+3))
		}
	}

	return list, nil
}

func (s *Service) seesBridge(identity, name string) bool {
	path := "/sdn/zones/localnetwork/" + name

	return identity == access.Root || s.permissions.Check(identity, path, true, "SDN.Audit", "SDN.Use") == nil
}

// getInterface handles GET /nodes/{node}/network/{iface}.
func (s *Service) getInterface(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	i, ok := s.networks[c.Node].current()[c.Params.Get("iface")]
	if !ok {
		return nil, schema.BadParam("iface", "%s", errNoInterface)
	}

	return i.show(0), nil
}

// createInterface handles POST /nodes/{node}/network. The interface becomes active after a reload.
func (s *Service) createInterface(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	n := s.networks[c.Node]
	name := c.Params.Get("iface")

	if _, ok := n.current()[name]; ok {
		return nil, schema.BadParam("iface", "interface already exists")
	}

	i := iface{"method": "manual", "method6": "manual"}
	if err := n.fill(i, name, c.Params); err != nil {
		return nil, err
	}

	return nil, s.write(n, name, i)
}

// updateInterface handles PUT /nodes/{node}/network/{iface}.
func (s *Service) updateInterface(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	n := s.networks[c.Node]
	name := c.Params.Get("iface")

	if _, ok := n.current()[name]; !ok {
		return nil, schema.BadParam("iface", "%s", errNoInterface)
	}

	i := maps.Clone(n.current()[name])

	for _, key := range c.Params.List("delete") {
		delete(i, key)

		if suffix, ok := strings.CutPrefix(key, "cidr"); ok {
			delete(i, "address"+suffix)
			delete(i, "netmask"+suffix)
			i["method"+suffix] = "manual"
		}
	}

	if err := n.fill(i, name, c.Params.Without("delete")); err != nil {
		return nil, err
	}

	return nil, s.write(n, name, i)
}

// fill writes the parameters into an interface.
func (n *network) fill(i iface, name string, params schema.Params) error {
	if err := n.checkParams(name, params); err != nil {
		return err
	}

	for _, key := range params.Without("node").Names() {
		if suffix, ok := strings.CutPrefix(key, "cidr"); ok {
			i.setCIDR(suffix, params.Get(key))
			continue
		}

		i[key] = params.Get(key)
	}

	if i["type"] == "vlan" {
		return i.setVLAN(name)
	}

	return nil
}

// deleteInterface handles DELETE /nodes/{node}/network/{iface}.
func (s *Service) deleteInterface(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	n := s.networks[c.Node]
	name := c.Params.Get("iface")

	if _, ok := n.current()[name]; !ok {
		return nil, schema.BadParam("iface", "%s", errNoInterface)
	}

	return nil, s.write(n, name, nil)
}

// write stages an interface; nil deletes it. A refused change leaves the staged interfaces as they were.
func (s *Service) write(n *network, name string, i iface) error {
	interfaces := maps.Clone(n.current())
	if i == nil {
		delete(interfaces, name)
	} else {
		interfaces[name] = i
	}

	if err := checkFile(interfaces); err != nil {
		return err
	}

	n.Staged = interfaces
	s.env.Changed()

	return nil
}

// revertNetwork handles DELETE /nodes/{node}/network. It discards staged changes.
func (s *Service) revertNetwork(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.networks[c.Node].Staged = nil
	s.env.Changed()

	return nil, nil
}

// reloadNetwork handles PUT /nodes/{node}/network. It activates the staged interfaces.
func (s *Service) reloadNetwork(c *api.Call) (any, error) {
	if host, _ := s.env.Nodes.Host(c.Node); host.Setup.NoIfupdown2 {
		return nil, errors.New("you need ifupdown2 to reload network configuration")
	}

	return s.env.Tasks.Fork(c.Node, "srvreload", "networking", c.Identity, 0, func(w *task.Worker) error {
		release, err := s.env.Locks.Exclusive(w.Ctx, c.Node+"/run/network/.lock", s.env.Pace.Timeout(pace.ConfigLockTimeout))
		if err != nil {
			return fmt.Errorf("command 'ifreload -a' failed: exit code 89")
		}
		defer release()

		// The file is replaced before any interface is touched (API2/Network.pm, reload_network_config).
		s.activate(c.Node)

		if err := s.env.Faults.Step(w.Ctx, w.Info, task.StepReload); err != nil {
			return err
		}

		return s.env.Wait(w.Ctx, pace.NetworkReload)
	})
}

// activate activates the staged interfaces of a node.
func (s *Service) activate(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if n := s.networks[node]; n.Staged != nil {
		n.Active, n.Staged = n.Staged, nil
		s.env.Changed()
	}
}

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	const base = "/nodes/{node}/network"

	return []api.Method{
		api.Get(base, s.listNetwork),
		api.Post(base, s.createInterface),
		api.Put(base, s.reloadNetwork),
		api.Delete(base, s.revertNetwork),
		api.Get(base+"/{iface}", s.getInterface),
		api.Put(base+"/{iface}", s.updateInterface),
		api.Delete(base+"/{iface}", s.deleteInterface),
	}
}
