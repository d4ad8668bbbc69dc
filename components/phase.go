package components

import "github.com/em-infra/em-infra/internal/phase"

// Phase is a part of the life of a cluster. A program that creates a cluster step by step registers the resources of all phases
// so far. Once a resource of a later phase exists, the program must register it as well, or the engine deletes it.
type Phase = phase.Phase

// The phases in their order. Each needs the earlier ones.
const (
	// PhaseGenerate creates the machine secrets and computes the schematics.
	PhaseGenerate = phase.Generate
	// PhaseProvision creates templates and machines, which wait in maintenance mode.
	PhaseProvision = phase.Provision
	// PhaseBootstrap configures the machines and forms the cluster.
	PhaseBootstrap = phase.Bootstrap
	// PhaseAddons installs the addons.
	PhaseAddons = phase.Addons
)
