package components

import "github.com/em-infra/em-infra/internal/phase"

// Phase is a part of the life of a cluster. A program that brings a cluster up step by step registers what belongs to the
// phases so far; once something of a later phase exists it must register that as well, or the engine would delete it.
type Phase = phase.Phase

// The phases in their order. Each needs those before it.
const (
	// PhaseGenerate makes the machine secrets and resolves the schematics.
	PhaseGenerate = phase.Generate
	// PhaseProvision makes templates and machines, which wait in maintenance mode.
	PhaseProvision = phase.Provision
	// PhaseBootstrap configures the machines and makes them a cluster.
	PhaseBootstrap = phase.Bootstrap
	// PhaseAddons installs the addons.
	PhaseAddons = phase.Addons
)
