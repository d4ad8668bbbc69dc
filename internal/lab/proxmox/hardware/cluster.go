package hardware

import "sync/atomic"

// Cluster is the hosts as they are described now, one at least. It is safe for concurrent use.
type Cluster struct {
	hosts atomic.Pointer[[]Host]
}

// NewCluster is a cluster of these hosts.
func NewCluster(hosts []Host) *Cluster {
	c := &Cluster{}
	c.Replace(hosts)

	return c
}

// Replace describes the hosts anew.
func (c *Cluster) Replace(hosts []Host) { c.hosts.Store(&hosts) }

// Hosts are all of them, in the order of their description.
func (c *Cluster) Hosts() []Host { return *c.hosts.Load() }

// Host returns the host of a name.
func (c *Cluster) Host(name string) (Host, bool) { return named(c.Hosts(), name) }

// Has reports whether there is a host of that name.
func (c *Cluster) Has(name string) bool {
	_, ok := c.Host(name)
	return ok
}

// Names of the hosts.
func (c *Cluster) Names() []string {
	hosts := c.Hosts()

	names := make([]string, len(hosts))
	for i, host := range hosts {
		names[i] = host.Name
	}

	return names
}

// First is the host that answers requests that name none.
func (c *Cluster) First() string { return c.Hosts()[0].Name }
