package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/risk"
)

// switchOn starts the machines that are off where the provider would start one and reboot it at once, and waits until their
// Talos answers. It comes after the consent. That a machine does not start is said and no more: the change that follows may be
// what lets it start again.
func (s *session) switchOn(ctx context.Context, machines []risk.Off) error {
	if len(machines) == 0 {
		return nil
	}
	host, err := pve.NewHost(s.host)
	if err != nil {
		return refused(err)
	}
	exported, err := s.state.Export(ctx)
	if err != nil {
		return err
	}
	_, talosconfig, err := credentialsIn(exported.Deployment)
	if err != nil {
		return err
	}
	outcomes := make([]string, len(machines))
	var all sync.WaitGroup
	for i, machine := range machines {
		all.Go(func() {
			if err := host.SwitchOn(ctx, machine.VMID); err != nil {
				outcomes[i] = fmt.Sprintf("%s is off and does not start, so it is changed as it is: %v", machine.Name, err)
				return
			}
			outcomes[i] = machine.Name + " was off: it is switched on"
			if err := s.awaitBoot(ctx, talosconfig, machine.VMID); err != nil {
				outcomes[i] += "; " + err.Error()
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.report(outcomes)
	return nil
}

// awaitBoot waits until the Talos of a machine that was started answers, where the cluster has credentials to ask it with.
func (s *session) awaitBoot(ctx context.Context, talosconfig string, vmid int) error {
	if talosconfig == "" {
		return nil
	}
	health := nodeops.Health{Talosconfig: []byte(talosconfig)}
	for _, node := range s.inventory.Nodes {
		if node.VMID == vmid {
			return health.WaitUntilBooted(ctx, rolling.Node{Name: node.Name, Address: node.Address})
		}
	}
	return nil
}
