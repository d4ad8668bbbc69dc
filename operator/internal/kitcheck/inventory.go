package kitcheck

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// inventory checks the inventory in the kit, and compares it with that of the stack.
func (c *checks) inventory() {
	files := c.In(recoverykit.InventoryFolder)
	inv, err := inventory.Parse(recoverykit.InventoryFolder, files[inventory.ClusterFile], files[inventory.NodesFile])
	if err != nil {
		c.add("inventory", preflight.Fail, "the inventory is not valid: "+firstLine(err), newKit)
		return
	}
	c.add("inventory", preflight.OK, fmt.Sprintf("the inventory is valid and has %d nodes", len(inv.Nodes)), "")
	if _, err := os.Stat(filepath.Join(c.Inventory, inventory.ClusterFile)); errors.Is(err, fs.ErrNotExist) {
		c.add("inventory", preflight.Warn, "not compared with the inventory of the stack, which is not here", "")
		return
	}
	here, err := inventory.Load(c.Inventory)
	if err != nil {
		c.add("inventory", preflight.Warn, "not compared with the inventory of the stack, which is not valid", "`em-infra validate` says what is wrong")
		return
	}
	differ, err := differing(files, c.Inventory)
	if err != nil {
		c.add("inventory", preflight.Warn, "not compared with all files of the inventory of the stack: "+firstLine(err), "see that they can be read")
	}
	c.againstInventory(inv.Nodes, here.Nodes, differ)
}

// againstInventory compares the machines: the state in the kit does not have those that were added later. Any other difference is only lost in a
// rebuild.
func (c *checks) againstInventory(kit, here inventory.Nodes, files []string) {
	later, gone := without(here, kit), without(kit, here)
	switch {
	case len(later) > 0:
		c.add("inventory", preflight.Fail, "the kit has no "+strings.Join(later, ", ")+", which the inventory of the stack has", newKit)
	case len(gone) > 0:
		c.add("inventory", preflight.Fail, "the kit has "+strings.Join(gone, ", ")+", which the inventory of the stack has no more", newKit)
	case len(files) > 0:
		c.add("inventory", preflight.Warn, "the inventory of the stack was changed since, in "+strings.Join(files, ", "), newKit)
	default:
		c.add("inventory", preflight.OK, "it is the inventory of the stack", "")
	}
}

// without returns the names and machines of those nodes that others does not have, in file order.
func without(nodes, others inventory.Nodes) []string {
	var missing []string
	for _, node := range nodes {
		if !slices.ContainsFunc(others, func(other inventory.Node) bool { return other.Name == node.Name && other.VMID == node.VMID }) {
			missing = append(missing, fmt.Sprintf("%s (VM %d)", node.Name, node.VMID))
		}
	}
	return missing
}

// differing returns the names of the files that are not the same in the kit and in a folder, or are in one of them alone, in order. If there is an
// error, files that only the folder has may be missing from names.
func differing(files map[string][]byte, folder string) (names []string, err error) {
	here, err := recoverykit.Below(folder)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(here.Files, slices.Collect(maps.Keys(files))...)))) {
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if kept, has := files[name]; !has || err != nil || !bytes.Equal(text, kept) {
			names = append(names, name)
		}
	}
	return names, err
}
