// Package phase divides the life of a cluster into parts that can be run one after the other.
package phase

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// Phase is a part of the life of a cluster.
type Phase int

// The phases in their order. Each needs the earlier ones.
const (
	// Generate creates the machine secrets and computes the schematics; nothing is on the host yet.
	Generate Phase = iota + 1
	// Provision creates the templates and the machines, which wait in maintenance mode. What hosts are configured with belongs to it, too.
	Provision
	// Bootstrap applies the machine configurations and forms the cluster.
	Bootstrap
	// Addons installs the inventory's addons in the cluster.
	Addons
	// Verify checks with the nodes and the Kubernetes API whether everything works. It creates nothing.
	Verify
)

// All are the phases in their order.
var All = []Phase{Generate, Provision, Bootstrap, Addons, Verify}

var names = map[Phase]string{Generate: "generate", Provision: "provision", Bootstrap: "bootstrap", Addons: "addons", Verify: "verify"}

// Reaches reports whether a run up to this phase includes another one. The zero value is a run through all phases.
func (p Phase) Reaches(other Phase) bool { return p == 0 || p >= other }

// String returns the phase's name.
func (p Phase) String() string { return names[p] }

// MarshalText implements [encoding.TextMarshaler].
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Phase) UnmarshalText(text []byte) (err error) {
	*p, err = Parse(string(text))
	return err
}

// Parse reads a phase's name.
func Parse(name string) (Phase, error) {
	var known []string
	for _, phase := range All {
		if name == phase.String() {
			return phase, nil
		}
		known = append(known, phase.String())
	}
	return 0, fmt.Errorf("%q is no phase: choose one of %s", name, strings.Join(known, ", "))
}

// Of returns the phase that creates a resource: that of the first rule that matches its type. The stack, the other providers
// and components belong to the first phase.
func Of(urn resource.URN) Phase {
	switch {
	case strings.Contains(string(urn.QualifiedType()), token.ClusterAddons): // whatever the type of its children
		return Addons
	case strings.Contains(string(urn.QualifiedType()), token.ProxmoxHost), strings.Contains(string(urn.QualifiedType()), token.StandaloneContainer):
		return Provision
	// A Command outside of any component creates the pool of the machines, that of a template ensures its ISO; those of a cluster
	// wait for its nodes.
	case urn.QualifiedType() == token.Command, urn.QualifiedType() == token.TalosTemplate+"$"+token.Command:
		return Provision
	}
	for _, rule := range []struct {
		prefix string
		phase  Phase
	}{
		{token.OfProxmox, Provision},
		{token.OfTrueNAS, Provision},
		{token.TrueNASProvider, Provision}, // only a run that reaches the box needs its key
		{token.Schematic, Generate},
		{token.Secrets, Generate},
		{token.OfTalos, Bootstrap},
		{token.OfCommand, Bootstrap},
		{token.OfKubernetes, Addons},
	} {
		if strings.HasPrefix(string(urn.Type()), rule.prefix) {
			return rule.phase
		}
	}
	return Generate
}
