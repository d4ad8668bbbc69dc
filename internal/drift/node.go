package drift

import (
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// Wanted is what the inventory and the state say of one node.
type Wanted struct {
	// Name of the node.
	Name string
	// Talos is the release, e.g. v1.12.4.
	Talos string
	// Configuration is the machine configuration that was applied last. Secret.
	Configuration []byte
}

// Node compares a node with what is wanted of it. The error quotes no secret.
func Node(want Wanted, have nodeops.Observation) ([]Difference, error) {
	var differences []Difference
	if want.Talos != have.Talos {
		differences = append(differences, Difference{want.Name, "Talos", want.Talos, have.Talos})
	}
	if schematic := want.schematic(); schematic != have.Schematic {
		differences = append(differences, Difference{want.Name, "schematic", schematic, have.Schematic})
	}
	configuration, err := Configurations(want.Name, want.Configuration, have.Configuration)
	return append(differences, configuration...), err
}

// schematic is that of the installer image, FACTORY/nocloud-installer/SCHEMATIC:VERSION; empty for an image from elsewhere.
func (w Wanted) schematic() string {
	config, err := configloader.NewFromBytes(w.Configuration)
	if err != nil || config.Machine() == nil {
		return "" // Configurations says so
	}
	_, path, isFactorys := strings.Cut(config.Machine().Install().Image(), "-installer/")
	if !isFactorys {
		return ""
	}
	schematic, _, _ := strings.Cut(path, ":")
	return schematic
}
