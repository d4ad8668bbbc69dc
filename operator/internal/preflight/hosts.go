package preflight

import (
	"context"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// HostsSubject is the subject of the checks of a stack that configures hosts.
type HostsSubject struct {
	// Inventory describes how the hosts are configured.
	Inventory *hosts.Inventory
	// Networks are what the inventory wants of the networks of its hosts.
	Networks []hostspec.Network
	// Storages are the changes of storages.
	Storages []pve.StorageRun
	// Access is the change of the access control that the inventory asks for.
	Access pve.AccessRun
	// Tokens are the changes of tokens.
	Tokens []pve.HostTokenRun
	// Settings are the changes of what hosts always have, Options that of the options of the cluster, and Definitions are the changes of metric
	// servers and backup jobs.
	Settings    []pve.HostSettingsRun
	Options     pve.OptionsRun
	Definitions []pve.DefinitionRun
	// Allowed are interfaces that may be changed although the API is reached by them, as HOST/INTERFACE.
	Allowed []string
	// Host is the connection to Proxmox VE.
	Host pve.Connection
}

// Hosts gathers the facts about hosts that are to be configured, and checks them. Facts that cannot be read are failed checks; the error is
// the context's.
func Hosts(ctx context.Context, subject HostsSubject) (Report, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var s collector
	reader, err := pve.NewReader(subject.Host)
	if err != nil {
		s.unread("host", "Proxmox VE", err)
		return s.checks, nil
	}
	if s.hostsOnline(bounded, reader, subject.Inventory.Hosts(), "correct hosts in hosts.yaml, or join the host to the cluster") {
		s.pools(bounded, subject)
		s.networks(bounded, reader, subject)
		s.storages(bounded, subject)
		devices := s.mappedDevices(bounded, reader, subject.Inventory)
		s.access(bounded, subject)
		s.tokens(bounded, subject)
		s.settings(bounded, subject)
		s.mappedPassthrough(ctx, subject.Host, subject.Inventory, devices)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.checks, nil
}

// networks checks that the network of each host can be changed as the inventory wants it.
func (s *collector) networks(ctx context.Context, reader pve.Reader, subject HostsSubject) {
	for _, wanted := range subject.Networks {
		plan, err := pve.NetworkRun{Connection: subject.Host, Wanted: wanted, Allowed: subject.Allowed, Say: func(string) {}}.Foresee(ctx)
		switch {
		case err != nil:
			s.fail("network", "", "%v", err)
		case plan.IsEmpty():
			s.ok("network", "the network of %s has what the inventory wants", wanted.Node)
		case s.reloads(ctx, reader, wanted.Node):
			s.ok("network", "the network of %s can be changed: %s", wanted.Node, plan)
		}
	}
}

// reloads reports whether a host can reload its network. Proxmox VE stages changes without ifupdown2 and then refuses to reload them
// (pve-manager, PVE/API2/Network.pm). A host that was installed on Debian may lack the package.
func (s *collector) reloads(ctx context.Context, reader pve.Reader, host string) bool {
	switch has, err := reader.HasPackage(ctx, host, "ifupdown2"); {
	case err != nil:
		s.unread("network", "the packages of "+host, err)
		return false
	case !has:
		s.add(Check{
			Name: "network", Result: Fail, Sentence: fmt.Sprintf("%s has no ifupdown2, without which Proxmox VE does not reload a changed network", host),
			Remedy: byHand(host), Commands: []string{"apt update", "apt install ifupdown2"},
		})
		return false
	default:
		return true
	}
}

// storages checks that each storage can be defined as the inventory wants it.
func (s *collector) storages(ctx context.Context, subject HostsSubject) {
	for _, run := range subject.Storages {
		foreseen, err := run.Foresee(ctx)
		if err != nil {
			s.fail("storage", "", "%v", err)
			continue
		}
		s.ok("storage", "%s", foreseen)
	}
}

// access checks that the access control can be changed as the inventory wants it, without a privilege less for the token.
func (s *collector) access(ctx context.Context, subject HostsSubject) {
	if subject.Access.Wanted.IsEmpty() && len(subject.Access.Made) == 0 {
		return
	}
	changes, err := subject.Access.Foresee(ctx)
	switch {
	case err != nil:
		s.fail("access", "", "%v", err)
	case len(changes) == 0:
		s.ok("access", "roles, groups, users and permissions are as the inventory wants them")
	default:
		s.ok("access", "roles, groups, users and permissions can be changed: %s", strings.Join(changes, "; "))
	}
}

// tokens checks that each token can be made or changed.
func (s *collector) tokens(ctx context.Context, subject HostsSubject) {
	for _, run := range subject.Tokens {
		changes, err := run.Foresee(ctx)
		switch {
		case err != nil:
			s.fail("token", "", "%v", err)
		case len(changes) == 0:
			s.ok("token", "the token %s is as the inventory wants it", run.Wanted.ID)
		default:
			s.ok("token", "%s", strings.Join(changes, "; "))
		}
	}
}
