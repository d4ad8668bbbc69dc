package operator

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
)

// StackSummary is a stack of a project, as its files describe it.
type StackSummary struct {
	// Stack is its name.
	Stack string `json:"stack"`
	// Kind is what it brings up: platform, hosts or systems; empty if that is not known.
	Kind Kind `json:"kind,omitempty"`
	// Inventory is the folder of its inventory, relative to the project.
	Inventory string `json:"inventory"`
	// Cluster is the name of its cluster; empty for a stack of another kind, or if the inventory cannot be read.
	Cluster string `json:"cluster,omitempty"`
	// ControlPlanes is the number of its control planes, and Workers that of all other nodes.
	ControlPlanes int `json:"controlPlanes"`
	// Workers is the number of nodes that are no control planes.
	Workers int `json:"workers"`
	// Hosts are the names of the nodes of Proxmox VE that its machines are on, sorted.
	Hosts []string `json:"hosts"`
	// Endpoint is the URL of Proxmox VE in its stack file; empty without one.
	Endpoint string `json:"endpoint,omitempty"`
	// State is the URL of the backend of its state, without parameters.
	State string `json:"state"`
	// Problem is why its files cannot be used, in a sentence that ends with what to do; empty if they can.
	Problem string `json:"problem,omitempty"`
}

// Stacks returns the stacks of the project that a folder belongs to, sorted by their names. An empty folder is the current one. Only
// files are read. A stack whose files are wrong has a Problem.
func Stacks(folder string) ([]StackSummary, error) {
	root, err := projectRoot(folder)
	if err != nil {
		return nil, err
	}
	names, err := workspace.Stacks(root)
	if err != nil {
		return nil, err
	}
	found := []StackSummary{}
	for _, name := range names {
		found = append(found, summarize(root, name))
	}
	return found, nil
}

// projectRoot returns the folder of the project that a folder belongs to.
func projectRoot(folder string) (string, error) {
	here, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("current folder: %w", err)
	}
	root, err := workspace.FindRoot(here)
	return root, refused(err)
}

func summarize(root, stack string) StackSummary {
	found := StackSummary{Stack: stack, Hosts: []string{}}
	w, err := workspace.Real(root, stack, "")
	if err != nil {
		found.Problem = err.Error()
		return found
	}
	found.State, _, _ = strings.Cut(w.Backend, "?")
	found.Inventory = w.Inventory
	if relative, err := filepath.Rel(root, w.Inventory); err == nil {
		found.Inventory = filepath.ToSlash(relative)
	}
	if found.Endpoint, err = w.RealEndpoint(); err != nil {
		found.Problem = err.Error()
		return found
	}
	content, err := contentOf(w)
	if err != nil {
		found.Problem = fmt.Sprintf("its inventory is not valid: see `em-infra validate --stack %s`", stack)
		return found
	}
	found.Kind, found.Hosts = content.Kind(), content.Hosts()
	inv, isPlatform := content.(*inventory.Inventory)
	if !isPlatform {
		return found
	}
	found.Cluster = inv.Cluster.Name
	found.ControlPlanes, found.Workers = len(inv.Nodes.ControlPlanes()), len(inv.Nodes.Workers())
	return found
}
