package preflight

import (
	"context"
	"time"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/passthrough"
)

// hosts starts reading the facts about each online host of the inventory.
func (g *gatherer) hosts(ctx context.Context) {
	for _, name := range hostNames(g.subject.Inventory) {
		if g.isOnline(name) {
			g.host(ctx, name)
			g.reachesFactory(ctx, name)
			if len(g.subject.Inventory.Nodes.OnHost(name).GPUWorkers()) > 0 {
				g.passthrough(ctx, name)
			}
		}
	}
}

// keep returns a function that changes what is known of a host.
func (g *gatherer) keep(name string) func(change func(*Host)) {
	return func(change func(*Host)) {
		host := g.found.Hosts[name]
		change(&host)
		g.found.Hosts[name] = host
	}
}

func (g *gatherer) host(ctx context.Context, name string) {
	keep, r := g.keep(name), g.reader
	read(g, func() (pve.Capacity, error) { return r.Capacity(ctx, name) },
		func(v Reading[pve.Capacity]) { keep(func(h *Host) { h.Capacity = v }) })
	read(g, func() (time.Duration, error) { return g.ahead(ctx, name) },
		func(v Reading[time.Duration]) { keep(func(h *Host) { h.Ahead = v }) })
	read(g, func() ([]pve.Storage, error) { return r.Storages(ctx, name) },
		func(v Reading[[]pve.Storage]) { keep(func(h *Host) { h.Storages = v }) })
	read(g, func() ([]pve.Bridge, error) { return r.Bridges(ctx, name) },
		func(v Reading[[]pve.Bridge]) { keep(func(h *Host) { h.Bridges = v }) })
	read(g, func() ([]pve.PCIDevice, error) { return r.PCIDevices(ctx, name) },
		func(v Reading[[]pve.PCIDevice]) { keep(func(h *Host) { h.Devices = v }) })
	read(g, func() ([]pve.Mapping, error) { return r.Mappings(ctx, name) },
		func(v Reading[[]pve.Mapping]) { keep(func(h *Host) { h.Mappings = v }) })
}

// passthrough starts reading what a host reports about passthrough.
func (g *gatherer) passthrough(ctx context.Context, name string) {
	read(g, func() (passthrough.Facts, error) { return g.subject.Host.Passthrough(ctx, name) },
		func(v Reading[passthrough.Facts]) { g.keep(name)(func(h *Host) { h.Passthrough = v }) })
}

// reachesFactory starts asking a host whether it reaches the Image Factory.
func (g *gatherer) reachesFactory(ctx context.Context, name string) {
	read(g, func() (struct{}, error) {
		return struct{}{}, g.reader.Reaches(ctx, name, g.subject.Factory.JoinPath("versions").String())
	}, func(v Reading[struct{}]) { g.keep(name)(func(h *Host) { h.FactoryErr = v.Err }) })
}

// ahead compares clocks: it assumes that the host answered in the middle of the request. A difference that the request's duration
// and the host's rounding to seconds can explain counts as 0.
func (g *gatherer) ahead(ctx context.Context, name string) (time.Duration, error) {
	before := time.Now()
	there, err := g.reader.Time(ctx, name)
	took := time.Since(before)
	ahead := there.Sub(before.Add(took / 2))
	if ahead.Abs() <= took/2+time.Second {
		return 0, err
	}
	return ahead.Round(time.Second), err
}
