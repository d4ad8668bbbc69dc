package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Kind is what a stack brings up. It follows from the file in the folder of its inventory.
type Kind string

// The kinds of stacks.
const (
	// Platform is a cluster: cluster.yaml and nodes.yaml.
	Platform Kind = "platform"
	// Hosts is the configuration of hosts of Proxmox VE: hosts.yaml.
	Hosts Kind = "hosts"
	// Systems are virtual machines and containers that are no nodes of a cluster: systems.yaml.
	Systems Kind = "systems"
)

// The files of an inventory.
const (
	ClusterFile = "cluster.yaml"
	NodesFile   = "nodes.yaml"
	HostsFile   = "hosts.yaml"
	SystemsFile = "systems.yaml"
)

// kinds are the kinds with their files; the first file of each tells the kind.
var kinds = []struct {
	kind  Kind
	about string
	files []string
}{
	{Platform, "a cluster", []string{ClusterFile, NodesFile}},
	{Hosts, "hosts of Proxmox VE", []string{HostsFile}},
	{Systems, "virtual machines and containers", []string{SystemsFile}},
}

// Files returns the names of the files of a kind.
func (k Kind) Files() []string {
	for _, one := range kinds {
		if one.kind == k {
			return one.files
		}
	}
	return nil
}

// About returns what the inventory of a kind describes, in words: a cluster.
func (k Kind) About() string {
	for _, one := range kinds {
		if one.kind == k {
			return one.about
		}
	}
	return string(k)
}

// KindOf returns the kind of the inventory in a folder. A folder without a file of any kind is that of a platform, whose loader says what
// is missing. The error is a [Problems] for a folder with the files of two kinds.
func KindOf(dir string) (Kind, error) {
	var found []Kind
	var files []string
	for _, one := range kinds {
		for _, name := range one.files {
			_, err := os.Stat(filepath.Join(dir, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return "", fmt.Errorf("read inventory: %w", err)
			}
			found, files = append(found, one.kind), append(files, name)
			break
		}
	}
	switch len(found) {
	case 0:
		return Platform, nil
	case 1:
		return found[0], nil
	}
	var problems Problems
	problems.add(dir, finding("holds the inventories of two kinds", "a stack is of one kind, by the file in its folder: "+Choices(), strings.Join(files, " and "), "move one of them to the folder of another stack"))
	return "", &problems
}

// Choices returns the files by which kinds are told apart, in words.
func Choices() string {
	var each []string
	for _, one := range kinds {
		each = append(each, one.files[0]+" for "+one.about)
	}
	return strings.Join(each, ", ")
}
