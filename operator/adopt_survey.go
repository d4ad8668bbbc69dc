package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/adoption"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// surveyor finds out what runs of a cluster whose state is lost. It changes nothing.
type surveyor struct {
	stack       string
	place       remedy.Place
	inventory   *inventory.Inventory
	host        pve.Connection
	talosconfig string // the file of an earlier up
	options     AdoptOptions
	now         func() time.Time
}

// survey finds the machine secrets, and asks host and nodes about each machine of the inventory. Its error lists every reason why the
// cluster cannot be adopted.
func (s surveyor) survey(ctx context.Context) (adoption.Survey, adoption.Secrets, error) {
	secrets, err := s.secrets(ctx)
	if err != nil {
		return adoption.Survey{}, secrets, err
	}
	talosconfig, err := s.talosconfigOf(secrets)
	if err != nil {
		return adoption.Survey{}, secrets, err
	}
	found := adoption.Survey{Inventory: s.inventory, Owner: secrets.Owner(s.stack)}
	if found.Nodes, err = s.nodes(ctx, talosconfig); err != nil {
		return found, secrets, refused(s.place.CompleteError(err))
	}
	if err := s.others(ctx, &found); err != nil {
		return found, secrets, refused(s.place.CompleteError(err))
	}
	refusals := found.Refusals()
	if s.options.Secrets != "" {
		refusals = append(found.DifferingSecrets(secrets, s.now()), refusals...)
	}
	if len(refusals) > 0 {
		return found, secrets, refused(s.place.CompleteError(fmt.Errorf("%s; nothing was touched", strings.Join(refusals, "\n"))))
	}
	return found, secrets, nil
}

// secrets returns the machine secrets of the cluster: those of the file, or else those of the first control plane that answers.
func (s surveyor) secrets(ctx context.Context) (adoption.Secrets, error) {
	if s.options.Secrets != "" {
		secrets, err := adoption.ReadSecrets(s.options.Secrets, s.now())
		return secrets, refused(err)
	}
	file := s.options.Talosconfig
	if file == "" {
		file = s.talosconfig
	}
	talosconfig, err := os.ReadFile(file) //nolint:gosec // the user's own
	if err != nil {
		return adoption.Secrets{}, refused(fmt.Errorf("no talosconfig opens a control plane (%w): name one with --talosconfig, or the machine secrets with --secrets", err))
	}
	health := status.Sources{Inventory: s.inventory, Talosconfig: talosconfig}.Health()
	var failures []string
	for _, node := range s.inventory.Nodes.ControlPlanes() {
		seen, err := health.Observe(ctx, node.Address.String())
		if err == nil {
			var secrets adoption.Secrets
			if secrets, err = adoption.SecretsIn(seen.Configuration, s.now()); err == nil {
				return secrets, nil
			}
		}
		if errors.Is(err, nodeops.ErrTalosconfig) {
			return adoption.Secrets{}, refused(fmt.Errorf("%s: %w", workspace.Nearby(file), err))
		}
		failures = append(failures, fmt.Sprintf("%s: %v", node.Name, err))
	}
	return adoption.Secrets{}, refused(fmt.Errorf("no control plane gives the machine secrets: start one, name a talosconfig that opens it with --talosconfig, or give them with --secrets\n%s", strings.Join(failures, "\n")))
}

// talosconfigOf returns a talosconfig for the inventory's nodes, signed by the cluster's own authority.
func (s surveyor) talosconfigOf(secrets adoption.Secrets) ([]byte, error) {
	var endpoints []string
	for _, node := range s.inventory.Nodes.ControlPlanes() {
		endpoints = append(endpoints, node.Address.String())
	}
	return secrets.Talosconfig(s.inventory.Cluster.Name, endpoints)
}

// nodes asks the host and each node concurrently.
func (s surveyor) nodes(ctx context.Context, talosconfig []byte) ([]adoption.Seen, error) {
	host, err := pve.NewHost(s.host)
	if err != nil {
		return nil, err
	}
	health := status.Sources{Inventory: s.inventory, Talosconfig: talosconfig}.Health()
	seen, errs := make([]adoption.Seen, len(s.inventory.Nodes)), make([]error, len(s.inventory.Nodes))
	var all sync.WaitGroup
	for i, node := range s.inventory.Nodes {
		seen[i].Node = node
		all.Go(func() {
			if seen[i].Machine, errs[i] = host.Look(ctx, node.VMID); errs[i] != nil {
				return
			}
			askNode(ctx, health, &seen[i])
		})
	}
	all.Wait()
	return seen, errors.Join(errs...)
}

// others finds the machines of the cluster whose VMIDs are not in the inventory.
func (s surveyor) others(ctx context.Context, found *adoption.Survey) error {
	host, err := pve.NewHost(s.host)
	if err != nil {
		return err
	}
	owned, err := host.Owned(ctx, found.Owner)
	if err != nil {
		return err
	}
	found.Others = slices.DeleteFunc(owned, func(guest pve.Guest) bool {
		return slices.ContainsFunc(s.inventory.Nodes, func(node inventory.Node) bool { return node.VMID == guest.VMID })
	})
	return nil
}

// askNode asks a node what it runs, and on which machine.
func askNode(ctx context.Context, health nodeops.Health, seen *adoption.Seen) {
	address := seen.Node.Address.String()
	observed, err := health.Observe(ctx, address)
	if err == nil {
		seen.Configuration, seen.Kubernetes = observed.Configuration, observed.Kubelet
		seen.Firmware, err = health.Firmware(ctx, address)
	}
	seen.Silent, seen.Foreign = err, errors.Is(err, nodeops.ErrForeign)
}
