package inventory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// The two files of an inventory and their headers.
const (
	ClusterFile = "cluster.yaml"
	NodesFile   = "nodes.yaml"
	APIVersion  = "em-infra/v1alpha1"
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
// problem, or the reason why a file cannot be read.
func Load(dir string) (*Inventory, error) {
	cluster, err := readFile(filepath.Join(dir, ClusterFile))
	if err != nil {
		return nil, err
	}
	nodes, err := readFile(filepath.Join(dir, NodesFile))
	if err != nil {
		return nil, err
	}
	return parse(dir, cluster, nodes, (*checker).rules)
}

// LoadWritten returns the inventory that em-infra itself wrote into a folder, as in the artifacts of a run. The rules between keys are not
// checked: another release may have others, and they forbid the addresses of a rehearsal.
func LoadWritten(dir string) (*Inventory, error) {
	cluster, err := readFile(filepath.Join(dir, ClusterFile))
	if err != nil {
		return nil, err
	}
	nodes, err := readFile(filepath.Join(dir, NodesFile))
	if err != nil {
		return nil, err
	}
	return parse(dir, cluster, nodes, func(*checker) {})
}

// Parse does the same as [Load] with files in memory; dir is only the name of the folder in messages.
func Parse(dir string, cluster, nodes []byte) (*Inventory, error) {
	return parse(dir, file{name: filepath.Join(dir, ClusterFile), data: cluster}, file{name: filepath.Join(dir, NodesFile), data: nodes}, (*checker).rules)
}

// file is one file of an inventory. A missing file has only a name.
type file struct {
	name    string
	missing bool
	data    []byte
}

// readFile reads at most one byte more than is accepted.
func readFile(name string) (file, error) {
	opened, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file{name: name, missing: true}, nil
	case err != nil:
		return file{}, fmt.Errorf("read inventory: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(opened, strictyaml.MaxBytes+1))
	if err := errors.Join(err, opened.Close()); err != nil {
		return file{}, fmt.Errorf("read inventory: %w", err)
	}
	return file{name: name, data: data}, nil
}

// parse builds an inventory from its two files: decode → default → validate.
func parse(dir string, clusterFile, nodesFile file, validate func(*checker)) (*Inventory, error) {
	inv := &Inventory{Dir: dir}
	var list NodeList
	check := &checker{inv: inv, clusterFile: clusterFile.name, nodesFile: nodesFile.name}
	var err error
	if inv.clusterSource, err = check.decode(clusterFile, KindCluster, &inv.Cluster); err != nil {
		return nil, err
	}
	if inv.nodesSource, err = check.decode(nodesFile, KindNodes, &list); err != nil {
		return nil, err
	}
	inv.Nodes = list.Nodes
	inv.complete()
	validate(check)
	if len(check.problems) > 0 {
		check.problems.sort()
		return nil, &check.problems
	}
	return inv, nil
}

// decode reads one file. A file with a wrong header gets only that problem: all others would follow from it.
func (c *checker) decode(f file, kind string, into any) (*strictyaml.Document, error) {
	if f.missing {
		c.add(f.name, strictyaml.Finding{Fault: strictyaml.Fault{
			What: "no such file",
			Do:   "create it, or name the folder that holds the inventory",
		}})
		return nil, nil
	}
	document, finding := strictyaml.Parse(f.data)
	if finding != nil {
		c.add(f.name, *finding)
		return nil, nil
	}
	if finding := headerFinding(document, kind); finding != nil {
		c.add(f.name, *finding)
		return nil, nil
	}
	findings, err := document.Decode(into)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", f.name, err)
	}
	for _, finding := range findings {
		c.add(f.name, finding)
	}
	return document, nil
}

// headerFinding returns the problem of the header of a file; Decode reports missing keys.
func headerFinding(document *strictyaml.Document, kind string) *strictyaml.Finding {
	for _, line := range []struct{ key, want string }{{"apiVersion", APIVersion}, {"kind", kind}} {
		got, given := document.Text(line.key)
		if !given || got == line.want {
			continue
		}
		finding := &strictyaml.Finding{Path: line.key, Fault: strictyaml.Fault{
			What: "is not what this file holds",
			Rule: "it is " + line.want, Got: got, Do: "write " + line.key + ": " + line.want,
		}}
		var root *strictyaml.Path
		finding.Line, finding.Column = document.Position(root.Key(line.key))
		return finding
	}
	return nil
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
