package lab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Description is what a client of a lab needs to know. It is chosen when the lab is made and then kept, because the stack's
// state refers to it.
type Description struct {
	// Stack is the stack that is rehearsed, or another name of the lab.
	Stack string `json:"stack"`
	// Host is the Proxmox VE node that is emulated.
	Host string `json:"host"`
	// Network is the loopback network that the nodes' addresses are moved to.
	Network netip.Prefix `json:"network"`
	// Clusters are the networks of the clusters in a lab that several stacks share; empty otherwise.
	Clusters []ClusterNetwork `json:"clusters,omitempty"`
	// Proxmox is the address of the Proxmox VE API.
	Proxmox netip.AddrPort `json:"proxmox"`
	// Factory is the address of the Image Factory.
	Factory netip.AddrPort `json:"factory"`
	// NAS is the address of the API of TrueNAS. Invalid without one.
	NAS netip.AddrPort `json:"nas,omitzero"`
	// NASKey is the API key of TrueNAS. Empty without one.
	NASKey string `json:"nasKey,omitempty"`
	// Token is the API token, USER@REALM!NAME=SECRET, of the emulated host. It opens nothing else.
	Token string `json:"token"`
	// Password opens a session of root@pam on the emulated host, for clients that take no token. Labs that were made before
	// there were sessions have none.
	Password string `json:"password,omitempty"`
	// TimeScale multiplies the delays of a real host; 0 means none.
	TimeScale float64 `json:"timeScale"`
	// Release is the Proxmox VE release of the host. It cannot change, because the state is that release's.
	Release schema.Release `json:"release"`
	// Seed determines random choices: generated MAC addresses and UUIDs, and faults with a probability.
	Seed string `json:"seed"`
	// Kubernetes are the releases of Kubernetes that the lab can run since it was last started, the oldest first. Empty without
	// Kubernetes.
	Kubernetes []string `json:"kubernetes,omitempty"`
}

// Bears returns an error if the lab was made as another release than the given one, because an existing lab cannot change its release. An
// empty release is accepted.
func (d Description) Bears(release schema.Release) error {
	if release == "" || release == d.Release {
		return nil
	}
	return fmt.Errorf("the lab of %s was made as Proxmox VE %s and stays that: leave --pve out, or stop the lab and delete its folder to begin anew with %s", d.Stack, d.Release, release)
}

// Networks returns all networks of the nodes, at least one.
func (d Description) Networks() []netip.Prefix {
	if networks := d.ofClusters(); len(networks) > 0 {
		return networks
	}
	return []netip.Prefix{d.Network}
}

func (d Description) ofClusters() []netip.Prefix {
	var networks []netip.Prefix
	for _, cluster := range d.Clusters {
		networks = append(networks, cluster.Lab)
	}
	return networks
}

// NetworkOf returns the loopback network to which a cluster's own network is moved. A lab of one stack has the same one for every network. A
// shared lab has one for each network; for a cluster that was added or has moved since the lab was started, it returns an error until the
// next start.
func (d Description) NetworkOf(own netip.Prefix) (netip.Prefix, error) {
	if len(d.Clusters) == 0 {
		return d.Network, nil
	}
	at := slices.IndexFunc(d.Clusters, func(c ClusterNetwork) bool { return c.Own == own })
	if at < 0 {
		return netip.Prefix{}, fmt.Errorf("the lab was started before the network %s was in the inventory", own)
	}
	return d.Clusters[at].Lab, nil
}

// ProxmoxEndpoint returns the URL for em-infra:proxmoxEndpoint.
func (d Description) ProxmoxEndpoint() string { return "https://" + d.Proxmox.String() }

// FactoryURL returns the URL for em-infra:imageFactoryUrl.
func (d Description) FactoryURL() string { return "http://" + d.Factory.String() }

// ErrNoLab is returned for a folder in which no lab was made.
var ErrNoLab = errors.New("no lab was made")

// HostCalls returns the path of the Proxmox VE API's call log in a lab's folder, JSON lines.
func HostCalls(dir string) string { return filepath.Join(dir, "calls-proxmox.jsonl") }

// NodeCalls returns the path of the Talos APIs' call log in a lab's folder, JSON lines.
func NodeCalls(dir string) string { return filepath.Join(dir, "calls-talos.jsonl") }

func descriptionFile(dir string) string { return filepath.Join(dir, DescriptionName) }

// DescriptionName is the name of the file with the description, in the folder of a lab.
const DescriptionName = "lab.json"

// ReadDescription reads the description of the lab in a folder. The error is [ErrNoLab] when there is none.
func ReadDescription(dir string) (Description, error) {
	var d Description
	text, err := os.ReadFile(descriptionFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return d, ErrNoLab
	}
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(text, &d); err != nil || !d.isWhole() {
		// The cause is left out, because it could quote the token.
		return Description{}, fmt.Errorf("%s is damaged: %s", descriptionFile(dir), beginAnew(dir))
	}
	// Older labs have no release and no seed.
	d.Release, d.Seed = cmp.Or(d.Release, schema.Release84), cmp.Or(d.Seed, d.Stack)
	return d, nil
}

func (d Description) isWhole() bool {
	return d.Stack != "" && d.Host != "" && d.Network.IsValid() && d.Proxmox.IsValid() && d.Factory.IsValid() && d.Token != ""
}

// write replaces the description atomically.
func (d Description) write(dir string) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(descriptionFile(dir), append(text, '\n'), 0o600)
}
