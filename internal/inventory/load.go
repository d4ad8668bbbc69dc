package inventory

import (
	"errors"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// The two files of an inventory and their headers.
const (
	ClusterFile = manifest.ClusterFile
	NodesFile   = manifest.NodesFile
	APIVersion  = manifest.APIVersion
	KindCluster = "Cluster"
	KindNodes   = "Nodes"
)

// Names beside the inventory that other packages use.
const (
	// SecretsFile holds the secrets of addons, encrypted with SOPS.
	SecretsFile = "secrets.sops.yaml"
	// AgeKeyFileVariable names the file with the age key, as it does for sops (age/keysource.go of sops).
	AgeKeyFileVariable = "SOPS_AGE_KEY_FILE"
)

// Load reads the inventory in a folder, completes it with its defaults and checks it. The error is a [*Problems] with every
// problem, or the reason why a file cannot be read; an [*OtherKindError] if the folder has the inventory of another kind of stack.
func Load(dir string) (*Inventory, error) {
	if err := checkKind(dir); err != nil {
		return nil, err
	}
	cluster, err := manifest.ReadFile(filepath.Join(dir, ClusterFile))
	if err != nil {
		return nil, err
	}
	nodes, err := manifest.ReadFile(filepath.Join(dir, NodesFile))
	if err != nil {
		return nil, err
	}
	return parse(dir, cluster, nodes, (*checker).rules)
}

// LoadWritten returns the inventory that em-infra itself wrote into a folder, as in the artifacts of a run. The rules between keys are not
// checked: another release may have others, and they forbid the addresses of a rehearsal.
func LoadWritten(dir string) (*Inventory, error) {
	cluster, err := manifest.ReadFile(filepath.Join(dir, ClusterFile))
	if err != nil {
		return nil, err
	}
	nodes, err := manifest.ReadFile(filepath.Join(dir, NodesFile))
	if err != nil {
		return nil, err
	}
	return parse(dir, cluster, nodes, func(*checker) {})
}

// Parse does the same as [Load] with files in memory; dir is only the name of the folder in messages.
func Parse(dir string, cluster, nodes []byte) (*Inventory, error) {
	return parse(dir, manifest.File{Name: filepath.Join(dir, ClusterFile), Data: cluster}, manifest.File{Name: filepath.Join(dir, NodesFile), Data: nodes}, (*checker).rules)
}

// parse builds an inventory from its two files: decode → default → validate.
func parse(dir string, clusterFile, nodesFile manifest.File, validate func(*checker)) (*Inventory, error) {
	inv := &Inventory{Dir: dir}
	var list NodeList
	check := &checker{inv: inv, clusterFile: clusterFile.Name, nodesFile: nodesFile.Name}
	var err error
	if inv.clusterSource, err = check.Decode(clusterFile, KindCluster, &inv.Cluster); err != nil {
		return nil, err
	}
	if inv.nodesSource, err = check.Decode(nodesFile, KindNodes, &list); err != nil {
		return nil, err
	}
	inv.Nodes = list.Nodes
	inv.complete()
	validate(check)
	if err := check.Err(); err != nil {
		return nil, err
	}
	return inv, nil
}

// DefaultCluster returns the defaults of cluster.yaml that depend on no other key.
func DefaultCluster() (Cluster, error) {
	var cluster Cluster
	document, finding := strictyaml.Parse([]byte("apiVersion: " + APIVersion + "\nkind: " + KindCluster + "\n"))
	if finding != nil {
		return cluster, errors.New(finding.Fault.String())
	}
	_, err := document.Decode(&cluster) // its findings are the required keys
	return cluster, err
}
