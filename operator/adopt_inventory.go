package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/discovery"
)

// DescribeOptions are the options of [Operator.Describe].
type DescribeOptions struct {
	// Talosconfig is the file that opens a control plane of the cluster. Default: empty, that of an earlier up.
	Talosconfig string
	// TerraformState is a file with the state of Terraform that made the machines, as a hint. Default: empty, none.
	TerraformState string
}

// Described is the result of [Operator.Describe].
type Described struct {
	// Files are the paths of the files that were written.
	Files []string
	// Nodes are the names of the nodes that were found.
	Nodes []string
	// Notes are sentences about what an inventory cannot say, what was guessed, and what in it is not valid yet.
	Notes []string
}

// Describe writes the inventory of a running cluster, no matter what made it, from what its nodes and their machines on the host report.
// It changes neither nodes nor machines, and overwrites no file.
func (o *Operator) Describe(ctx context.Context, options DescribeOptions) (*Described, error) {
	if err := (discovery.Folder{Dir: o.workspace.Inventory}).Check(); err != nil {
		return nil, refused(err)
	}
	host, err := o.hostWithoutInventory(ctx)
	if err != nil {
		return nil, refused(err)
	}
	if _, err := host.Reach(ctx); err != nil {
		return nil, refused(o.remedies().CompleteError(err))
	}
	found, err := o.discover(ctx, host, options)
	if err != nil {
		return nil, refused(o.remedies().CompleteError(err))
	}
	files, err := found.Describe()
	if err != nil {
		return nil, refused(err)
	}
	return o.writeInventory(found, files)
}

// hostWithoutInventory returns the connection to the host in the stack's file, or that to the lab.
func (o *Operator) hostWithoutInventory(ctx context.Context) (pve.Connection, error) {
	if o.workspace.Rehearsed {
		host, err := o.options.Lab.Running(o.site())
		return pve.Connection{Endpoint: host.Endpoint, Token: host.Token, Insecure: true}, err
	}
	if err := o.checkSecrets(ctx); err != nil {
		return pve.Connection{}, err
	}
	provider, err := o.workspace.SecretsProvider()
	if err != nil {
		return pve.Connection{}, err
	}
	state := engine.State{
		Dir: o.workspace.Dir, Project: workspace.Project, Stack: o.workspace.Stack, Passphrase: engine.PassphraseIn(o.workspace.Environment()),
	}
	config, isRead := state.Config()
	if !isRead && !engine.SealsByPassphrase(provider) {
		return pve.Connection{}, fmt.Errorf("%s is sealed by %s, which the engine asks for a state alone, and there is none yet: seal it with a passphrase until the cluster is adopted, then choose that service",
			workspace.Nearby(o.workspace.StackFile()), provider)
	}
	if !isRead {
		return pve.Connection{}, fmt.Errorf("%s cannot be read with this passphrase: set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the passphrase of the stack", workspace.Nearby(o.workspace.StackFile()))
	}
	return o.connection(ctx, config)
}

// discover asks the nodes and the host.
func (o *Operator) discover(ctx context.Context, host pve.Connection, options DescribeOptions) (discovery.Cluster, error) {
	var found discovery.Cluster
	file := options.Talosconfig
	if file == "" {
		file = o.credentials().talosconfig()
	}
	talosconfig, err := os.ReadFile(file) //nolint:gosec // the user's own
	if err != nil {
		return found, fmt.Errorf("no talosconfig opens a control plane (%w): name one with --talosconfig", err)
	}
	if options.TerraformState != "" {
		text, err := os.ReadFile(options.TerraformState)
		if err != nil {
			return found, fmt.Errorf("the state of Terraform cannot be read (%w): give the file terraform.tfstate", err)
		}
		if found.Terraform, err = discovery.ReadTerraform(text); err != nil {
			return found, fmt.Errorf("%s: %w", options.TerraformState, err)
		}
	}
	if found.Nodes, err = profiles(ctx, talosconfig); err != nil {
		return found, err
	}
	err = findMachines(ctx, host, &found)
	return found, err
}

// profiles asks each node that a control plane of the talosconfig knows of, concurrently.
func profiles(ctx context.Context, talosconfig []byte) ([]discovery.Node, error) {
	health := nodeops.Health{Talosconfig: talosconfig}
	peers, err := peersOf(ctx, health)
	if err != nil {
		return nil, err
	}
	nodes, errs := make([]discovery.Node, len(peers)), make([]error, len(peers))
	var all sync.WaitGroup
	for i, peer := range peers {
		nodes[i].ControlPlane = peer.ControlPlane
		all.Go(func() {
			nodes[i].Profile, errs[i] = discovery.ProfileOf(peer, func(address netip.Addr) (nodeops.Profile, error) { return health.Profile(ctx, address) })
		})
	}
	all.Wait()
	return nodes, errors.Join(errs...)
}

// peersOf returns the nodes that the first control plane that answers knows of.
func peersOf(ctx context.Context, health nodeops.Health) ([]nodeops.Peer, error) {
	endpoints, err := nodeops.Endpoints(health.Talosconfig)
	if err != nil {
		return nil, err
	}
	var failures []string
	for _, endpoint := range endpoints {
		peers, err := health.Peers(ctx, endpoint)
		switch {
		case err != nil:
			failures = append(failures, fmt.Sprintf("%s: %v", endpoint, err))
		case len(peers) == 0:
			failures = append(failures, endpoint+": Talos' discovery is off, so it knows of no other node")
		default:
			return peers, nil
		}
	}
	return nil, fmt.Errorf("no endpoint of the talosconfig tells which nodes there are: name a talosconfig with the address of a control plane that runs, or write the inventory by hand\n%s", strings.Join(failures, "\n"))
}

// writeInventory writes the two files, neither of which exists.
func (o *Operator) writeInventory(found discovery.Cluster, files discovery.Files) (*Described, error) {
	described := &Described{Notes: files.Notes}
	for _, node := range found.Nodes {
		described.Nodes = append(described.Nodes, node.Name)
	}
	if o.workspace.Rehearsed {
		files.Cluster, files.Nodes = offLoopback(found, files.Cluster), offLoopback(found, files.Nodes)
	}
	if _, err := inventory.Parse(workspace.Nearby(o.workspace.Inventory), files.Cluster, files.Nodes); err != nil {
		described.Notes = slices.Insert(described.Notes, 0, strings.Split(err.Error(), "\n")...)
	}
	written, err := discovery.Folder{Dir: o.workspace.Inventory}.Write(files)
	described.Files = written
	return described, refused(err)
}

// offLoopback moves the addresses of a lab's nodes, which are loopback addresses, to a network that an inventory can have; a
// rehearsal moves them back.
func offLoopback(found discovery.Cluster, text []byte) []byte {
	network := found.Nodes[0].Address.Masked()
	octets := network.Addr().As4()
	if !network.Addr().IsLoopback() || network.Bits() != 24 {
		return text
	}
	stem := func(a, b byte) []byte {
		return []byte(strings.TrimSuffix(netip.AddrFrom4([4]byte{a, b, octets[2], 0}).String(), "0"))
	}
	return bytes.ReplaceAll(text, stem(octets[0], octets[1]), stem(192, 168))
}
