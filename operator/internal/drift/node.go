package drift

import "github.com/em-infra/em-infra/internal/nodeops"

// Wanted describes one node according to the inventory and the state.
type Wanted struct {
	// Name is the node's name.
	Name string
	// Talos is the release, e.g. v1.12.4.
	Talos string
	// Schematic is the ID of the image's schematic; empty if the name of the image does not contain it, as for an image from another source.
	Schematic string
	// Configuration is the machine configuration that was last applied. Secret.
	Configuration []byte
}

// Node compares a node with its description. The error contains no secret.
func Node(want Wanted, have nodeops.Observation) ([]Difference, error) {
	var differences []Difference
	if want.Talos != have.Talos {
		differences = append(differences, Difference{want.Name, "Talos", want.Talos, have.Talos})
	}
	if !have.Release().Satisfies(nodeops.Release{Version: have.Talos, Schematic: want.Schematic}) {
		differences = append(differences, Difference{want.Name, "schematic", want.Schematic, have.Schematic})
	}
	configuration, err := Configurations(want.Name, want.Configuration, have.Configuration)
	return append(differences, configuration...), err
}
