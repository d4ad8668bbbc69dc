package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// kindFiles is a kind with what it describes and its files.
type kindFiles struct {
	kind  Kind
	about string
	files []string
}

// kinds are the kinds with their files, of which messages name the first.
var kinds = []kindFiles{
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

// KindOf returns the kind of the inventory in a folder. A folder without a file of any kind counts as that of a platform, whose loader reports what
// is missing. The error is a [Problems] for a folder with the files of two kinds.
func KindOf(dir string) (Kind, error) {
	var found []Kind
	var files []string
	for _, one := range kinds {
		file, err := one.kind.fileIn(dir)
		if err != nil {
			return "", fmt.Errorf("read inventory: %w", err)
		}
		if file != "" {
			found, files = append(found, one.kind), append(files, file)
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

// fileIn returns the first of the kind's files that is in a folder, "" if none is.
func (k Kind) fileIn(dir string) (string, error) {
	for _, name := range k.Files() {
		_, err := os.Stat(filepath.Join(dir, name))
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// IsInventory reports whether a folder holds a file of an inventory, of any kind. It does not read the file.
func IsInventory(dir string) bool {
	return slices.ContainsFunc(kinds, func(one kindFiles) bool {
		file, err := one.kind.fileIn(dir)
		return err == nil && file != ""
	})
}

// Choices returns the files that distinguish the kinds, in words.
func Choices() string {
	var each []string
	for _, one := range kinds {
		each = append(each, one.files[0]+" for "+one.about)
	}
	return strings.Join(each, ", ")
}
