package graph

import (
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// Site is what all stacks of a project place on hosts.
type Site struct {
	// Stacks are the stacks, the lowest layer first.
	Stacks []Stack
}

// Stack is a stack of a site.
type Stack struct {
	// Name is the stack's name.
	Name string
	// Endpoint is the URL of its Proxmox VE. Default: empty, it is not known, and hosts of the same name are the same.
	Endpoint string
	// Drawn is what the stack has: a [Cluster], [Systems] or [Hosts].
	Drawn Drawn
}

// server is a Proxmox VE with what all stacks have on its hosts.
type server struct {
	endpoint string // empty if it is not known
	parts    []part
}

// frames are the classes of the frames of clusters, which distinguish one cluster from the next.
var frames = []string{"violet", "rose", "olive", "cyan"}

func (s Site) scene() scene {
	drawn := scene{title: "Site", name: "Site"}
	classes := s.frames()
	hosts := 0
	for _, server := range s.servers(classes) {
		areas := areasOf(server.parts)
		hosts += len(areas)
		drawn.bands = append(drawn.bands, band{heading: server.heading(), areas: areas})
	}
	if areas := s.nas(classes); len(areas) > 0 {
		drawn.bands = append(drawn.bands, band{heading: "Storage", areas: areas})
	}
	drawn.about = manifest.Counted(len(s.Stacks), "stack") + " · " + manifest.Counted(hosts, "host")
	drawn.legend = s.legend(classes)
	return drawn
}

// frames returns the class of the frame of each stack's groups.
func (s Site) frames() []string {
	classes := make([]string, len(s.Stacks))
	clusters := 0
	for at, stack := range s.Stacks {
		classes[at] = "frame"
		if _, isCluster := stack.Drawn.(Cluster); isCluster {
			classes[at] = frames[clusters%len(frames)]
			clusters++
		}
	}
	return classes
}

func (s server) heading() string {
	if s.endpoint == "" {
		return "Proxmox VE"
	}
	return "Proxmox VE " + s.endpoint
}

// has reports whether a stack has something on a host of the server.
func (s server) has(host string) bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.host == host })
}

// servers returns what the stacks have by server, in the order of first mention. Parts of a stack without an endpoint belong to the first
// server with a host of that name.
func (s Site) servers(classes []string) []*server {
	var servers []*server
	all := s.parts(classes)
	for _, one := range all {
		if one.endpoint != "" {
			at := slices.IndexFunc(servers, func(other *server) bool { return other.endpoint == one.endpoint })
			servers = addTo(servers, at, one)
		}
	}
	for _, one := range all {
		if one.endpoint != "" {
			continue
		}
		at := slices.IndexFunc(servers, func(other *server) bool { return other.has(one.host) })
		if at < 0 {
			at = slices.IndexFunc(servers, func(other *server) bool { return other.endpoint == "" })
		}
		servers = addTo(servers, at, one)
	}
	for _, server := range servers {
		s.addElsewhere(server)
	}
	return servers
}

// addTo adds a part to a server, or to a new one if that is not found.
func addTo(servers []*server, at int, one sitePart) []*server {
	if at < 0 {
		at, servers = len(servers), append(servers, &server{endpoint: one.endpoint})
	}
	servers[at].parts = append(servers[at].parts, one.part)
	return servers
}

// sitePart is a part with the endpoint of its stack.
type sitePart struct {
	part

	endpoint string
}

func (s Site) parts(classes []string) []sitePart {
	var all []sitePart
	for at, stack := range s.Stacks {
		var parts []part
		switch drawn := stack.Drawn.(type) {
		case Cluster:
			parts = drawn.parts(stack.Name)
		case Systems:
			parts = drawn.parts(stack.Name)
		case Hosts:
			parts = drawn.parts(stack.Name)
		}
		for _, one := range parts {
			one.group.class = classes[at]
			all = append(all, sitePart{one, stack.Endpoint})
		}
	}
	return all
}

// addElsewhere adds the storages that a stack of hosts gives to all hosts of its Proxmox VE to those that it does not name.
func (s Site) addElsewhere(on *server) {
	var hosts []string
	for _, one := range on.parts {
		if !slices.Contains(hosts, one.host) {
			hosts = append(hosts, one.host)
		}
	}
	for _, stack := range s.Stacks {
		configured, isHosts := stack.Drawn.(Hosts)
		if !isHosts || stack.Endpoint == "" || stack.Endpoint != on.endpoint {
			continue
		}
		for _, host := range hosts {
			if !slices.ContainsFunc(configured.Hosts, func(h EquippedHost) bool { return h.Name == host }) {
				on.parts = append(on.parts, configured.elsewhere(host, stack.Name))
			}
		}
	}
}

// nas returns what clusters have on each NAS, in the order of first mention.
func (s Site) nas(classes []string) []area {
	var areas []area
	for at, stack := range s.Stacks {
		cluster, isCluster := stack.Drawn.(Cluster)
		if !isCluster || cluster.NAS == nil {
			continue
		}
		label := cluster.NAS.label()
		of := slices.IndexFunc(areas, func(a area) bool { return a.label == label })
		if of < 0 {
			of, areas = len(areas), append(areas, area{label: label, shelves: make([][]group, shelves)})
		}
		areas[of].shelves[shelfEquipment] = append(areas[of].shelves[shelfEquipment], cluster.NAS.group(cluster.label(stack.Name), classes[at]))
	}
	return areas
}

// legend returns the marks of what is in the picture: clusters, roles, kinds of systems, healths.
func (s Site) legend(classes []string) []mark {
	var clusters, kinds, healths []mark
	good, bad := "answers", "does not answer"
	for at, stack := range s.Stacks {
		switch drawn := stack.Drawn.(type) {
		case Cluster:
			clusters = append(clusters, mark{label: drawn.label(stack.Name), class: classes[at]})
		case Systems:
			kinds = systemMarks()
			if drawn.areAsked() {
				good, bad = "answers or runs", "does not answer or run"
				healths = healthMarks(good, bad)
			}
		}
	}
	if len(clusters) == 0 {
		return append(kinds, healths...)
	}
	return slices.Concat(clusters, roleMarks(), kinds, healthMarks(good, bad))
}
