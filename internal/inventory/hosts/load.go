package hosts

import (
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Inventory is the content of hosts.yaml, complete with its defaults and valid.
type Inventory struct {
	// File is hosts.yaml.
	File File
	// Dir is the folder that the file was read from, as passed to [Load].
	Dir string

	source *strictyaml.Document // without the defaults
}

// Load reads the inventory in a folder, completes it with its defaults and checks it. The error is a [*manifest.Problems] with every problem,
// or the reason why the file cannot be read.
func Load(dir string) (*Inventory, error) {
	if _, err := manifest.KindOf(dir); err != nil {
		return nil, err
	}
	file, err := manifest.ReadFile(filepath.Join(dir, manifest.HostsFile))
	if err != nil {
		return nil, err
	}
	return parse(dir, file)
}

// Parse is Load for a text, as if it were the file in a folder.
func Parse(dir string, text []byte) (*Inventory, error) {
	return parse(dir, manifest.File{Name: filepath.Join(dir, manifest.HostsFile), Data: text})
}

func parse(dir string, file manifest.File) (*Inventory, error) {
	var err error
	inv := &Inventory{Dir: dir}
	check := &checker{inv: inv, file: file.Name}
	if inv.source, err = check.Decode(file, KindHosts, &inv.File); err != nil {
		return nil, err
	}
	inv.complete()
	if inv.source != nil {
		check.rules()
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	return inv, nil
}
