package drift

import "github.com/em-infra/em-infra/internal/nodeops"

// Wanted is what the inventory and the state say of one node.
type Wanted struct {
	// Name of the node.
	Name string
	// Talos is the release, e.g. v1.12.4.
	Talos string
	// Schematic is the ID of what the image is built from; empty for an image from elsewhere.
	Schematic string
	// Configuration is the machine configuration that was applied last. Secret.
	Configuration []byte
}

// Node compares a node with what is wanted of it. The error quotes no secret.
func Node(want Wanted, have nodeops.Observation) ([]Difference, error) {
	var differences []Difference
	if want.Talos != have.Talos {
		differences = append(differences, Difference{want.Name, "Talos", want.Talos, have.Talos})
	}
	if want.Schematic != have.Schematic {
		differences = append(differences, Difference{want.Name, "schematic", want.Schematic, have.Schematic})
	}
	configuration, err := Configurations(want.Name, want.Configuration, have.Configuration)
	return append(differences, configuration...), err
}
