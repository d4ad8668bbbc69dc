package cluster

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/lxc"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// resource is one entry of the cluster's inventory (pve-manager API2/Cluster.pm, resources).
type resource struct {
	ID         string   `json:"id"`
	Type       string   `json:"type"`
	Node       string   `json:"node,omitempty"`
	Status     string   `json:"status,omitempty"`
	VMID       int      `json:"vmid,omitempty"`
	Name       string   `json:"name,omitempty"`
	Pool       string   `json:"pool,omitempty"`
	Tags       string   `json:"tags,omitempty"`
	Lock       string   `json:"lock,omitempty"`
	HAState    string   `json:"hastate,omitempty"`
	Template   *int     `json:"template,omitempty"`
	Storage    string   `json:"storage,omitempty"`
	PluginType string   `json:"plugintype,omitempty"`
	Content    string   `json:"content,omitempty"`
	Shared     *int     `json:"shared,omitempty"`
	SDN        string   `json:"sdn,omitempty"`
	Level      *string  `json:"level,omitempty"`
	Uptime     *int64   `json:"uptime,omitempty"`
	CPU        *float64 `json:"cpu,omitempty"`
	MaxCPU     *int     `json:"maxcpu,omitempty"`
	Mem        *uint64  `json:"mem,omitempty"`
	MaxMem     *uint64  `json:"maxmem,omitempty"`
	Disk       *uint64  `json:"disk,omitempty"`
	MaxDisk    *uint64  `json:"maxdisk,omitempty"`
}

// listResources handles GET /cluster/resources. It leaves out what the caller may not audit.
func (s *Service) listResources(c *api.Call) (any, error) {
	wanted := func(kind string) bool { return !c.Params.Has("type") || c.Params.Get("type") == kind }
	list := []resource{}

	if wanted("pool") {
		list = append(list, s.poolResources(c.Identity)...)
	}

	if wanted("vm") {
		list = append(list, s.guestResources(c.Identity)...)
	}

	if wanted("node") {
		for _, host := range s.env.Nodes.Hosts() {
			list = append(list, s.nodeResource(c.Identity, host))
		}
	}

	if wanted("storage") {
		list = append(list, s.storageResources(c.Identity)...)
	}

	if wanted("sdn") {
		list = append(list, s.sdnResources(c.Identity)...)
	}

	return list, nil
}

// guestResources returns the VMs and the containers.
func (s *Service) guestResources(identity string) []resource {
	var list []resource

	for _, vm := range s.parts.VMs.Statuses() {
		list = append(list, s.vmResource(identity, vm))
	}

	for _, ct := range s.parts.Containers.Statuses() {
		list = append(list, s.containerResource(identity, ct))
	}

	return slices.DeleteFunc(list, func(r resource) bool {
		return !s.parts.Users.Allowed(identity, fmt.Sprintf("/vms/%d", r.VMID), "VM.Audit")
	})
}

func (s *Service) poolResources(identity string) []resource {
	var list []resource

	for _, name := range s.parts.Users.PoolNames() {
		if s.parts.Users.Allowed(identity, "/pool/"+name, "Pool.Audit") {
			list = append(list, resource{ID: "/pool/" + name, Type: "pool", Pool: name})
		}
	}

	return list
}

// sdnResources returns the zone that every node has without SDN configuration.
func (s *Service) sdnResources(identity string) []resource {
	if !s.parts.Users.Allowed(identity, "/sdn/zones/localnetwork", "SDN.Audit") {
		return nil
	}

	var list []resource

	for _, host := range s.env.Nodes.Hosts() {
		list = append(list, resource{
			ID: "sdn/" + host.Name + "/localnetwork", Type: "sdn", Node: host.Name, SDN: "localnetwork", Status: "ok",
		})
	}

	return list
}

func (s *Service) vmResource(identity string, vm qemu.Status) resource {
	r := resource{
		ID: fmt.Sprintf("qemu/%d", vm.VMID), Type: "qemu", Node: vm.Node, VMID: vm.VMID, Name: vm.ConfiguredName,
		Status: vm.Status, Tags: vm.Tags, Lock: vm.Lock, Template: &vm.Template, Uptime: &vm.Uptime, CPU: &vm.CPU,
		MaxCPU: &vm.CPUs, Mem: &vm.Mem, MaxMem: &vm.MaxMem, Disk: &vm.Disk, MaxDisk: &vm.MaxDisk,
		HAState: s.parts.HA.State(vm.VMID),
	}

	return s.withPool(identity, r)
}

func (s *Service) containerResource(identity string, ct lxc.Status) resource {
	return s.withPool(identity, resource{
		ID: fmt.Sprintf("lxc/%d", ct.VMID), Type: "lxc", Node: ct.Node, VMID: ct.VMID, Name: ct.Name, Status: ct.Status, Tags: ct.Tags,
		Lock: ct.Lock, Template: &ct.Template, Uptime: &ct.Uptime, CPU: &ct.CPU, MaxCPU: &ct.CPUs, Mem: &ct.Mem, MaxMem: &ct.MaxMem,
		Disk: &ct.Disk, MaxDisk: &ct.MaxDisk,
	})
}

// withPool adds the pool of a guest, if the caller may see it.
func (s *Service) withPool(identity string, r resource) resource {
	if pool := s.parts.Users.PoolOf(r.VMID); pool != "" && s.parts.Users.Allowed(identity, "/pool/"+pool, "Pool.Audit") {
		r.Pool = pool
	}

	return r
}

func (s *Service) nodeResource(identity string, host hardware.Host) resource {
	n := s.parts.Nodes.Entry(identity, host)

	return resource{
		ID: n.ID, Type: n.Type, Node: n.Node, Status: n.Status, Level: n.Level, Uptime: n.Uptime, CPU: n.CPU,
		MaxCPU: n.MaxCPU, Mem: n.Mem, MaxMem: n.MaxMem, Disk: n.Disk, MaxDisk: n.MaxDisk,
	}
}

func (s *Service) storageResources(identity string) []resource {
	var list []resource

	for _, st := range s.parts.Storages.OnNodes() {
		if !s.parts.Users.Allowed(identity, "/storage/"+st.ID, "Datastore.Audit") {
			continue
		}

		list = append(list, resource{
			ID: "storage/" + st.Node + "/" + st.ID, Type: "storage", Node: st.Node, Storage: st.ID,
			PluginType: string(st.Type), Content: st.ContentList(), Shared: new(api.Flag(st.Shared)), Status: "available",
			Disk: new(st.Room.Used), MaxDisk: new(st.Room.Total),
		})
	}

	return list
}

// nextID handles GET /cluster/nextid.
func (s *Service) nextID(c *api.Call) (any, error) {
	if c.Params.Has("vmid") {
		vmid := c.Params.Int("vmid", 0)
		if _, taken := s.env.Guests.Find(vmid); taken {
			return nil, schema.BadParam("vmid", "VM %d already exists", vmid)
		}

		return c.Params.Get("vmid"), nil
	}

	s.mu.Lock()
	lower, upper, err := s.idRange(s.options)
	s.mu.Unlock()

	if err != nil {
		return nil, err
	}

	for vmid := lower; vmid < upper; vmid++ {
		if _, taken := s.env.Guests.Find(vmid); !taken {
			return fmt.Sprint(vmid), nil
		}
	}

	return nil, fmt.Errorf("unable to get any free VMID in range [%d, %d]", lower, upper)
}

// clusterMember is an entry of the cluster's status.
type clusterMember struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Name   string `json:"name"`
	NodeID int    `json:"nodeid"`
	IP     string `json:"ip,omitempty"`
	Online *int   `json:"online,omitempty"`
	Local  *int   `json:"local,omitempty"`
	Level  string `json:"level,omitempty"`

	Nodes   int  `json:"nodes,omitempty"`
	Quorate *int `json:"quorate,omitempty"`
	Version int  `json:"version,omitempty"`
}

// clusterStatus handles GET /cluster/status. A single host is not part of a cluster.
func (s *Service) clusterStatus(*api.Call) (any, error) {
	list := []clusterMember{}

	if len(s.env.Nodes.Hosts()) > 1 {
		list = append(list, clusterMember{
			ID: "cluster", Type: "cluster", Name: "lab", Nodes: len(s.env.Nodes.Hosts()), Quorate: new(1),
			Version: len(s.env.Nodes.Hosts()),
		})
	}

	for i, host := range s.env.Nodes.Hosts() {
		list = append(list, clusterMember{
			ID: "node/" + host.Name, Type: "node", Name: host.Name, NodeID: i + 1, Online: new(1), Local: new(api.Flag(i == 0)),
		})
	}

	return list, nil
}
