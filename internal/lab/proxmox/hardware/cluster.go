package hardware

import "sync/atomic"

// Cluster has the current hosts, at least one. It is safe for concurrent use.
type Cluster struct {
	hosts atomic.Pointer[[]Host]
}

// NewCluster returns a cluster of these hosts.
func NewCluster(hosts []Host) *Cluster {
	c := &Cluster{}
	c.Replace(hosts)

	return c
}

// Replace replaces the hosts.
func (c *Cluster) Replace(hosts []Host) { c.hosts.Store(&hosts) }

// Hosts returns all hosts in the order of their description.
func (c *Cluster) Hosts() []Host { return *c.hosts.Load() }

// Host returns the host of a name.
func (c *Cluster) Host(name string) (Host, bool) { return named(c.Hosts(), name) }

// Has reports whether there is a host of that name.
func (c *Cluster) Has(name string) bool {
	_, ok := c.Host(name)
	return ok
}

// Names returns the names of the hosts.
func (c *Cluster) Names() []string {
	hosts := c.Hosts()

	names := make([]string, len(hosts))
	for i, host := range hosts {
		names[i] = host.Name
	}

	return names
}

// First returns the name of the host that handles requests without a node.
func (c *Cluster) First() string { return c.Hosts()[0].Name }
