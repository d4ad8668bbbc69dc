package proxmox

import (
	"cmp"
	"fmt"
	"slices"

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

// listResources answers GET /cluster/resources. What the caller may not audit is not there.
func (s *Server) listResources(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	wanted := func(kind string) bool { return !c.params.Has("type") || c.params.Get("type") == kind }
	list := []resource{}

	if wanted("pool") {
		list = append(list, s.poolResources(c.identity)...)
	}

	if wanted("vm") {
		for _, m := range s.state.sorted() {
			if s.mayAudit(c.identity, m) {
				list = append(list, s.vmResource(c.identity, m))
			}
		}
	}

	if wanted("node") {
		for _, host := range s.hosts() {
			list = append(list, s.nodeResource(c.identity, host))
		}
	}

	if wanted("storage") {
		list = append(list, s.storageResources(c.identity)...)
	}

	if wanted("sdn") {
		list = append(list, s.sdnResources(c.identity)...)
	}

	return list, nil
}

func (s *Server) poolResources(identity string) []resource {
	var list []resource

	for _, name := range sortedNames(s.state.Access.Pools) {
		if s.state.Access.Allowed(identity, "/pool/"+name, "Pool.Audit") {
			list = append(list, resource{ID: "/pool/" + name, Type: "pool", Pool: name})
		}
	}

	return list
}

// sdnResources are the zone that every node has without any SDN being set up.
func (s *Server) sdnResources(identity string) []resource {
	if !s.state.Access.Allowed(identity, "/sdn/zones/localnetwork", "SDN.Audit") {
		return nil
	}

	var list []resource

	for _, host := range s.hosts() {
		list = append(list, resource{
			ID: "sdn/" + host.Name + "/localnetwork", Type: "sdn", Node: host.Name, SDN: "localnetwork", Status: "ok",
		})
	}

	return list
}

func (s *Server) vmResource(identity string, m *vm) resource {
	st := s.statusOf(m)
	r := resource{
		ID: fmt.Sprintf("qemu/%d", m.ID), Type: "qemu", Node: m.Node, VMID: m.ID, Name: m.Config.Get("name"),
		Status: st.Status, Tags: st.Tags, Lock: st.Lock, Template: &st.Template, Uptime: &st.Uptime, CPU: &st.CPU,
		MaxCPU: &st.CPUs, Mem: &st.Mem, MaxMem: &st.MaxMem, Disk: &st.Disk, MaxDisk: &st.MaxDisk,
	}

	if h, ok := s.state.HA[m.ID]; ok {
		r.HAState = cmp.Or(h.Service, h.Values["state"])
	}

	if pool := s.state.Access.PoolOf(m.ID); pool != "" && s.state.Access.Allowed(identity, "/pool/"+pool, "Pool.Audit") {
		r.Pool = pool
	}

	return r
}

func (s *Server) nodeResource(identity string, host Host) resource {
	n := s.nodeEntry(identity, host)

	return resource{
		ID: n.ID, Type: n.Type, Node: n.Node, Status: n.Status, Level: n.Level, Uptime: n.Uptime, CPU: n.CPU,
		MaxCPU: n.MaxCPU, Mem: n.Mem, MaxMem: n.MaxMem, Disk: n.Disk, MaxDisk: n.MaxDisk,
	}
}

func (s *Server) storageResources(identity string) []resource {
	var list []resource

	for _, id := range sortedNames(s.state.Storages) {
		if !s.state.Access.Allowed(identity, "/storage/"+id, "Datastore.Audit") {
			continue
		}

		st := s.state.Storages[id]
		shared := flag(st.Shared)

		for _, host := range s.hosts() {
			room, err := st.Room(host.Name)
			if err != nil {
				continue
			}

			list = append(list, resource{
				ID: "storage/" + host.Name + "/" + id, Type: "storage", Node: host.Name, Storage: id,
				PluginType: string(st.Type), Content: st.ContentList(), Shared: &shared, Status: "available",
				Disk: &room.Used, MaxDisk: &room.Total,
			})
		}
	}

	return list
}

// flag is a Perl boolean.
func flag(on bool) int {
	if on {
		return 1
	}

	return 0
}

// nextID answers GET /cluster/nextid.
func (s *Server) nextID(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if c.params.Has("vmid") {
		vmid := c.params.Int("vmid", 0)
		if _, taken := s.state.VMs[vmid]; taken {
			return nil, schema.BadParam("vmid", "VM %d already exists", vmid)
		}

		return c.params.Get("vmid"), nil
	}

	const lower, upper = 100, 1000 * 1000

	for vmid := lower; vmid < upper; vmid++ {
		if _, taken := s.state.VMs[vmid]; !taken {
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

// clusterStatus answers GET /cluster/status. A single host is in no cluster.
func (s *Server) clusterStatus(*call) (any, error) {
	list := []clusterMember{}

	if len(s.hosts()) > 1 {
		list = append(list, clusterMember{
			ID: "cluster", Type: "cluster", Name: "lab", Nodes: len(s.hosts()), Quorate: new(1),
			Version: len(s.hosts()),
		})
	}

	for i, host := range s.hosts() {
		list = append(list, clusterMember{
			ID: "node/" + host.Name, Type: "node", Name: host.Name, NodeID: i + 1, Online: new(1), Local: new(flag(i == 0)),
		})
	}

	return list, nil
}

// clusterTasks answers GET /cluster/tasks: the latest tasks that the caller may see.
func (s *Server) clusterTasks(c *call) (any, error) {
	const most = 25

	shown := []shownTask{}

	for _, t := range s.tasks.All() {
		if s.maySee(c.identity, t, "Sys.Audit") == nil {
			shown = append(shown, showTask(t, true))
		}
	}

	return slices.Clip(shown[:min(most, len(shown))]), nil
}
