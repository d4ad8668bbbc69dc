package preflight

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// atOnce is the maximum number of concurrent requests: pveproxy has three workers, and a few more requests may wait (pve-manager,
// PVE/Service/pveproxy.pm, max_workers).
const atOnce = 8

// gatherer reads facts concurrently.
type gatherer struct {
	subject Subject
	paths   []string // of the access control that the token's privileges are read for
	reader  pve.Reader
	group   errgroup.Group
	mu      sync.Mutex // guards found
	found   Snapshot
}

// Gather reads the facts for the rules. The snapshot contains the errors of reading.
func Gather(ctx context.Context, subject Subject) Snapshot {
	g := newGatherer(subject, paths(subject.Inventory))
	g.found.Factory = Factory{URL: subject.Factory.String(), Schematic: subject.Schematic, UnmadeImages: subject.UnmadeImages, Needed: extensions(subject.Inventory)}
	for _, vmid := range subject.Known {
		g.found.Knows[vmid] = true
	}
	join := g.nas(ctx)
	g.proxmox(ctx)
	join()
	return g.found
}

// proxmox reads the facts about the hosts, and about the factory as they reach it; nothing if the host does not answer.
func (g *gatherer) proxmox(ctx context.Context) {
	if !g.reach(ctx) {
		return
	}
	g.cluster(ctx)
	g.factory(ctx)
	g.wait()
	g.hosts(ctx)
	g.configs(ctx)
	g.wait()
	g.isos(ctx)
	g.wait()
}

func newGatherer(subject Subject, paths []string) *gatherer {
	g := &gatherer{subject: subject, paths: paths, found: Snapshot{
		Endpoint: subject.Host.Endpoint, Privileges: map[string]Reading[[]string]{}, Hosts: map[string]Host{},
		Configs: map[int]Reading[pve.GuestConfig]{}, ISOs: map[pve.ISO]Reading[bool]{}, FormerNames: subject.FormerNames, Makers: subject.Makers, Servers: subject.Servers, ServerAddresses: subject.ServerAddresses, SparesServers: subject.SparesServers, Owner: subject.Owner, Knows: map[int]bool{},
	}}
	g.group.SetLimit(atOnce)
	return g
}

// wait waits for all readings; a failed reading contains its error.
func (g *gatherer) wait() { _ = g.group.Wait() }

// reach reads the version, and reports whether the host answers.
func (g *gatherer) reach(ctx context.Context) bool {
	started := time.Now()
	g.found.Version.Value, g.found.Version.Err = g.subject.Host.Reach(ctx)
	g.found.Took = time.Since(started)
	if g.found.Version.Err != nil {
		return false
	}
	if token, err := role.ParseToken(g.subject.Host.Token); err == nil {
		g.found.Token = token.String()
	}
	g.reader, g.found.Version.Err = pve.NewReader(g.subject.Host)
	return g.found.Version.Err == nil
}

// cluster starts reading the facts about the whole cluster.
func (g *gatherer) cluster(ctx context.Context) {
	read(g, func() ([]pve.Node, error) { return g.reader.Nodes(ctx) }, func(nodes Reading[[]pve.Node]) { g.found.Nodes = nodes })
	read(g, func() ([]pve.Guest, error) { return g.reader.Guests(ctx) }, func(guests Reading[[]pve.Guest]) { g.found.Guests = guests })
	for _, path := range g.paths {
		read(g, func() ([]string, error) { return g.reader.Privileges(ctx, path) },
			func(privileges Reading[[]string]) { g.found.Privileges[path] = privileges })
	}
}

// read starts reading one fact and passes it to keep.
func read[T any](g *gatherer, ask func() (T, error), keep func(Reading[T])) {
	g.group.Go(func() error {
		value, err := ask()
		g.mu.Lock()
		defer g.mu.Unlock()
		keep(Reading[T]{value, err})
		return nil
	})
}

// configs starts reading the configuration of every guest on a host that is online: any guest may use an address.
func (g *gatherer) configs(ctx context.Context) {
	for _, guest := range g.found.Guests.Value {
		if g.isOnline(guest.Node) {
			read(g, func() (pve.GuestConfig, error) { return g.reader.GuestConfig(ctx, guest) },
				func(config Reading[pve.GuestConfig]) { g.found.Configs[guest.VMID] = config })
		}
	}
}
